"""Limits: what a client, and a round, may be paid at most, and how many must share at least.

A client that exceeds a limit is removed, and the mechanism decides without it: see `deciding`. It
may still share for data alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, NamedTuple

from .. import ranges
from ..configured import Configured
from ..errors import known, table
from ..values import Flag, Number, Whole
from .rule import names, read, rule, setting

NONE = "none"  # in a config: no limit
BUDGET = "budget"  # named like a limit where it is what a client exceeded
SMALL = 2  # a federation of so many members hides nobody's data from the others


Factor = Annotated[float, Number(1.0, 1e100)]


@rule(kw_only=True)
class Limits(Configured):
    """Limits on what a federation pays, and on when what is shared counts. None: no limit.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0, costs=10.0, limits=incfed.Limits(per_round=25.0)
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"at most {result.rounds.payment.max():.1f} in a round")
    at most 23.3 in a round
    """

    _example: ClassVar[str] = "Limits(per_round=100)"

    per_round: ranges.Budget | None = setting("money for all clients in a round", default=None)
    per_payment: ranges.Budget | None = setting("money for one client in a round", default=None)
    per_client: ranges.Budget | None = setting("money for one client, ever", default=None)
    reserve: ranges.Cost | None = setting(
        "a client that declares a higher cost is not paid", default=None, example=100.0
    )
    price_rise: Factor | None = setting(
        "a client is not paid in a round in which it declares more than this factor times the "
        "most that it declared before",
        default=None,
    )
    price_floor: ranges.Bound = setting(
        "what was declared below this counts as this much, for `price_rise` and `price_spread`",
        default=1.0,
    )
    price_spread: Factor | None = setting(
        "a client is not paid in a round in which it declares more than this factor times the "
        "median of the others that want money, if there are two of them or more. Others are those "
        "in the round, and members whose data is part of the model",
        default=None,
    )
    steps_per_upload: Annotated[int, Whole(1, 10**9)] | None = setting(
        "an upload of more steps is refused", default=None
    )
    largest_share: Annotated[float, Number(0.0, 1.0, above=True)] | None = setting(
        "of all steps that are shared, and those uploaded now, at most this share is one "
        "client's: else it waits for the others. Not in federations of one or two",
        default=None,
    )
    steps_spread: Factor | None = setting(
        "a client waits too if it would have more of these steps than this factor times the mean "
        "of the others that have any",
        default=None,
        example=10.0,
    )
    least_sharers: Annotated[int, Whole(1)] = setting(
        "if fewer clients would share in a round, nothing is shared, and nobody is paid. Not "
        "in federations of one or two, where that hides nothing",
        default=1,
    )
    least_steps: Annotated[int, Whole(1)] = setting(
        "nor is anything shared if all but one of the clients would share fewer steps, whichever "
        "that is: each knows its own, and can tell the rest",
        default=1,
    )
    refuse_resale: Annotated[bool, Flag()] = setting(
        "an upload that is a multiple of what clients have downloaded is refused. Only real "
        "clients: simulated ones have seen what they share",
        default=False,
    )

    def allowance(
        self, price: float, past: Past, left: float, usual: float | None = None
    ) -> Allowance:
        """The most that a client with this declared cost may be paid in a round, if `left` is left
        of the budget, and others declare `usual`.

        >>> from incfed.rules.limits import Past
        >>> limits = incfed.Limits(per_client=100.0, price_rise=1.1)
        >>> past = Past(paid=95.0, price=10.0)
        >>> limits.allowance(price=10.0, past=past, left=1000.0)
        Allowance(amount=5.0, limit='per_client')
        >>> limits.allowance(price=20.0, past=past, left=1000.0)
        Allowance(amount=0.0, limit='price_rise')
        """
        if self.reserve is not None and price > self.reserve:
            return Allowance(0.0, "reserve")
        if price > self._highest(past.price):
            return Allowance(0.0, "price_rise")
        if price > self._widest(usual):
            return Allowance(0.0, "price_spread")
        found = [Allowance(left, BUDGET)]
        if self.per_round is not None:
            found.append(Allowance(self.per_round, "per_round"))
        if self.per_payment is not None:
            found.append(Allowance(self.per_payment, "per_payment"))
        if self.per_client is not None:
            found.append(Allowance(max(0.0, self.per_client - past.paid), "per_client"))
        return min(found, key=lambda allowance: allowance.amount)

    def next(self, past: Past, price: float, paid: float | None, steps: int) -> Past:
        """The past of a client after a round in which it declared this cost, and was paid if it
        took part, with so many steps. A price that rose too fast counts as far as it was allowed
        to rise: repeating it helps in so many rounds as it should have taken. One that falls may
        rise again.

        >>> limits.next(past, price=10.5, paid=5.0, steps=20).paid
        100.0
        """
        highest = max(min(price, self._highest(past.price)), past.price or 0.0)
        if paid is None:
            return past._replace(price=highest)
        return past._replace(paid=past.paid + paid, price=highest, steps=past.steps + steps)

    def _highest(self, price: float | None) -> float:
        if price is None or self.price_rise is None:
            return float("inf")
        return self.price_rise * max(price, self.price_floor)

    def _widest(self, usual: float | None) -> float:
        if usual is None or self.price_spread is None:
            return float("inf")
        return self.price_spread * max(usual, self.price_floor)

    def crowding(
        self, members: int, uploads: Mapping[int, int], past: Mapping[int, Past]
    ) -> dict[int, str]:
        """The clients whose steps are too much beside those of the others, by which limit;
        `uploads`: how many each has in this round.

        >>> few = incfed.Limits(largest_share=0.75)
        >>> few.crowding(members=3, uploads={0: 900, 1: 10, 2: 20}, past={})
        {0: 'largest_share'}
        """
        share, spread = self.largest_share, self.steps_spread
        if (share is None and spread is None) or members <= SMALL:
            return {}
        steps = {client: earlier.steps for client, earlier in past.items() if earlier.steps}
        for client, new in uploads.items():
            steps[client] = steps.get(client, 0) + new
        total, others = sum(steps.values()), len(steps) - 1
        found = {}
        for client in sorted(uploads):
            own = steps[client]
            if share is not None and own > share * total:
                found[client] = "largest_share"
            elif spread is not None and others >= SMALL and own * others > spread * (total - own):
                found[client] = "steps_spread"
        return found

    def shortfall(self, members: int, steps: Collection[int]) -> str | None:
        """The limit by which too little is shared for anything to be, if each sharer shares so many
        steps; None if it is enough.

        >>> incfed.Limits(least_sharers=2).shortfall(members=10, steps=[50])
        'least_sharers'
        """
        if members <= SMALL:
            return None
        if len(steps) < self.least_sharers:
            return "least_sharers"
        others = sum(steps) - (max(steps) if len(steps) > 1 else 0)  # all but whoever shares most
        return "least_steps" if others < self.least_steps else None

    def settings(self) -> dict[str, Any]:
        """The settings that a result or a ledger records.

        >>> limits.settings()["per_client"]
        100.0
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}


