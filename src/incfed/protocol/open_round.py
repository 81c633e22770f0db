"""A round, from the uploads until it closes (Alg. 1 lines 10-14), without I/O.

The simulator runs it in one go. A federation of real clients goes step by step, and the audit
recomputes with it. How it is decided within a budget and limits, and again if clients fail, is in
`deciding`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, cast

import numpy as np

from ..kernels import coalition
from ..kernels.pending import Pending
from ..mechanisms.base import Decision, Mechanism, MechanismError, Round, malformed
from ..rules.limits import NO_PAST, Past
from ..rules.rounds import EVERYONE, RoundRules
from ..types import Floats, Ints, Mask
from .global_statistics import GlobalStatistics
from .messages import Upload
from .money import Budget, exact_sum
from .packing import gather
from .traffic import round_communication
from .triggers import BuiltIn, trigger_of


class Uploads(NamedTuple):
    """Line 10: what the clients with pending data send when a round opens."""

    clients: Ints  # [n] ascending
    steps: Ints  # [n] how many of its steps each would share
    costs: Floats  # [n] D^p, as each reports it
    logdets: Floats  # [n] log det V_i
    pending: Pending  # dV_i
    lagging: bool = False  # whether some client has an older V_g than the current one
    db: Floats | None = None  # [n, d] what each would deliver, where that is known already

    @classmethod
    def of(
        cls, messages: Mapping[int, Upload], shared: Callable[[int], GlobalStatistics], epoch: int,
        ridge: float,
    ) -> Uploads:  # fmt: skip
        """Those of real clients, which may have older statistics than those of this epoch.
        `shared`: the statistics of an epoch."""
        clients = sorted(client for client, sent in messages.items() if sent.steps)
        sent = [messages[client] for client in clients]
        epochs = np.array([upload.epoch for upload in sent], np.int64)
        pending = gather([upload.dV for upload in sent], len(shared(epoch).b))
        logdets, gains = np.empty(len(sent)), np.empty(len(sent))
        for known in np.unique(epochs).tolist():  # log det(V_g(epoch_i) + dV_i)
            old, among = shared(known), epochs == known
            coalition.log_gains(old.V, old.factor, old.logdet, ridge, pending, among, gains)
            logdets[among] = old.logdet + gains[among]
        return cls(
            clients=np.array(clients, np.int64),
            steps=np.array([upload.steps for upload in sent], np.int64),
            costs=np.array([upload.cost for upload in sent], np.float64),
            logdets=logdets,
            pending=pending,
            lagging=bool((epochs != epoch).any()),
        )

    def only(self, members: Mask) -> Uploads:
        """Those of some of the clients."""
        return Uploads(
            self.clients[members],
            self.steps[members],
            self.costs[members],
            self.logdets[members],
            self.pending.only(members),
            self.lagging,
            None if self.db is None else self.db[members],
        )


class Closed(NamedTuple):
    """The outcome of a round."""

    participants: Ints  # ids of the clients with pending data that shared
    payments: Floats  # the payment of each
    idle: int  # clients without pending data, which count as participants
    communication: float  # scalars
    ratio: float  # det V_g(S) / det V_g(everyone)
    gap: float = 0.0  # see `Decision`
    costs: Floats | None = None  # what sharing truly cost each participant, where that is known
    asked: Floats | None = None  # what each had reported


class Server(NamedTuple):
    """What the server of a federation has between rounds, and the rules that it keeps."""

    rules: RoundRules
    ridge: float
    members: int  # all clients of the federation, also those that are away
    shared: GlobalStatistics  # (V_g, b_g)
    rounds: int = 0  # that have closed
    spent: float = 0.0
    past: Mapping[int, Past] = NO_PAST  # of the clients that have one, if limits depend on it
    scores: int = 0  # scalars that go with every b (trust "auto")
    seed: int = 0  # of the lots that mechanisms draw

    def after(self, shared: GlobalStatistics, spent: float) -> Server:
        """When another round has closed."""
        return Server(  # `_replace` would take longer than the sums
            self.rules, self.ridge, self.members, shared, self.rounds + 1, spent, self.past,
            self.scores, self.seed,
        )  # fmt: skip

    @property
    def mechanism(self) -> Mechanism:
        """Who takes part in a round, and for what."""
        return cast(Mechanism, self.rules.mechanism)  # rules know it as a plug-in

    @property
    def trigger(self) -> BuiltIn:
        """When a round opens."""
        return trigger_of(self.rules)

    @property
    def money(self) -> Budget:
        """The budget, and what is left of it."""
        limit = self.rules.budget
        return Budget(math.inf if limit is None else limit, self.spent, self.rules.money_digits)


class OpenRound:
    """A round that has its uploads, and is not closed."""

    def __init__(
        self, server: Server, uploads: Uploads, *, trigger: int, step: int = 0,
        count: int | None = None, called: int | None = None,
    ) -> None:  # fmt: skip
        self.server, self.uploads = server, uploads
        self.trigger = trigger  # the client that opened it
        self.step = step  # in a simulation: steps before the one that opened it
        # The clients that may take part, also those without pending data; and all that uploaded,
        # also those that are barred, or failed in this round.
        self.count = server.members if count is None else count
        self.called = self.count if called is None else called
        self._round: Round | None = None

    @property
    def round(self) -> Round:
        """As a mechanism sees it."""
        if self._round is None:
            self._round = self._seen()
        return self._round

    def _seen(self) -> Round:
        server, uploads = self.server, self.uploads
        limit = server.rules.budget
        V, _, factor, logdet = server.shared
        return Round(
            clients=uploads.clients.copy(),
            costs=uploads.costs.copy(),
            count=self.count,
            V=V,
            factor=factor,
            logdet=logdet,
            ridge=server.ridge,
            pending=uploads.pending,
            logdets=uploads.logdets,
            number=server.rounds,
            step=self.step,
            trigger=self.trigger,
            spent=server.spent,
            budget_left=math.inf if limit is None else max(0.0, limit - server.spent),
            lagging=uploads.lagging,
            seed=server.seed,
        )

    @property
    def clients(self) -> list[int]:
        """Those with pending data, ascending."""
        found: list[int] = self.uploads.clients.tolist()
        return found

    @property
    def idle(self) -> int:
        """How many have none; they count as participants."""
        return self.count - len(self.uploads.clients)

    def steps_of(self, clients: Collection[int]) -> list[int]:
        """How many steps each of these clients would share."""
        places = np.searchsorted(self.uploads.clients, list(clients))
        steps: list[int] = self.uploads.steps[places].tolist()
        return steps

    def only(self, members: Mask, count: int) -> OpenRound:
        """The round as if just `count` clients had been called, of which these have pending
        data."""
        return self.of(self.uploads.only(members), count)

    def of(self, uploads: Uploads, count: int | None = None) -> OpenRound:
        """The round with other uploads."""
        count = self.count if count is None else count
        return OpenRound(self.server, uploads, trigger=self.trigger, step=self.step, count=count)

    def without(self, clients: Collection[int]) -> OpenRound:
        """The round without clients that failed, or are removed."""
        left = ~np.isin(self.uploads.clients, list(clients))
        count = self.count - int(np.count_nonzero(~left))
        return OpenRound(
            self.server, self.uploads.only(left), trigger=self.trigger, step=self.step,
            count=count, called=self.called,
        )  # fmt: skip

    def ask(self, mechanism: Mechanism | None = None) -> Decision:
        """Line 11: the mechanism (None: the federation's) selects participants and payments."""
        mechanism = self.server.mechanism if mechanism is None else mechanism
        round, uploads = self.round, self.uploads
        decision = mechanism.decide(round)
        fault = malformed(decision, uploads.clients)
        if not coalition.untouched(round.clients, uploads.clients, round.costs, uploads.costs):
            fault = "it changed the round it was given: work on copies"
        if fault:
            name = type(mechanism).__name__
            raise MechanismError(f"{name}, round {self.server.rounds}: {fault}")
        return decision

    def close(self, decision: Decision, db: Floats) -> tuple[Server, Closed]:
        """Lines 12-14: add the participants' data (db in order of id), and pay them."""
        server, uploads = self.server, self.uploads
        shared, rules = server.shared, server.rules
        streams = None if rules.trigger is None else server.trigger.streams
        if len(db):
            shared = shared.plus(uploads.pending, decision.participants, db, server.ridge)
        places, idle = decision.participants.nonzero()[0], self.idle
        payments, asked = decision.payments[places], uploads.costs[places]
        paid = math.fsum(payments.tolist())
        sent = round_communication(
            self.called, idle, len(payments), len(shared.b), streams=streams,
            everyone=rules.download == EVERYONE, scores=server.scores,
        )  # fmt: skip
        ratio = math.exp(min(0.0, shared.logdet - self.round.full_value))
        closed = Closed(
            uploads.clients[places], payments, idle, sent, ratio, decision.gap, asked, asked
        )
        spent = exact_sum(server.spent, paid, rules.money_digits)
        return server.after(shared, spent), closed
