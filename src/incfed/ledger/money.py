"""Money in the database: whole minor units where a round's settings have `money_digits`, else
doubles, as in version 0.1. Everywhere else an amount is a float with so many decimal digits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, select

from ..protocol.money import from_units, next_unit, to_units
from . import tables


def columns(name: str, amount: float, digits: int | None) -> dict[str, float | int | None]:
    """The two columns of an amount, of which one is NULL."""
    if digits is None:
        return {name: amount, f"{name}_units": None}
    return {name: None, f"{name}_units": to_units(amount, digits)}


def recorded(amount: float, digits: int | None) -> float | int:
    """An amount as entries have it."""
    return amount if digits is None else to_units(amount, digits)


def amounts(recorded: Mapping[str, Any], digits: int | None) -> dict[int, float]:
    """The offers or payments of an entry, by client."""
    return {
        int(client): paid if digits is None else from_units(paid, digits)
        for client, paid in recorded.items()
    }


def amount_of(row: Any, name: str, digits: int | None) -> float:
    """The amount in a row's two columns."""
    units = getattr(row, f"{name}_units")
    if units is None:
        return float(getattr(row, name))
    assert digits is not None  # a federation that has them keeps them
    return from_units(units, digits)


def spent(earlier: float, posted: int, digits: int | None) -> float:
    """All payments so far; `earlier`: those without minor units, which count rounded up."""
    if digits is None:
        return earlier
    return from_units(to_units(next_unit(earlier, digits), digits) + posted, digits)


def fractions(amounts: Iterable[Any], digits: int | None) -> list[str]:
    """Amounts of an entry that must be in minor units and are not whole numbers."""
    if digits is None:
        return []
    return [f"{one} is no number of minor units" for one in amounts if type(one) is not int]


def total(amounts: Iterable[float], digits: int) -> int:
    """Their sum, in minor units: exact."""
    return sum(to_units(amount, digits) for amount in amounts)


def sum_of(amounts: Iterable[float], digits: int | None) -> float:
    """Their sum as an amount: exact, if they are in minor units."""
    return math.fsum(amounts) if digits is None else from_units(total(amounts, digits), digits)


def decimal(row: Any, name: str, digits: int | None) -> Decimal:
    """The amount in a row's two columns, as people write it."""
    units = getattr(row, f"{name}_units")
    if units is None:
        return Decimal(repr(float(getattr(row, name))))
    return Decimal(units).scaleb(-(digits or 0))


def digits_in_force(connection: Connection) -> int | None:
    """Of the settings in force, whether their mechanism's code is loaded or not."""
    settings = tables.settings.c
    in_force = settings.number == select(tables.federation.c.settings).scalar_subquery()
    body = connection.scalar(select(settings.body).where(in_force))
    digits: int | None = json.loads(body or "{}").get("money_digits")
    return digits