def safe_limits(budget: float | None) -> Limits:
    """Those of a federation whose config does not say otherwise: nobody can take the budget at
    once, and no single observation can be read off what is shared."""
    money = {}
    if budget is not None:
        money = {"per_round": budget / 5, "per_payment": budget / 10, "per_client": budget / 2}
    return Limits(
        **money,
        price_rise=1.1,
        price_spread=5.0,
        steps_per_upload=1_000_000,
        largest_share=0.75,
        least_sharers=2,
        least_steps=10,
        refuse_resale=True,
    )


def build_limits(value: object, place: str, start: Limits | None = None) -> Limits:
    """The limits that a config names; those it does not name are as in `start`. "none" is no
    limit."""
    given = table(place, value, "{ per_round = 100.0 }")
    known(place, given, names(Limits))
    made = {name: None if limit == NONE else limit for name, limit in given.items()}
    return read(Limits, {**(start or Limits()).settings(), **made}, place)


class Past(NamedTuple):
    """The earlier rounds of a client, as far as limits depend on them."""

    paid: float = 0.0  # in all
    price: float | None = None  # the highest it declared, as far as it was allowed to rise
    steps: int = 0  # that it shared, and that were not withdrawn
    gone: bool = False  # it is no member any more


class Allowance(NamedTuple):
    """The most that a client may be paid, and the limit which says so."""

    amount: float
    limit: str


NO_PAST: Mapping[int, Past] = {}


def usual_prices(prices: Mapping[int, float], past: Mapping[int, Past]) -> dict[int, float]:
    """For each client with a price in this round, the median of what the others want: now, or
    before if they are not in it, but are members and have shared. Not if fewer than two want
    money."""
    known = {
        client: earlier.price
        for client, earlier in past.items()
        if earlier.price is not None and earlier.steps and not earlier.gone
    }
    wanted = sorted(price for price in {**known, **prices}.values() if price > 0.0)
    usual = {}
    for client, price in prices.items():
        own = bisect_left(wanted, price) if price > 0.0 else len(wanted)
        others = len(wanted) - (price > 0.0)
        if others >= SMALL:
            middle = [wanted[k + (k >= own)] for k in ((others - 1) // 2, others // 2)]
            usual[client] = sum(middle) / 2.0
    return usual
