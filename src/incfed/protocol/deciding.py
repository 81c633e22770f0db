"""How a round is decided within a budget, and decided again when a client fails; without I/O.

The coordinator and the simulator use this to decide, and the audit to recompute. Real clients may
lag behind (V_i = dV_i + an older V_g), decline, or fail to deliver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from ..kernels.coalition import log_gains
from ..mechanisms.base import Decision, Mechanism, Round
from ..mechanisms.payment_free import PaymentFree
from ..rules.limits import NO_PAST, Limits, Past, usual_prices
from ..rules.rounds import EVERYONE
from ..types import Floats
from .global_statistics import GlobalStatistics
from .messages import Upload
from .money import Budget, Purse, declared, round_up, total
from .packing import gather
from .server import Closed, Server, Uploads
from .traffic import round_communication
from .triggers import GROWTH, Threshold, Trigger


class Offers(NamedTuple):
    """The participants and their payments; `data_only`: the budget, or limits, did not allow
    payments; `gap`: see `Decision`; `removed`: clients that are not paid, by which limit."""

    payments: dict[int, float]  # by client, ascending
    data_only: bool
    gap: float = 0.0
    removed: Mapping[int, str] = MappingProxyType({})

    @property
    def total(self) -> float:
        return total(self.payments)

    def decision(self, round: Round) -> Decision:
        """The offers as a decision of this round."""
        members = np.isin(round.clients, list(self.payments))
        payments = np.zeros(len(round))
        payments[members] = list(self.payments.values())
        return Decision(members, payments, self.gap)


class OpenRound(Protocol):
    """A round to be decided."""

    @property
    def mechanism(self) -> Mechanism: ...

    @property
    def money(self) -> Budget: ...

    @property
    def limits(self) -> Limits | None:
        """None: a round that the budget does not cover is for data alone."""
        ...

    @property
    def past(self) -> Mapping[int, Past]:
        """The past of the clients that have one, as far as limits depend on it."""
        ...

    @property
    def members(self) -> int:
        """All clients of the federation, also those that are away."""
        ...

    @property
    def active(self) -> list[int]:
        """The clients with pending data, ascending."""
        ...

    def steps(self, clients: Iterable[int]) -> int:
        """The number of steps that these clients would share."""
        ...

    def table(self) -> Round:
        """As a mechanism sees it."""
        ...

    def decide(self, mechanism: Mechanism) -> tuple[Round, Decision]:
        """The round as a mechanism sees it, and what the mechanism decides."""
        ...

    def without(self, clients: Collection[int]) -> OpenRound:
        """The round without some clients."""
        ...


class RoundInputs(NamedTuple):
    """Everything that the decision of a round of real clients depends on."""

    uploads: Mapping[int, Upload]  # by client: all that may take part, also without data
    others: int  # clients that uploaded but may not take part: barred, or failed in this round
    shared: Callable[[int], GlobalStatistics]  # the statistics of an epoch
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
    money_digits: int | None = None  # of payments, which are rounded up; None: they are not
    limits: Limits | None = None
    past: Mapping[int, Past] = NO_PAST
    members: int = 0

    @property
    def active(self) -> list[int]:
        """The clients with pending data, ascending."""
        return sorted(client for client, upload in self.uploads.items() if upload.steps)

    @property
    def money(self) -> Budget:
        return Budget(self.budget, self.spent, self.money_digits)

    def steps(self, clients: Iterable[int]) -> int:
        return sum(self.uploads[client].steps for client in clients)

    def table(self) -> Round:
        return self.open()[1]

    def decide(self, mechanism: Mechanism) -> tuple[Round, Decision]:
        server, round = self.open()
        return round, server.decide(round, mechanism)

    def open(self) -> tuple[Server, Round]:
        """The simulator's server, set up for this round."""
        clients = self.active
        sent = [self.uploads[client] for client in clients]
        costs = np.zeros(max(clients, default=-1) + 1)
        costs[clients] = [upload.cost for upload in sent]
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
        epochs = np.array([upload.epoch for upload in sent], np.int64)
        pending = gather([upload.dV for upload in sent], self.dim)
        logdets, gains = np.empty(len(sent)), np.empty(len(sent))
        for epoch in np.unique(epochs).tolist():  # log det(V_g(epoch_i) + dV_i)
            old, among = self.shared(epoch), epochs == epoch
            log_gains(old.V, old.factor, old.logdet, self.ridge, pending, among, gains)
            logdets[among] = old.logdet + gains[among]
        lagging = bool((epochs != self.epoch).any())
        uploads = Uploads(np.array(clients, np.int64), logdets, pending, lagging)
        return server, server.open(uploads, step=0, trigger=self.trigger)

    def without(self, clients: Collection[int]) -> RoundInputs:
        """The round without the clients that failed, or were removed."""
        left = {client: upload for client, upload in self.uploads.items() if client not in clients}
        return self._replace(uploads=left, others=self.others + len(self.uploads) - len(left))


