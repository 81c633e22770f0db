"""How a round is decided within a budget, and decided again when a client fails; without I/O.

The coordinator and the simulator use this to decide, and the audit to recompute. Real clients may
lag behind (V_i = dV_i + an older V_g), decline, or fail to deliver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..kernels.coalition import log_gains
from ..kernels.factor import Floats
from ..mechanisms.base import Decision, Mechanism, Round
from ..mechanisms.payment_free import PaymentFree
from .messages import Upload
from .packing import gather
from .protocols import EVERYONE
from .server import Closed, Server, Uploads
from .shared import Shared
from .traffic import round_communication
from .triggers import GROWTH, Threshold, Trigger

ROUNDING = 1e-9  # of the budget: far above differences in rounding between processors


class Offers(NamedTuple):
    """The participants and their payments; `data_only`: the budget did not allow payments; `gap`:
    see `Decision`."""

    payments: dict[int, float]  # by client, ascending
    data_only: bool
    gap: float = 0.0

    @property
    def total(self) -> float:
        return math.fsum(self.payments.values())

    def decision(self, round: Round) -> Decision:
        """The same as a decision of this round."""
        members = np.isin(round.clients, list(self.payments))
        payments = np.zeros(len(round))
        payments[members] = list(self.payments.values())
        return Decision(members, payments, self.gap)


class Budget(NamedTuple):
    """Money for all rounds together, and what was spent."""

    limit: float  # infinite: none
    spent: float

    def affords(self, offers: Offers) -> bool:
        """Whether the budget covers it. The budget is never exceeded, not even by rounding. What
        costs nothing is affordable even if the budget was lowered below what is already spent."""
        return not offers.total or self.spent + offers.total <= self.limit

    def afforded(self, offers: Offers, kept: Mapping[int, float]) -> Offers | None:
        """The offers if the budget covers it, else None; never below `kept`, the earlier offers.

        If it exceeds the budget by rounding only, it is reduced to what is left: processors round
        differently, and must not decide differently."""
        payments = dict(offers.payments)
        for client, paid in payments.items():
            total = math.fsum(payments.values())
            excess = min(self.spent + total - self.limit, total)
            if not 0.0 < excess <= ROUNDING * (1.0 + self.limit):
                break
            payments[client] = max(kept.get(client, 0.0), paid - excess - math.ulp(self.limit))
        fitted = offers._replace(payments=payments)
        return fitted if self.affords(fitted) else None


class OpenRound(Protocol):
    """A round to be decided."""

    @property
    def mechanism(self) -> Mechanism: ...

    @property
    def money(self) -> Budget: ...

    def judge(self, mechanism: Mechanism) -> tuple[Round, Decision]:
        """The round, and what a mechanism decides."""
        ...


class RoundInputs(NamedTuple):
    """Everything that the decision of a round of real clients depends on."""

    uploads: Mapping[int, Upload]  # by client: all that may take part, also without data
    others: int  # clients that uploaded but may not take part: barred, or failed in this round
    shared: Callable[[int], Shared]  # the statistics of an epoch
    epoch: int  # the current one
    trigger: int  # the client that opened the round
    rounds: int  # number of rounds closed before
    spent: float
    budget: float  # infinite: no limit
    mechanism: Mechanism
    dim: int
    ridge: float
    rule: Trigger = Threshold(math.inf)  # when rounds open
    download: str = EVERYONE  # who gets the new model
    scores: int = 0  # scalars that go with every b (trust "auto")

    @property
    def active(self) -> list[int]:
        """The clients with pending data, ascending."""
        return sorted(client for client, one in self.uploads.items() if one.steps)

    @property
    def money(self) -> Budget:
        return Budget(self.budget, self.spent)

    def judge(self, mechanism: Mechanism) -> tuple[Round, Decision]:
        server, round = self.open()
        return round, server.decide(round, mechanism)

    def open(self) -> tuple[Server, Round]:
        """The simulator's server, set up for this round."""
        clients = self.active
        sent = [self.uploads[client] for client in clients]
        costs = np.zeros(max(clients, default=-1) + 1)
        costs[clients] = [one.cost for one in sent]
        server = Server(
            count=len(self.uploads),
            dim=self.dim,
            mechanism=self.mechanism,
            costs=costs,
            ridge=self.ridge,
            shared=self.shared(self.epoch),
            rounds=self.rounds,
            spent=self.spent,
            budget=self.budget,
        )
        epochs = np.array([one.epoch for one in sent], np.int64)
        pending = gather([one.dV for one in sent], self.dim)
        logdets, gains = np.empty(len(sent)), np.empty(len(sent))
        for epoch in np.unique(epochs).tolist():  # log det(V_g(epoch_i) + dV_i)
            old, among = self.shared(epoch), epochs == epoch
            log_gains(old.V, old.factor, old.logdet, self.ridge, pending, among, gains)
            logdets[among] = old.logdet + gains[among]
        lagging = bool((epochs != self.epoch).any())
        uploads = Uploads(np.array(clients, np.int64), logdets, pending, lagging)
        return server, server.open(uploads, step=0, trigger=self.trigger)

    def without(self, failed: Sequence[int]) -> RoundInputs:
        """The same without the clients that failed."""
        left = {client: one for client, one in self.uploads.items() if client not in failed}
        return self._replace(uploads=left, others=self.others + len(self.uploads) - len(left))


