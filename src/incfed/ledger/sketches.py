"""Sketches of V_g of every epoch, by which resale is recognised (`protocol/resale.py`). They stay
when the epoch itself is pruned. No evidence: they follow from V_g."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
from sqlalchemy import Connection, func, insert, select

from ..protocol.resale import Downloaded, Sketch, directions, sketch
from ..types import Floats
from . import tables
from .records import from_bytes, read_triangle, to_bytes

# Statements are built once: building one takes longer than running it.
_epochs, _sketches = tables.epochs.c, tables.sketches
CLOSE = 1e-9  # relative: another machine may round differently
LAST = select(func.max(_sketches.c.epoch))


def add_sketches(connection: Connection) -> None:
    """Store the sketches of the epochs that have none yet."""
    last = connection.scalar(LAST)
    new = [
        {"epoch": epoch, "numbers": to_bytes(numbers)}
        for epoch, numbers in _computed(connection, -1 if last is None else last)
    ]
    if new:
        connection.execute(insert(_sketches), new)


def _computed(connection: Connection, since: int) -> Iterator[tuple[int, Floats]]:
    """Sketches of later epochs that were not pruned, as they are stored."""
    later = select(tables.epochs).where(_epochs.number >= since, _epochs.V.is_not(None))
    before = None
    for row in connection.execute(later.order_by(_epochs.number)):
        V = read_triangle(row.V).matrix()
        if row.number > since:
            where = directions(V - before) if before is not None else 0.0
            yield row.number, np.append(sketch(V), where)
        before = V


def checked_sketches(connection: Connection) -> tuple[dict[int, Sketch], list[int]]:
    """Those of all epochs, in order, and the epochs of which those stored are wrong. For an epoch
    that was pruned, what is stored has to be believed."""
    rows = connection.execute(select(_sketches).order_by(_sketches.c.epoch))
    known = {row.epoch: from_bytes(row.numbers) for row in rows}
    wrong, last = [], None
    for epoch, numbers in _computed(connection, -1):
        stored = known.get(epoch, numbers)
        if last != epoch - 1:  # how many directions the news has is not known any more
            numbers[-1] = stored[-1]
        near = CLOSE * float(np.abs(numbers).max())
        if stored.shape != numbers.shape or not np.allclose(stored, numbers, CLOSE, near):
            wrong.append(epoch)
            stored = numbers
        known[epoch], last = stored, epoch
    ordered = sorted(known.items())
    return {epoch: Sketch(values[:-1], float(values[-1])) for epoch, values in ordered}, wrong


class Sketches:
    """Those of a federation, kept in memory: V_g of an epoch never changes."""

    def __init__(self) -> None:
        self._known = list[Sketch]()
        self._last = -1, Downloaded([])
        self._lock = threading.Lock()

    def read(self, connection: Connection) -> tuple[int, Downloaded]:
        """The last epoch, and what clients may have downloaded by now."""
        with self._lock:
            later = _sketches.c.epoch > self._last[0]
            if rows := connection.execute(
                select(_sketches).where(later).order_by(_sketches.c.epoch)
            ).all():
                kept = [from_bytes(row.numbers) for row in rows]
                self._known += [Sketch(values[:-1], float(values[-1])) for values in kept]
                self._last = rows[-1].epoch, Downloaded(self._known)
            return self._last