def decide(one: OpenRound) -> Offers:
    """Line 11. With limits: clients whose payment exceeds what they may be paid are removed, and
    the mechanism decides again, until nobody's does; those removed may share for data alone.
    Without: if the payments exceed the remaining budget, the round is data-only."""
    if one.limits is not None:
        offers = _decide_within(one, None, add=True)
        short = shortfall(one, offers.payments)
        return offers if short is None else Offers({}, False, removed=_all(offers, short))
    digits = one.money.digits
    offers = _offers(*one.decide(one.mechanism), False, digits)
    payments = one.money.afforded(offers.payments, {})
    if payments is not None:
        return offers._replace(payments=payments)
    return _offers(*one.decide(PaymentFree()), True, digits)


def decide_first(inputs: RoundInputs) -> Offers:
    """Decide a round of real clients. If it was called because of growth alone, only the uploads
    say whether that was too early: then nobody is offered anything."""
    rule = inputs.rule
    if rule.streams == GROWTH and not worthwhile(rule, inputs):
        return Offers({}, False)
    return decide(inputs)


def decide_again(one: OpenRound, kept: Mapping[int, float], *, add: bool) -> Offers:
    """Keep the clients that delivered (`kept`: their offers); if `add`, others may be added.

    Each is paid the larger of its offer and what it is owed now. If the budget does not cover that,
    even with nobody else paid, each is paid its offer, which was reserved.
    """
    if one.limits is not None:
        return _decide_within(one, kept, add=add)
    mechanisms = (one.mechanism, PaymentFree()) if add else (None,)
    for data_only, mechanism in enumerate(mechanisms):
        round, decision = one.decide(mechanism or PaymentFree())
        held = np.isin(round.clients, list(kept))
        S = held | decision.participants if mechanism else held
        offered = np.array([kept.get(client, 0.0) for client in round.clients.tolist()])
        owed = (mechanism or one.mechanism).amend(round, decision, S, offered)
        if data_only:  # added clients get data only
            owed[~held] = 0.0
        owed = round_up(owed, one.money.digits)
        payments = {
            client: max(float(owed[place]), kept.get(client, 0.0))
            for place, client in enumerate(round.clients.tolist())
            if S[place]
        }
        afforded = one.money.afforded(payments, kept)
        if afforded is not None:
            return Offers(afforded, bool(data_only))
    return Offers({client: kept.get(client, 0.0) for client in payments}, True)


def worthwhile(rule: Trigger, one: OpenRound) -> bool:
    """Whether a round should open, by what the server knows: it is worth it, and enough of it would
    be shared to count."""
    crowding = _crowding(one)
    round = (one.without(crowding) if crowding else one).table()
    expected = round.clients[rule.expected(round)].tolist()
    return bool(expected) and shortfall(one, expected) is None


