"""How a round is decided within a budget and limits, and decided again when a client fails.

The simulator and the coordinator decide with it, and the audit recomputes with it. Clients may lag
behind (V_i = dV_i + an older V_g), decline, or fail to deliver.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..mechanisms.base import Decision, Round
from ..mechanisms.payment_free import PaymentFree
from ..rules.limits import Past, usual_prices
from ..types import Floats
from .money import Purse, declared, round_up, total
from .open_round import Closed, OpenRound, Server
from .triggers import GROWTH

ATTEMPTS = 3  # after so many decisions no client is added to a round


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


def decide(one: OpenRound) -> Offers:
    """Line 11. With limits: clients whose payment exceeds what they may be paid are removed, and
    the mechanism decides again, until nobody's does; those removed may share for data alone.
    Without: if the payments exceed the remaining budget, the round is data-only."""
    if one.server.rules.limits is not None:
        offers = _decide_within(one, None, add=True)
        short = shortfall(one, offers.payments)
        return offers if short is None else Offers({}, False, removed=_all(offers, short))
    money = one.server.money
    offers = _offers(one.round, one.ask(), False, money.digits)
    payments = money.afforded(offers.payments, {})
    if payments is not None:
        return offers._replace(payments=payments)
    return _offers(one.round, one.ask(PaymentFree()), True, money.digits)


def decide_first(one: OpenRound) -> Offers:
    """Decide a round of real clients. If it was called because of growth alone, only the uploads
    say whether that was too early: then nobody is offered anything."""
    if one.server.trigger.streams == GROWTH and not worthwhile(one):
        return Offers({}, False)
    return decide(one)


def decide_until_delivered(
    one: OpenRound, fails: Callable[[int], bool]
) -> tuple[OpenRound, Decision]:
    """Decide, and decide again without the clients that fail, until all that are left deliver; the
    round without those that failed, and who shares."""
    offers, attempt = decide(one), 1
    while failed := [client for client in offers.payments if fails(client)]:
        kept = {client: paid for client, paid in offers.payments.items() if client not in failed}
        one = one.without(failed)
        offers = decide_again(one, kept, add=attempt < ATTEMPTS)
        attempt += 1
    if shortfall(one, offers.payments) is not None:
        offers = Offers({}, False)
    return one, offers.decision(one.round)


def decide_again(one: OpenRound, kept: Mapping[int, float], *, add: bool) -> Offers:
    """Keep the clients that delivered (`kept`: their offers); if `add`, others may be added.

    Each is paid the larger of its offer and what it is owed now. If the budget does not cover that,
    even with nobody else paid, each is paid its offer, which was reserved.
    """
    if one.server.rules.limits is not None:
        return _decide_within(one, kept, add=add)
    round, money, own = one.round, one.server.money, one.server.mechanism
    for data_only, mechanism in enumerate((own, PaymentFree()) if add else (None,)):
        decision = one.ask(mechanism or PaymentFree())
        held = np.isin(round.clients, list(kept))
        S = held | decision.participants if mechanism else held
        offered = np.array([kept.get(client, 0.0) for client in round.clients.tolist()])
        owed = (mechanism or own).amend(round, decision, S, offered)
        if data_only:  # added clients get data only
            owed[~held] = 0.0
        owed = round_up(owed, money.digits)
        payments = {
            client: max(float(owed[place]), kept.get(client, 0.0))
            for place, client in enumerate(round.clients.tolist())
            if S[place]
        }
        afforded = money.afforded(payments, kept)
        if afforded is not None:
            return Offers(afforded, bool(data_only))
    return Offers({client: kept.get(client, 0.0) for client in payments}, True)


def worthwhile(one: OpenRound) -> bool:
    """Whether a round should open, by what the server knows: it is worth it, and enough of it would
    be shared to count."""
    crowding = _crowding(one)
    round = (one.without(crowding) if crowding else one).round
    expected = round.clients[one.server.trigger.expected(round)].tolist()
    return bool(expected) and shortfall(one, expected) is None


def shortfall(one: OpenRound, sharers: Collection[int]) -> str | None:
    """The limit by which these clients share too little: then nothing is shared, and nobody is
    paid. None if it is enough, or there is nothing."""
    limits = one.server.rules.limits
    if limits is None or not sharers:
        return None
    return limits.shortfall(one.server.members, one.steps_of(sharers))


def allowed(opened: OpenRound) -> OpenRound:
    """The round without uploads of too many steps, which are refused."""
    limits = opened.server.rules.limits
    most = None if limits is None else limits.steps_per_upload
    if most is None:
        return opened
    fits = opened.uploads.steps <= most
    large = int(np.count_nonzero(~fits))
    return opened.only(fits, opened.count - large) if large else opened


def remembered(called: OpenRound, closed: Closed) -> Mapping[int, Past]:
    """The past of clients after a round to which these were called."""
    limits, past, uploads = called.server.rules.limits, called.server.past, called.uploads
    if limits is None:
        return past
    paid = dict(zip(closed.participants.tolist(), closed.payments.tolist(), strict=True))
    each = zip(called.clients, uploads.costs.tolist(), uploads.steps.tolist(), strict=True)
    new = {
        client: limits.next(past.get(client, Past()), price, paid.get(client), steps)
        for client, price, steps in each
    }
    return {**past, **new}


def close(one: OpenRound, offers: Offers, db: Sequence[Floats]) -> tuple[Server, Closed]:
    """Lines 12-14, of real clients: what the server has then (db of the participants, in order of
    id), and the outcome.

    V_g stays positive semi-definite: what dV of single clients lacks to be so, by rounding or by
    ill will, does not add up."""
    delivered = np.array(db).reshape(-1, len(one.server.shared.b))
    server, closed = one.close(offers.decision(one.round), delivered)
    return server._replace(shared=server.shared.repaired(server.ridge)), closed


def _decide_within(one: OpenRound, kept: Mapping[int, float] | None, *, add: bool) -> Offers:
    """Decide within limits; if again, with those that delivered, never below `kept`."""
    limits, past, money = one.server.rules.limits, one.server.past, one.server.money
    assert limits is not None
    mechanism = one.server.mechanism
    crowding = {client: by for client, by in _crowding(one).items() if client not in (kept or {})}
    rest = one.without(crowding) if crowding else one
    removed, everyone, usual = dict(crowding), None, dict[int, float]()
    while True:
        round, decision = rest.round, rest.ask(mechanism if add else PaymentFree())
        if everyone is None:
            everyone, usual = round, usual_prices(declared(round), past)
        S, owed = decision.participants, decision.payments
        if kept is not None:
            held = np.isin(round.clients, list(kept))
            S = held | S if add else held
            before = np.array([kept.get(client, 0.0) for client in round.clients.tolist()])
            owed = mechanism.amend(round, decision, S, before)
        payments = round_up(owed[S], money.digits).tolist()
        asked = dict(zip(round.clients[S].tolist(), payments, strict=True))
        fitted, over = Purse(limits, past, money, round, usual).fit(asked, kept or {})
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
    limits = one.server.rules.limits
    if limits is None:
        return {}
    uploads = dict(zip(one.clients, one.uploads.steps.tolist(), strict=True))
    return limits.crowding(one.server.members, uploads, one.server.past)


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
