"""A federation in one process, for people who drive the loop themselves.

The members are learners (protocol/client.py) and rounds are decided as in a real federation
(protocol/deciding.py); what is left out is the network. A round is over before anybody acts again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np

from .. import errors, ranges
from .._version import __version__
from ..algorithms.base import Algorithm, prices_of
from ..kernels.trust import SCORES
from ..protocol import deciding
from ..protocol.global_statistics import GlobalStatistics
from ..protocol.messages import Download, Upload
from ..protocol.money import round_up
from ..protocol.open_round import OpenRound, Server, Uploads
from ..protocol.packing import FACTOR, Packed, pack_matrix
from ..protocol.policies import Policies
from ..protocol.run import LoggedRound
from ..protocol.strategy import VaryingCosts
from ..protocol.synchronous import Synchronous, traffic_of_rounds
from ..protocol.triggers import ROWS, copies_of, trigger_of
from ..results.comparison import Comparison
from ..results.document import Block, Document
from ..results.notebook import Shown, columns_table
from ..results.numbers import human
from ..results.records import Clients, Result, RoundRecord, Rounds
from ..results.rounds import logged
from ..rules.learning import AUTO
from ..rules.limits import Past
from ..rules.rounds import ALL, EVERYONE
from ..support import inputs
from ..types import Arrays, Floats
from ..values import Whole
from . import saved_federation
from .members import Member, MemberList, list_of_names
from .streams import stream_of


class Federation(Shown):
    """`clients` members that learn arms of `dim` features together, by the rules of `algorithm`.

    `federation[i]` is a `LinUCB`: its `choose` and `learn` are yours to call. After a `learn`, a
    round takes place if the algorithm's trigger wants it; `communicate()` holds one at any time.
    `algorithm` has rounds: IncFedUCB or DisLinUCB. `seed`: of the noise, if it has privacy, and of
    the lots that a mechanism draws.
    `names`: of the members, by which you find them too: `federation["shop-7"]`. Without, they are
    "client 0" and so on.

    >>> algorithm = incfed.IncFedUCB(incfed.PaymentFree(), threshold=1.0)
    >>> federation = incfed.Federation(3, dim=2, algorithm=algorithm)
    >>> arms = [[1.0, 0.0], [0.0, 1.0]]
    >>> for step in range(30):
    ...     member = federation[step % 3]
    ...     k = member.choose(arms)
    ...     member.learn(arms[k], reward=[0.2, 0.9][k])
    >>> federation[0].choose(arms), len(federation.rounds) > 0
    (1, True)
    """

    def __init__(
        self, clients: int, dim: int, algorithm: Algorithm, *, seed: int = 0,
        names: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        number = Whole(1, 100_000).of("clients", clients)
        self._begin(dim, algorithm, seed)
        algorithm.check(number)
        trust = getattr(algorithm, "trust", math.inf)
        each = trust if isinstance(trust, tuple) else (trust,) * number
        prices = round_up(prices_of(algorithm, number), self._rules.money_digits)
        each_name = enumerate(list_of_names(names, number))
        for (n, name), cost, own in zip(each_name, prices.tolist(), each, strict=True):
            self._add(name, cost, own, f"names[{n}]")
        if self._stream is not None:
            self._stream.begin(self._members)

    def _begin(self, dim: int, algorithm: Algorithm, seed: int) -> None:
        """Without members yet."""
        self.dim = Whole(1, ranges.MOST_DIM).of("dim", dim)
        self.algorithm, self._rules = algorithm, _protocol(algorithm).rules
        self._seed = Whole(0).of("seed", seed)
        trigger, self._ridge = trigger_of(self._rules), float(algorithm.ridge)
        self._stream = stream_of(trigger, self.dim, self._ridge)
        self._rows = trigger.streams == ROWS
        self._own = copies_of(trigger)  # a trigger of the user's own, asked after each step
        policy = algorithm.policy
        self._policies = (
            None if policy is None else Policies(policy, self._seed, self._rules.privacy)
        )
        self._scores = SCORES if getattr(algorithm, "trust", math.inf) == AUTO else 0
        self._members = MemberList()
        self._epoch = 0
        # by epoch that somebody has
        self._shared = {0: GlobalStatistics.empty(self.dim, self._ridge)}
        self._server = Server(
            self._rules, self._ridge, 0, self._shared[0], scores=self._scores, seed=self._seed
        )
        self._pooled = np.zeros(SCORES)  # trust "auto": of all that was shared
        self._total = 0  # observations shared
        self._log: list[LoggedRound] = []
        self._steps: list[tuple[int, float, int]] = []  # who, its reward, what it had downloaded
        self._late: list[int] = []  # the first steps of members that downloaded as they joined

    # ------------------------------------------------------------------------------ members

    def __getitem__(self, client: int | str) -> Member:
        """The member of this number or name; -1 is the last one."""
        if isinstance(client, str):
            return self._members.find("client", client)
        return self._members.at(client)

    def __contains__(self, client: object) -> bool:
        """Whether there is a member of this name or number."""
        return client in self._members

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self._members))

    def __len__(self) -> int:
        return len(self._members)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that ever joined, by number: those of members that left stay.

        >>> federation.names
        ('client 0', 'client 1', 'client 2')
        """
        return tuple(self._members.names)

    def join(
        self, name: str, *, cost: float | None = None, trust: float | str | None = None
    ) -> Member:
        """Add a member, at any time: it gets what was shared so far, and a new number. `cost` and
        `trust`: if they are not the algorithm's, or if that has one for each client.

        >>> team = incfed.Federation(2, dim=2, algorithm=algorithm, names=["shop-1", "shop-2"])
        >>> team["shop-1"].learn([[1.0, 0.0]] * 5, reward=[0.3] * 5)
        >>> record = team.communicate()
        >>> team.join("shop-3", cost=1.0)
        <Member 2: shop-3, 0 steps learned, 0 not shared, paid 0>
        >>> round(team["shop-3"].predict([1.0, 0.0]).reward, 1)
        0.3
        """
        made = self._add(name, self._cost(cost), self._trust(trust))
        if self._epoch and self._rules.download == EVERYONE:
            self._download(made)
            made._behind = True
        if self._stream is not None:
            self._stream.joined(made, self._server.shared)
        return made

    def leave(self, name: str | int) -> None:
        """Remove the member of this name or number, at any time. What it has shared stays; what it
        has not is gone. Its number is not used again; who joins under its name is a new member.

        >>> team.leave("shop-1")
        >>> len(team), "shop-1" in team, team.names
        (2, False, ('shop-1', 'shop-2', 'shop-3'))
        """
        gone, past = self._members.find("name", name), dict(self._server.past)
        self._members.remove(gone)
        gone._left = True
        if gone.number in past:
            past[gone.number] = past[gone.number]._replace(gone=True)
        self._server = self._server._replace(members=len(self), past=past)
        if self._stream is not None:
            self._stream.left(gone, self._members, self._server.shared)

    def _add(self, name: object, cost: float, trust: float | str, place: str = "name") -> Member:
        name = self._members.new_name(place, name)
        made = Member(self, name, len(self._members.names), cost, trust)
        self._members.add(made)
        self._server = self._server._replace(members=len(self))
        return made

    def _cost(self, cost: float | None) -> float:
        """Of a client that joins."""
        if cost is not None:
            return float(ranges.COST.of("cost", cost))
        number = len(self._members.names)
        try:
            prices = prices_of(self.algorithm, number + 1)
        except errors.InputError:  # a list, of the first ones
            raise errors.missing("cost", "given: the algorithm has one for each client") from None
        return float(round_up(prices, self._rules.money_digits)[number])

    def _trust(self, trust: float | str | None) -> float | str:
        """Of a client that joins."""
        common = getattr(self.algorithm, "trust", math.inf)
        if trust is None:
            if isinstance(common, tuple):
                raise errors.missing("trust", "given: the algorithm has one for each client")
            return common
        own: float | str = ranges.TRUST.of("trust", trust)
        if own == AUTO and common != AUTO:
            raise errors.refuse("trust", own, 'a number: that of the algorithm is not "auto"')
        if own != math.inf and self._rules.privacy is not None:
            allowed = "left out with privacy, whose noise hides what is a client's own"
            raise errors.refuse("trust", own, allowed)
        return own

    @property
    def steps(self) -> int:
        """How often a member has learned.

        >>> federation.steps
        30
        """
        return len(self._steps)

    @property
    def spent(self) -> float:
        """All payments so far.

        >>> federation.spent
        0.0
        """
        return self._server.spent

    @property
    def rounds(self) -> Rounds:
        """A record of every round.

        >>> federation.rounds[0]
        <round at step 0: client 0 triggered, 1 of 1 with pending data shared, 0 paid 0, ratio 1>
        """
        return logged(self._log)

    def result(self) -> Result:
        """All so far, as `simulate` returns it: curves, rounds, figures by client, also of those
        that left. What the best arm would have paid is not known, so regret is NaN.

        >>> federation.result()
        <IncFedUCB: 30 steps, 3 clients: regret –, reward 26.3, communication 180, payment 0, 5
        rounds>
        """
        who = np.array([step[0] for step in self._steps], np.int64)
        reward = np.array([step[1] for step in self._steps], np.float64)
        fetched = np.array([step[2] for step in self._steps], np.int64)
        every, rounds = np.ones(len(who), np.bool_), self.rounds
        payment, regret = np.zeros(len(who)), np.full(len(who), np.nan)
        np.add.at(payment, rounds.step, rounds.payment)
        traffic = traffic_of_rounds(
            self._log, self._rules, self.dim, self._scores, every, fetched, self._late
        )
        return Result(
            regret=regret,
            reward=np.cumsum(reward),
            communication=np.cumsum(traffic.communication),
            packed=np.cumsum(traffic.packed),
            payment=np.cumsum(payment),
            rounds=rounds,
            settings=self._settings(),
            clients=Clients.collect(len(self._members.names), who, reward, regret, every, rounds),
        )

    def document(self) -> Document:
        """The members, and the curve of what was learned.

        >>> federation.document().title
        'Federation: 3 clients, 2 features, IncFedUCB: 30 steps, 5 rounds, 0 paid'
        """
        columns = ("number", "name", "steps", "pending_steps", "cost", "paid")
        shown = ("client", "name", "steps", "not shared", "cost", "paid")
        members = {
            head: np.array([getattr(member, column) for member in self])
            for head, column in zip(shown, columns, strict=True)
        }
        blocks: list[Block] = [columns_table(members, "client")]
        if self._steps:
            blocks += Comparison({type(self.algorithm).__name__: [self.result()]}).document().blocks
        return Document(repr(self)[1:-1], tuple(blocks))

    def communicate(self, client: int | str | None = None) -> RoundRecord:
        """Hold a round now, whatever the trigger says. `client`: who calls for it, by number or
        name; by default the member that learned last.

        >>> federation[2].learn([0.1, 0.0], reward=0.02)
        >>> federation.communicate()
        <round at step 30: client 2 triggered, 3 of 3 with pending data shared, 0 paid 0, ratio 1>
        """
        if not self._steps:
            raise errors.InputError("communicate: nobody has learned anything yet")
        if client is None:
            client = next((who for who, _, _ in reversed(self._steps) if who in self), None)
        if client is None:
            raise errors.missing("client", "given: all who have learned anything have left")
        self._round(self._members.find("client", client).number)
        return self.rounds[-1]

    # -------------------------------------------------------------------------------- files

    def save(self, folder: str | PathLike[str]) -> None:
        """Write all of it to a folder, from which `load` makes it again. A federation that was
        saved there is replaced, once this one is complete.

        >>> federation.save("kept")
        """
        each = [member._saved() for member in self]
        shared = [
            {"V": one.V, "b": one.b, "factor": one.factor, "logdet": np.array([one.logdet])}
            for one in self._shared.values()
        ]
        who, reward, fetched = zip(*self._steps, strict=True) if self._steps else ((), (), ())
        about = {
            "algorithm": saved_federation.recorded(self.algorithm),
            "dim": self.dim, "seed": self._seed, "names": self._members.names,
            "members": [about for about, _ in each],
            "epoch": self._epoch, "epochs": list(self._shared), "total": self._total,
            "spent": self._server.spent, "late": self._late,
            "past": [[client, *past] for client, past in self._server.past.items()],
        }  # fmt: skip
        if self._own is not None:
            about["trigger"] = self._own.state()
        arrays = {
            **saved_federation.columns("members", (arrays for _, arrays in each)),
            **saved_federation.columns("shared", shared),
            **saved_federation.columns("rounds", map(saved_federation.round_record, self._log)),
            **saved_federation.columns(
                "stream", [] if self._stream is None else [self._stream.state()]
            ),
            "who": np.array(who, np.int64), "reward": np.array(reward, np.float64),
            "fetched": np.array(fetched, np.int64), "pooled": self._pooled,
        }  # fmt: skip
        saved_federation.write(folder, about, arrays)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, algorithm: Algorithm | None = None) -> Self:
        """The federation that `save` wrote. It goes on as the saved one would. `algorithm`: that of
        the saved one, which has to be given if it has a class of your own, such as a mechanism.

        >>> again = incfed.Federation.load("kept")
        >>> again
        <Federation: 3 clients, 2 features, IncFedUCB: 31 steps, 6 rounds, 0 paid>
        """
        about, arrays = saved_federation.read(folder)
        made = cls.__new__(cls)
        made._begin(
            about["dim"], saved_federation.algorithm_of(about["algorithm"], algorithm),
            about["seed"],
        )  # fmt: skip
        try:
            made._restore(about, arrays)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise saved_federation.corrupt(folder, f"{type(error).__name__}: {error}") from None
        return made

    def _restore(self, about: dict[str, Any], arrays: Arrays) -> None:
        saved = zip(about["members"], saved_federation.records("members", arrays), strict=True)
        members = [Member._restored(self, one, state) for one, state in saved]
        self._members.restore(members, about["names"])
        shared = saved_federation.records("shared", arrays)
        self._shared = {
            epoch: GlobalStatistics(
                one["V"].copy(), one["b"].copy(), one["factor"].copy(), float(one["logdet"][0])
            )
            for epoch, one in zip(about["epochs"], shared, strict=True)
        }
        self._epoch, self._total, self._late = about["epoch"], about["total"], about["late"]
        self._log = list(
            map(saved_federation.logged_round, saved_federation.records("rounds", arrays))
        )
        self._server = self._server._replace(
            members=len(self),
            shared=self._shared[self._epoch],
            rounds=len(self._log),
            spent=about["spent"],
            past={client: Past(*past) for client, *past in about["past"]},
        )
        self._steps = list(
            zip(*(arrays[name].tolist() for name in ("who", "reward", "fetched")), strict=True)
        )
        self._pooled = arrays["pooled"]
        if self._own is not None:
            self._own.restore(about.get("trigger", {}))
        if self._stream is not None:
            [state] = saved_federation.records("stream", arrays)
            self._stream.restore(state, self._members)

    # ------------------------------------------------------------------- steps and rounds

    def _before_step(self, member: Member) -> None:
        """Refuse a member that has left. One for one: if it is entitled to a download, it gets it
        when it acts."""
        member._check_there()
        if self._rules.download != EVERYONE and member._entitled:
            member._entitled = False
            if member._epoch < self._epoch:
                self._download(member)

    def _after_step(
        self, member: Member, x: Floats, reward: float, growth: float, triggered: bool
    ) -> None:
        fetched = 0
        if member._epoch == self._epoch:
            fetched, member._seen = self._total - member._seen, self._total
        if member._behind:
            member._behind = False
            self._late.append(self.steps)
        self._steps.append((member.number, reward, fetched))
        if self._own is not None:
            triggered = self._own.calls(member._acting(self.steps - 1)) and member._ready
        elif self._stream is not None:
            self._stream.hear(member, x, growth)
            triggered = self._stream.promising(self._members, self._server.shared)
            triggered = triggered and (not self._rows or self._worthwhile())
        if triggered:
            self._round(member.number)

    def _worthwhile(self) -> bool:
        """Would the server open a round, by the rows that clients stream?"""
        uploads = {
            member.number: Upload(
                0, member._epoch, member.pending_steps, member.cost, member._pending()
            )
            for member in self
        }
        return deciding.worthwhile(self._open(uploads, 0))

    def _open(self, uploads: dict[int, Upload], trigger: int) -> OpenRound:
        sent = Uploads.of(uploads, self._shared.__getitem__, self._epoch, self._ridge)
        return OpenRound(self._server, sent, trigger=trigger, step=self.steps)

    def _round(self, trigger: int) -> None:
        """One communication round (Alg. 1 lines 9-19)."""
        number, members = len(self._log) + 1, self._members
        costs = np.array([member.cost for member in self])
        prices = round_up(costs, self._rules.money_digits).tolist()
        uploads = {
            member.number: member._upload(number, price)
            for member, price in zip(members, prices, strict=True)
        }
        try:
            opened = deciding.allowed(self._open(uploads, trigger))
            offers = deciding.decide_first(opened)
        except BaseException:  # of somebody's mechanism: there was no round
            for member in members:
                member._thaw()
            raise
        delivered = {i: members[i]._deliver(number) for i in offers.payments}
        self._server, closed = deciding.close(opened, offers, [db for db, _ in delivered.values()])
        self._server = self._server._replace(past=deciding.remembered(opened, closed))
        shared = np.array(opened.steps_of(offers.payments), np.int64)
        self._log.append(LoggedRound(self.steps - 1, trigger, closed, opened.uploads.steps, shared))
        for i, paid in offers.payments.items():
            _, scores = delivered[i]
            self._pooled += 0.0 if scores is None else scores
            self._total += uploads[i].steps
            members[i]._seen += uploads[i].steps
            members[i]._entitled = True
            members[i].paid += paid
        self._epoch += 1 if offers.payments else 0
        self._shared[self._epoch] = self._server.shared
        for member in self:
            self._close(member, number, offers.payments)
        if self._stream is not None:
            self._stream.closed(members, self._server.shared)
        held = {member._epoch for member in self} | {self._epoch}
        self._shared = {epoch: shared for epoch, shared in self._shared.items() if epoch in held}

    def _close(self, member: Member, round: int, payments: dict[int, float]) -> None:
        """Lines 16-19, for one client."""
        shared = {round: payments[member.number]} if member.number in payments else {}
        if self._rules.download == EVERYONE:
            self._download(member, shared)
            return
        same = Packed(FACTOR, self.dim, np.empty(0))
        member._take_in(Download(member._epoch, member._epoch, same, np.zeros(self.dim), shared))

    def _download(self, member: Member, shared: dict[int, float] | None = None) -> None:
        now, scores = self._shared[self._epoch], None
        if self._pooled[-1] and member._seen != self._total:  # with new data of others
            events = self._pooled[-1]
            scores = np.append(self._pooled[:-1] / events, np.trace(now.V) / events)
        news = Download(self._epoch, None, pack_matrix(now.V), now.b, shared or {}, scores=scores)
        member._take_in(news, self._total)

    def _settings(self) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm.settings(),
            "steps": self.steps,
            "clients": len(self._members.names),  # that ever joined
            "dim": self.dim,
            "incfed": __version__,
        }

    def __repr__(self) -> str:
        return (
            f"<Federation: {inputs.counted(len(self), 'client')}, "
            f"{inputs.counted(self.dim, 'feature')}, {type(self.algorithm).__name__}: "
            f"{inputs.counted(self.steps, 'step')}, {inputs.counted(len(self._log), 'round')}, "
            f"{human(self.spent)} paid>"
        )


def _protocol(algorithm: Algorithm) -> Synchronous:
    """Its protocol, if members who act by themselves can follow it."""
    allowed = "an algorithm with rounds, such as IncFedUCB(...) or DisLinUCB(...)"
    if not isinstance(algorithm, Algorithm):
        raise errors.refuse("algorithm", algorithm, allowed)
    protocol = algorithm.protocol
    if not isinstance(protocol, Synchronous):
        raise errors.refuse("algorithm", type(algorithm).__name__, allowed)
    simulated = "left out: only simulate() knows it"
    members = protocol.members
    for name, value, plain in (
        ("reads", algorithm.reads, "fresh"),
        ("clocks", protocol.rules.clocks, ALL),
        ("availability", members.availability, 1.0),
        ("reports", members.reports, ()),
    ):
        if value != plain:
            raise errors.refuse(name, value, simulated)
    if isinstance(members.costs, VaryingCosts):
        raise errors.refuse("costs", members.costs, simulated)
    return protocol
