"""Sketches of V_g of every epoch, by which resale is recognised (`protocol/resale.py`). They stay
when the epoch itself is pruned. No evidence: they follow from V_g."""

from __future__ import annotations

import threading

import numpy as np
from sqlalchemy import Connection, func, insert, select

from ..protocol.resale import Downloaded, Sketch, directions, sketch
from . import tables
from .records import from_bytes, read_triangle, to_bytes

# Statements are built once: building one takes longer than running it.
_epochs, _sketches = tables.epochs.c, tables.sketches
LAST = select(func.max(_sketches.c.epoch))


def add_sketches(connection: Connection) -> None:
    """Of the epochs that have none yet."""
    last = connection.scalar(LAST)
    since = -1 if last is None else last
    missing = select(tables.epochs).where(_epochs.number >= since, _epochs.V.is_not(None))
    before, new = None, []
    for row in connection.execute(missing.order_by(_epochs.number)):
        V = read_triangle(row.V).matrix()
        if row.number > since:
            where = directions(V - before) if before is not None else 0.0
            numbers = to_bytes(np.append(sketch(V), where))
            new.append({"epoch": row.number, "numbers": numbers})
        before = V
    if new:
        connection.execute(insert(_sketches), new)


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
                self._known += [Sketch(one[:-1], float(one[-1])) for one in kept]
                self._last = rows[-1].epoch, Downloaded(self._known)
            return self._last
