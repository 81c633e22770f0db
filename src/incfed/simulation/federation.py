"""A federation in one process, for people who drive the loop themselves.

The members are learners (protocol/client.py) and rounds are decided as in a real federation
(protocol/deciding.py); what is left out is the network. A round is over before anybody acts again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import errors, ranges
from .._version import __version__
from ..algorithms.base import Algorithm
from ..algorithms.lin_ucb import LinUCB
from ..kernels.factor import add_outer
from ..kernels.signals import LOOSE, Signals, know, worthwhile_of
from ..kernels.step import ROUNDING
from ..kernels.trust import SCORES
from ..protocol import deciding
from ..protocol.global_statistics import GlobalStatistics
from ..protocol.messages import Download, Upload
from ..protocol.money import round_up
from ..protocol.open_round import OpenRound, Server, Uploads
from ..protocol.packing import FACTOR, Packed, gather, pack_matrix
from ..protocol.run import LoggedRound
from ..protocol.strategy import VaryingCosts
from ..protocol.synchronous import Synchronous, traffic_of_rounds
from ..protocol.triggers import GROWTH, ROWS, ActingClient, copies_of, trigger_of
from ..results.comparison import Comparison
from ..results.document import Block, Document
from ..results.notebook import Shown, columns_table
from ..results.numbers import human
from ..results.records import Clients, Result, RoundRecord, Rounds
from ..results.rounds import logged
from ..rules.learning import AUTO
from ..rules.privacy import Normals, noise_stream
from ..rules.rounds import ALL, EVERYONE
from ..support import inputs
from ..types import Floats
from ..values import Whole


class Member(LinUCB):
    """A client of a `Federation`: a `LinUCB` that shares."""

    def __init__(
        self, federation: Federation, number: int, cost: float, trust: float | str, seed: int
    ) -> None:
        algorithm = federation.algorithm
        super().__init__(
            federation.dim, ridge=algorithm.ridge, noise=algorithm.noise, delta=algorithm.delta,
            exploration=algorithm.exploration, width=algorithm.width,
            width_scale=algorithm.width_scale,
        )  # fmt: skip
        self.number, self.cost = number, cost
        self.paid = 0.0
        self._federation = federation
        learner, rules = self._learner, federation._rules
        learner.rules, learner.trust = algorithm.rules(federation.dim), trust
        learner.share_from, learner.privacy = rules.share_from, rules.privacy
        learner.normals = _normals(seed, number)

    @property
    def cost(self) -> float:
        """The cost of sharing for this member. You may change it from round to round."""
        return self._cost

    @cost.setter
    def cost(self, cost: float) -> None:
        self._cost = float(ranges.COST.of("cost", cost))

    def choose(self, arms: ArrayLike) -> int:
        self._federation._before_step(self.number)
        return super().choose(arms)

    def _learn(self, x: Floats, y: float) -> None:
        federation = self._federation
        if federation._rules.privacy is not None:
            federation._rules.privacy.check(x[None], np.array([y]))
        federation._before_step(self.number)
        before = self._learner.logdet
        triggered = self._learner.learn(x, y)
        federation._after_step(self.number, x, y, self._learner.logdet - before, triggered)

    def _facts(self) -> dict[str, Any]:
        own = {"not shared": self._learner.pending_steps, "cost": self.cost, "paid": self.paid}
        return {"steps learned": self.steps, **own, **super()._facts()}

    def _title(self) -> str:
        return f"Member {self.number}"

    def __repr__(self) -> str:
        return (
            f"<Member {self.number}: {inputs.counted(self.steps, 'step')} learned, "
            f"{self._learner.pending_steps:,} not shared, paid {self.paid:g}>"
        )


class Federation(Shown):
    """`clients` members that learn arms of `dim` features together, by the rules of `algorithm`.

    `federation[i]` is a `LinUCB`: its `choose` and `learn` are yours to call. After a `learn`, a
    round takes place if the algorithm's trigger wants it; `communicate()` holds one at any time.
    `algorithm` has rounds: IncFedUCB or DisLinUCB. `seed`: of the noise, if it has privacy.

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

    def __init__(self, clients: int, dim: int, algorithm: Algorithm, *, seed: int = 0) -> None:
        number = Whole(1, 100_000).of("clients", clients)
        self.dim = Whole(1, ranges.MOST_DIM).of("dim", dim)
        self.algorithm, self._rules = algorithm, _protocol(algorithm).rules
        self._trigger = trigger_of(self._rules)
        self._own = copies_of(self._trigger)  # a trigger of the user's own, asked after each step
        algorithm.check(number)
        seed = Whole(0).of("seed", seed)
        self._ridge = float(algorithm.ridge)
        trust = getattr(algorithm, "trust", math.inf)
        each = trust if isinstance(trust, tuple) else (trust,) * number
        self._scores = SCORES if trust == AUTO else 0
        prices = round_up(algorithm.prices(number), self._rules.money_digits)
        self._members = [
            Member(self, i, cost, own, seed)
            for i, (cost, own) in enumerate(zip(prices.tolist(), each, strict=True))
        ]
        self._epoch = 0
        # by epoch that somebody has
        self._shared = {0: GlobalStatistics.empty(self.dim, self._ridge)}
        self._server = Server(
            self._rules, self._ridge, number, self._shared[0], scores=self._scores
        )
        self._entitled = [True] * number  # to a download, if they are one for one
        self._pooled = np.zeros(SCORES)  # trust "auto": of all that was shared
        self._total, self._seen = 0, [0] * number  # observations shared, and had by each member
        self._signals = self._trigger.signals(number, self.dim, self._ridge, prices)
        self._streamed = np.zeros((self.dim, self.dim))  # the sum over all rows that were streamed
        self._log: list[LoggedRound] = []
        self._steps: list[tuple[int, float, int]] = []  # who, its reward, what it had downloaded

    def __getitem__(self, client: int) -> Member:
        return self._members[client]

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

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
        """All so far, as `simulate` returns it: curves, rounds, figures by client. What the best
        arm would have paid is not known, so regret is NaN.

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
        traffic = traffic_of_rounds(self._log, self._rules, self.dim, self._scores, every, fetched)
        return Result(
            regret=regret,
            reward=np.cumsum(reward),
            communication=np.cumsum(traffic.communication),
            packed=np.cumsum(traffic.packed),
            payment=np.cumsum(payment),
            rounds=rounds,
            settings=self._settings(),
            clients=Clients.collect(len(self), who, reward, regret, every, rounds),
        )

    def document(self) -> Document:
        """The members, and the curve of what was learned.

        >>> federation.document().title
        'Federation: 3 clients, 2 features, IncFedUCB: 30 steps, 5 rounds, 0 paid'
        """
        learners = [member._learner for member in self._members]
        members = {
            "client": np.arange(len(self)),
            "steps": np.array([member.steps for member in self._members]),
            "not shared": np.array([learner.pending_steps for learner in learners]),
            "cost": np.array([member.cost for member in self._members]),
            "paid": np.array([member.paid for member in self._members]),
        }
        blocks: list[Block] = [columns_table(members, "client")]
        if self._steps:
            blocks += Comparison({type(self.algorithm).__name__: [self.result()]}).document().blocks
        return Document(repr(self)[1:-1], tuple(blocks))

    def communicate(self, client: int | None = None) -> RoundRecord:
        """Hold a round now, whatever the trigger says. `client`: who calls for it; by default the
        member that learned last.

        >>> federation[2].learn([0.1, 0.0], reward=0.02)
        >>> federation.communicate()
        <round at step 30: client 2 triggered, 3 of 3 with pending data shared, 0 paid 0, ratio 1>
        """
        if not self._steps:
            raise errors.InputError("communicate: nobody has learned anything yet")
        caller = self._steps[-1][0] if client is None else client
        self._round(Whole(0, len(self) - 1).of("client", caller))
        return self.rounds[-1]

    def _before_step(self, client: int) -> None:
        """One for one: a member that is entitled to a download gets it when it acts."""
        if self._rules.download != EVERYONE and self._entitled[client]:
            self._entitled[client] = False
            if self._members[client]._learner.epoch < self._epoch:
                self._download(client)

    def _after_step(
        self, client: int, x: Floats, reward: float, growth: float, triggered: bool
    ) -> None:
        fetched = 0
        if self._members[client]._learner.epoch == self._epoch:
            fetched, self._seen[client] = self._total - self._seen[client], self._total
        self._steps.append((client, reward, fetched))
        if self._own is not None:
            learner = self._members[client]._learner
            triggered = self._own.calls(self._acting(client)) and learner.ready
        elif self._trigger.streams == ROWS:
            add_outer(self._streamed, x)
            triggered = self._promising() and self._worthwhile()
        elif self._signals is not None:  # growth is streamed
            self._signals.grown[client] += growth
            self._signals.figure[0] += growth
            triggered = self._called(self._signals)
        if triggered:
            self._round(client)

    def _acting(self, client: int) -> ActingClient:
        """What a trigger of the user's own sees."""
        member = self._members[client]
        learner, price = member._learner, np.array([member.cost])
        grown = learner.logdet - learner.logdet_shared
        return ActingClient(
            index=client,
            dim=self.dim,
            step=self.steps - 1,
            steps=learner.clock,
            pending=learner.pending_steps,
            growth=grown if grown > ROUNDING else 0.0,
            logdet=learner.logdet,
            cost=float(round_up(price, self._rules.money_digits)[0]),
            epoch=learner.epoch,
        )

    def _called(self, signals: Signals) -> bool:
        """Would the server call for a round, by the growth that clients report?"""
        logdets = np.array([member._learner.logdet for member in self._members])
        pending = np.array([member._learner.pending_steps for member in self._members])
        return worthwhile_of(signals, logdets, pending, self._shared[self._epoch].logdet)

    def _know(self) -> None:
        """Growth: what the server knows after a round of the data that is still pending."""
        costs = np.array([member.cost for member in self._members])
        self._signals = self._trigger.signals(len(self), self.dim, self._ridge, costs)
        assert self._signals is not None
        waiting = [member for member in self._members if member._learner.pending_steps]
        places = np.full(len(self), -1)
        places[[member.number for member in waiting]] = np.arange(len(waiting))
        pending = gather([member._learner.pending.packed() for member in waiting], self.dim)
        now = self._shared[self._epoch]
        know(
            self._signals, places[self._signals.order], now.V.copy(), now.factor.copy(),
            now.logdet, self._ridge, pending,
        )  # fmt: skip

    def _promising(self) -> bool:
        """A quick check: is there enough news, and somebody who needs no more?"""
        signals = self._signals
        assert signals is not None
        V = self._streamed + self._ridge * np.eye(self.dim)
        most = float(np.linalg.slogdet(V)[1]) + LOOSE  # no set brings more
        if most - self._shared[self._epoch].logdet < signals.least:
            return False
        waiting = [member for member in self._members if member._learner.pending_steps]
        needed = (member._learner.logdet + math.log1p(member.cost) for member in waiting)
        return not signals.patient or any(logdet <= most for logdet in needed)

    def _worthwhile(self) -> bool:
        """Would the server open a round, by the rows that clients stream?"""
        uploads = {
            member.number: Upload(
                0, member._learner.epoch, member._learner.pending_steps, member.cost,
                member._learner.pending.packed(),
            )
            for member in self._members
        }  # fmt: skip
        return deciding.worthwhile(self._open(uploads, 0))

    def _open(self, uploads: dict[int, Upload], trigger: int) -> OpenRound:
        sent = Uploads.of(uploads, self._shared.__getitem__, self._epoch, self._ridge)
        return OpenRound(self._server, sent, trigger=trigger, step=self.steps)

    def _round(self, trigger: int) -> None:
        """One communication round (Alg. 1 lines 9-19)."""
        number, learners = len(self._log) + 1, [member._learner for member in self._members]
        prices = round_up(
            np.array([member.cost for member in self._members]), self._rules.money_digits
        ).tolist()
        uploads = {i: learner.freeze(number, prices[i]) for i, learner in enumerate(learners)}
        opened = deciding.allowed(self._open(uploads, trigger))
        offers = deciding.decide_first(opened)
        db = [learners[i].deliver(number) for i in offers.payments]
        self._server, closed = deciding.close(opened, offers, db)
        self._server = self._server._replace(past=deciding.remembered(opened, closed))
        shared = np.array(opened.steps_of(offers.payments), np.int64)
        self._log.append(LoggedRound(self.steps - 1, trigger, closed, opened.uploads.steps, shared))
        for i, paid in offers.payments.items():
            scores = learners[i].scores(number)
            self._pooled += 0.0 if scores is None else scores
            self._total += uploads[i].steps
            self._seen[i] += uploads[i].steps
            self._entitled[i] = True
            self._members[i].paid += paid
        if offers.payments:
            self._epoch += 1
            self._shared[self._epoch] = self._server.shared
        for i in range(len(self)):
            self._close(i, number, offers.payments)
        if self._trigger.streams == GROWTH:
            self._know()
        held = {learner.epoch for learner in learners} | {self._epoch}
        self._shared = {epoch: shared for epoch, shared in self._shared.items() if epoch in held}

    def _close(self, client: int, round: int, payments: dict[int, float]) -> None:
        """Lines 16-19, for one client."""
        shared = {round: payments[client]} if client in payments else {}
        if self._rules.download == EVERYONE:
            self._download(client, shared)
            return
        learner = self._members[client]._learner
        same = Packed(FACTOR, self.dim, np.empty(0))
        nothing = Download(learner.epoch, learner.epoch, same, np.zeros(self.dim), shared)
        learner.take_in(nothing)

    def _download(self, client: int, shared: dict[int, float] | None = None) -> None:
        now, scores = self._shared[self._epoch], None
        if self._pooled[-1] and self._seen[client] != self._total:  # with new data of others
            events = self._pooled[-1]
            scores = np.append(self._pooled[:-1] / events, np.trace(now.V) / events)
        news = Download(self._epoch, None, pack_matrix(now.V), now.b, shared or {}, scores=scores)
        self._members[client]._learner.take_in(news)

    def _settings(self) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm.settings(),
            "steps": self.steps,
            "clients": len(self),
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


def _normals(seed: int, client: int) -> Normals:
    """The noise of a client's batches, one after another, as a simulation draws it."""
    batches = count()
    return lambda n: noise_stream(seed, client, next(batches)).standard_normal(n)
