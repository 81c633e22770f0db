"""Money: the budget, what limits leave of it to a round, and minor units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ..mechanisms.base import Round
from ..rules.limits import BUDGET, Limits, Past
from ..rules.rounds import MOST_DIGITS
from ..types import Floats
from ..values import Whole

ROUNDING = 1e-9  # of what may be paid: far above differences in rounding between processors
MOST_UNITS = 10**15  # of an amount: a float tells more of them apart
NOISE = 1e-9  # of an amount and of a minor unit: less is rounding, and adds no unit
MOST_NOISE = 0.01  # of a minor unit, however large the amount


class Budget(NamedTuple):
    """Money for all rounds together, and what was spent."""

    limit: float  # infinite: none
    spent: float
    digits: int | None = None  # of amounts; None: they are not rounded

    @property
    def left(self) -> float:
        return max(0.0, self.limit - self.spent)

    def affords(self, payments: Mapping[int, float]) -> bool:
        """Whether the budget covers it. The budget is never exceeded, not even by rounding. What
        costs nothing is affordable even if the budget was lowered below what is already spent."""
        more = total(payments)
        after = self.spent + more
        if self.digits is not None and after > self.limit:  # perhaps by less than a minor unit
            after = to_units(after, self.digits) / 10**self.digits
        return not more or after <= self.limit

    def afforded(
        self, payments: Mapping[int, float], kept: Mapping[int, float]
    ) -> dict[int, float] | None:
        """The payments if the budget covers them, else None; never below `kept`, earlier offers.

        If they exceed the budget by rounding only, they are reduced to what is left: processors
        round differently, and must not decide differently. Minor units are not reduced."""
        fitted = dict(payments)
        for client, paid in payments.items() if self.digits is None else ():
            more = total(fitted)
            excess = min(self.spent + more - self.limit, more)
            if not 0.0 < excess <= ROUNDING * (1.0 + self.limit):
                break
            fitted[client] = max(kept.get(client, 0.0), paid - excess - math.ulp(self.limit))
        return fitted if self.affords(fitted) else None


class Purse:
    """The money that may be paid in a round within limits: to each client, and in all."""

    def __init__(
        self, limits: Limits, past: Mapping[int, Past], money: Budget, round: Round,
        usual: Mapping[int, float],
    ) -> None:  # fmt: skip
        self._round, self._money = round, money
        self._each = {
            client: limits.allowance(price, past.get(client, Past()), money.left, usual.get(client))
            for client, price in declared(round).items()
        }
        self._all, self._name = money.left, BUDGET
        if limits.per_round is not None and limits.per_round < money.left:
            self._all, self._name = limits.per_round, "per_round"

    def fit(
        self, payments: Mapping[int, float], kept: Mapping[int, float]
    ) -> tuple[dict[int, float], dict[int, str]]:
        """The payments, if all may be paid, and nobody to remove; or those to remove, by the limit
        that they exceed.

        Those that are too large one by one go first. If all together are too much, the largest go
        until the others fit; of equal ones, that of the highest id. Who delivered stays (`kept`:
        the offers), and is paid its offer if it may not be paid more.
        """
        fitted, over = dict[int, float](), dict[int, str]()
        for client, paid in payments.items():
            most, limit = self._each[client]
            if paid <= most + ROUNDING * (1.0 + most):
                most = round_down(most, self._money.digits)
                fitted[client] = max(min(paid, most), kept.get(client, 0.0))
            elif client in kept:
                fitted[client] = kept[client]
            else:
                over[client] = limit
        paid_new = {client for client, paid in fitted.items() if paid and client not in kept}
        rising = sorted(paid_new, key=lambda client: (float(f"{fitted[client]:.8e}"), client))
        while (trimmed := self._trimmed(fitted, kept)) is None and rising:
            over[rising[-1]] = self._name
            del fitted[rising.pop()]
        if over:
            return {}, over | self._hopeless([*kept, *over])
        return {**fitted, **kept} if trimmed is None else trimmed, {}

    def _trimmed(
        self, payments: Mapping[int, float], kept: Mapping[int, float]
    ) -> dict[int, float] | None:
        """The payments without an excess that is rounding; None if they are too much."""
        here = Budget(self._all, 0.0, self._money.digits).afforded(payments, kept)
        return None if here is None else self._money.afforded(here, kept)

    def _hopeless(self, but: Iterable[int]) -> dict[int, str]:
        """Others whose cost neither data nor what they may be paid covers, even if all shared:
        whatever is decided, they could not be paid enough."""
        clients = self._round.clients.tolist()
        S = self._round.stable_set(np.array([self._each[client].amount for client in clients]))
        left = set(self._round.clients[~S].tolist()).difference(but)
        return {client: self._each[client].limit for client in clients if client in left}


def declared(round: Round) -> dict[int, float]:
    """The costs of the clients of a round."""
    return dict(zip(round.clients.tolist(), round.costs.tolist(), strict=True))


def total(payments: Mapping[int, float]) -> float:
    return math.fsum(payments.values())


def check_digits(digits: object) -> int | None:
    """`digits` as a setting; None: amounts are not rounded."""
    return None if digits is None else Whole(0, MOST_DIGITS).of("money_digits", digits)


def round_up(amounts: Floats, digits: int | None) -> Floats:
    """Each amount rounded up to the next minor unit, so that it covers what it covered before."""
    if digits is None:
        return amounts
    units = amounts * 10.0**digits
    nearest = np.rint(units)
    return (nearest + (units - nearest > _noise(units))) / 10.0**digits


def _noise(units: Floats | float) -> Floats:
    return np.minimum(NOISE * (1.0 + units), MOST_NOISE)


def next_unit(amount: float, digits: int | None) -> float:
    """An amount rounded up to the next minor unit, as in `round_up`."""
    return amount if digits is None else float(round_up(np.array([amount]), digits)[0])


def round_down(amount: float, digits: int | None) -> float:
    """An amount rounded down to a whole number of minor units, unless the next is within noise."""
    if digits is None or math.isinf(amount):
        return amount
    units = amount * 10.0**digits
    return math.floor(units + float(_noise(units))) / 10.0**digits


def to_units(amount: float, digits: int) -> int:
    """The nearest number of minor units."""
    return round(amount * 10.0**digits)


def from_units(units: int, digits: int) -> float:
    """The amount: the float that is written with so many digits."""
    return float(units / 10.0**digits)


def exact_sum(one: float, other: float, digits: int | None) -> float:
    """The sum of two amounts in whole minor units: that of floats alone is not exact."""
    total = one + other
    return total if digits is None else from_units(to_units(total, digits), digits)
