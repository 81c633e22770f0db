"""The heartbeat: a deadline counts only time in which the coordinator could have been answered.

While a round is in progress, every tick and every message leaves a beat in the database: a row that
all coordinators over one database share. If none of them left one for a while (they were killed, or
a transaction took long, or the clock was set forward), that was silence, and the deadline starts
anew. A coordinator that is slow at every beat must not wait for ever: each silence of a stage has
to be twice as long as the one before.
"""

from __future__ import annotations

from sqlalchemy import Connection, case, insert, select, update

from ...ledger import tables

GAP = 2.0  # seconds without a beat that are silence;
LEAST = 0.75  # half of the time that clients have, if that is less, but more than a tick takes
BEAT = 0.2  # seconds: a beat that follows another one sooner is not written

# Statements are built once: building one takes longer than running it.
LAST = select(tables.heartbeat.c.at, tables.heartbeat.c.silences)
KEPT = case((tables.heartbeat.c.silences > 0, 1), else_=0)


def begin(connection: Connection, now: float) -> None:
    """A round begins."""
    _write(connection, at=now, silences=0)


def go_on(connection: Connection, now: float) -> None:
    """Another stage of it begins. Who was not back from a silence before it is not barred here:
    one silence is kept in mind, not how many there were."""
    connection.execute(update(tables.heartbeat).values(at=now, silences=KEPT))


def beat(connection: Connection, now: float, allowed: float) -> float | None:
    """Leave a beat. How long was the silence before it, in seconds? None: there was none.

    `allowed`: the time that clients have in this stage.
    """
    at, silences = connection.execute(LAST).one()
    silent = bool(now - at > min(GAP, max(LEAST, allowed / 2.0)) * 2.0**silences)
    # a beat of the future: another coordinator's clock is a bit ahead, or one was set back
    if silent or now - at >= BEAT or at - now > GAP:
        _write(connection, at=now, silences=silences + silent)
    return now - at if silent else None


def interrupted(connection: Connection) -> bool:
    """Has there been a silence in this round?"""
    last = connection.execute(LAST).first()
    return last is not None and last.silences > 0


def _write(connection: Connection, **values: float) -> None:
    if not connection.execute(update(tables.heartbeat).values(values)).rowcount:
        connection.execute(insert(tables.heartbeat).values(id=1, **values))