def decide(one: OpenRound) -> Offers:
    """Line 11. If the payments exceed the remaining budget, the round is data-only."""
    offers = one.money.afforded(_offers(*one.judge(one.mechanism), False), {})
    return _offers(*one.judge(PaymentFree()), True) if offers is None else offers


def decide_first(inputs: RoundInputs) -> Offers:
    """The same for a round of real clients. If it was called because of growth alone, only the
    uploads say whether that was too early: then nobody is offered anything."""
    rule = inputs.rule
    if rule.streams == GROWTH and not rule.opens(inputs.open()[1]):
        return Offers({}, False)
    return decide(inputs)


def decide_again(one: OpenRound, kept: Mapping[int, float], *, add: bool) -> Offers:
    """Keep the clients that delivered (`kept`: their offers); if `add`, others may be added.

    Each is paid the larger of its offer and what it is owed now. If the budget does not cover that,
    even with nobody else paid, each is paid its offer, which was reserved.
    """
    mechanisms = (one.mechanism, PaymentFree()) if add else (None,)
    for data_only, mechanism in enumerate(mechanisms):
        judge = mechanism or PaymentFree()
        round, decision = one.judge(judge)
        held = np.isin(round.clients, list(kept))
        S = held | decision.participants if mechanism else held
        offered = np.array([kept.get(client, 0.0) for client in round.clients.tolist()])
        owed = (mechanism or one.mechanism).amend(round, decision, S, offered)
        if data_only:  # added clients get data only
            owed[~held] = 0.0
        payments = {
            client: max(float(owed[place]), kept.get(client, 0.0))
            for place, client in enumerate(round.clients.tolist())
            if S[place]
        }
        offers = one.money.afforded(Offers(payments, bool(data_only)), kept)
        if offers is not None:
            return offers
    return Offers({client: kept.get(client, 0.0) for client in payments}, True)


def close(inputs: RoundInputs, offers: Offers, db: Sequence[Floats]) -> tuple[Shared, Closed]:
    """Lines 12-14: the new statistics (db of the participants, in order of id) and the outcome."""
    server, round = inputs.open()
    closed = server.close(round, offers.decision(round), np.array(db).reshape(-1, inputs.dim))
    everyone = len(inputs.uploads) + inputs.others
    scalars = round_communication(
        everyone, closed.idle, len(closed.participants), inputs.dim,
        streams=inputs.rule.streams, everyone=inputs.download == EVERYONE,
        scores=inputs.scores,
    )  # fmt: skip
    return server.shared, closed._replace(communication=scalars)


def _offers(round: Round, decision: Decision, data_only: bool) -> Offers:
    members = decision.participants
    pairs = zip(round.clients[members].tolist(), decision.payments[members].tolist(), strict=True)
    return Offers(dict(pairs), data_only, decision.gap)
