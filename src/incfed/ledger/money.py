"""Money in the database and in entries: whole minor units, so many decimal digits (`money_digits`).
Everywhere else an amount is a float with so many digits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, select

from ..protocol.money import from_units, to_units
from ..rules.rounds import DIGITS
from . import tables


def amounts(recorded: Mapping[str, int], digits: int) -> dict[int, float]:
    """The offers or payments of an entry, by client."""
    return {int(client): from_units(units, digits) for client, units in recorded.items()}


def fractions(amounts: Iterable[Any]) -> list[str]:
    """Amounts of an entry that are not whole numbers, as minor units are."""
    return [f"{units} is no number of minor units" for units in amounts if type(units) is not int]


def total(amounts: Iterable[float], digits: int) -> int:
    """Their sum, in minor units: exact."""
    return sum(to_units(amount, digits) for amount in amounts)


def decimal(units: int, digits: int) -> Decimal:
    """An amount as people write it."""
    return Decimal(units).scaleb(-digits)


def digits_in_force(connection: Connection) -> int:
    """The money_digits of the federation, whether its mechanism's code is loaded or not; the
    default if there is no federation yet."""
    settings = tables.settings.c
    in_force = settings.number == select(tables.federation.c.settings).scalar_subquery()
    body = connection.scalar(select(settings.body).where(in_force))
    return DIGITS if body is None else int(json.loads(body)["money_digits"])