def shortfall(one: OpenRound, sharers: Collection[int]) -> str | None:
    """The limit by which these clients share too little: then nothing is shared, and nobody is
    paid. None if it is enough, or there is nothing."""
    if one.limits is None or not sharers:
        return None
    return one.limits.shortfall(one.members, [one.steps([client]) for client in sharers])


def close(
    inputs: RoundInputs, offers: Offers, db: Sequence[Floats]
) -> tuple[GlobalStatistics, Closed]:
    """Lines 12-14: the new statistics (db of the participants, in order of id) and the outcome.

    V_g stays positive semi-definite: what dV of single clients lacks to be so, by rounding or by
    ill will, does not add up."""
    server, round = inputs.open()
    closed = server.close(round, offers.decision(round), np.array(db).reshape(-1, inputs.dim))
    everyone = len(inputs.uploads) + inputs.others
    scalars = round_communication(
        everyone, closed.idle, len(closed.participants), inputs.dim,
        streams=inputs.rule.streams, everyone=inputs.download == EVERYONE,
        scores=inputs.scores,
    )  # fmt: skip
    return server.shared.repaired(inputs.ridge), closed._replace(communication=scalars)


def _decide_within(one: OpenRound, kept: Mapping[int, float] | None, *, add: bool) -> Offers:
    """Decide within limits; if again, with those that delivered, never below `kept`."""
    assert one.limits is not None
    crowding = {client: by for client, by in _crowding(one).items() if client not in (kept or {})}
    rest = one.without(crowding) if crowding else one
    removed, everyone, usual = dict(crowding), None, dict[int, float]()
    while True:
        round, decision = rest.decide(one.mechanism if add else PaymentFree())
        if everyone is None:
            everyone, usual = round, usual_prices(declared(round), one.past)
        S, owed = decision.participants, decision.payments
        if kept is not None:
            held = np.isin(round.clients, list(kept))
            S = held | S if add else held
            before = np.array([kept.get(client, 0.0) for client in round.clients.tolist()])
            owed = one.mechanism.amend(round, decision, S, before)
        payments = round_up(owed[S], one.money.digits).tolist()
        asked = dict(zip(round.clients[S].tolist(), payments, strict=True))
        fitted, over = Purse(one.limits, one.past, one.money, round, usual).fit(asked, kept or {})
        if not over:
            break
        removed |= over
        rest = rest.without(over)
    joined = _for_data(everyone, fitted, removed) if add else []
    offered = dict(sorted({**dict.fromkeys(joined, 0.0), **fitted}.items()))
    data_only = len(removed) > len(crowding) and not any(offered.values())
    return Offers(offered, data_only, decision.gap if kept is None else 0.0, removed)


def _crowding(one: OpenRound) -> dict[int, str]:
    """The clients that are removed before anything is decided, by which limit."""
    if one.limits is None:
        return {}
    uploads = {client: one.steps([client]) for client in one.active}
    return one.limits.crowding(one.members, uploads, one.past)


def _for_data(round: Round, sharing: Collection[int], removed: Collection[int]) -> list[int]:
    """Those removed that share for data alone beside these: the largest set in which each is
    willing, as in Algorithm 2."""
    S, T = np.isin(round.clients, list(sharing)), np.isin(round.clients, list(removed))
    while T.any():
        stays = T & round.willing(S | T)
        if np.array_equal(stays, T):
            break
        T = stays
    joined: list[int] = round.clients[T].tolist()
    return joined


def _all(offers: Offers, limit: str) -> dict[int, str]:
    return {**offers.removed, **dict.fromkeys(offers.payments, limit)}


def _offers(round: Round, decision: Decision, data_only: bool, digits: int | None) -> Offers:
    members = decision.participants
    payments = round_up(decision.payments[members], digits)
    pairs = zip(round.clients[members].tolist(), payments.tolist(), strict=True)
    return Offers(dict(pairs), data_only, decision.gap)
