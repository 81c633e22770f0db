"""Starts: of several processes with copies of one client's state folder, only the last is served.

Each start of a client has a number, one more than the last that the client's folder and the
coordinator know, and a random part, because two copies of a folder may arrive at the same number.
Every request of a client names the start that it comes from. One that names none (it was written by
hand, or only asks for proofs) is served.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from ...ledger import tables
from ...protocol.checks import Refusal
from ..requests import START, Start
from .batching import CLIENTS
from .errors import Conflict

_starts = tables.starts
OWN_STARTS = select(_starts).where(_starts.c.client.in_(CLIENTS))


class Caller(NamedTuple):
    """A client that asks for something, and the start of it that does."""

    client: int
    start: Start | None = None


def read(text: str) -> Start:
    """The start that a header names."""
    if not re.fullmatch(r"[1-9][0-9]{0,17}-[0-9a-f]{8}", text):
        raise Refusal(START, None, "a number, '-' and 8 hexadecimal digits")
    number, _, nonce = text.partition("-")
    return Start(int(number), nonce)


def is_new(start: Start, last: Start | None) -> bool:
    """Is it later than the last one that is known? Conflict if it is neither."""
    if start == last:
        return False
    if last is not None and start.number <= last.number:
        later = "later" if start.number < last.number else "as well"
        allowed = f"{last.number}: another process with a copy of your state was started {later}"
        raise Conflict(START, start.number, allowed)
    return True


class Starts:
    """The last start of each of these clients, in a transaction that holds the lock."""

    def __init__(self, connection: Connection, clients: Collection[int]) -> None:
        rows = connection.execute(OWN_STARTS, {"clients": sorted(clients)})
        self._connection = connection
        self.last = {row.client: Start(row.number, row.nonce) for row in rows}

    def claim(self, client: int, start: Start) -> None:
        """A message of this start: the last one, or from now on. Conflict if another one is."""
        last = self.last.get(client)
        if not is_new(start, last):
            return
        values = start._asdict()
        statement = (
            insert(_starts).values(client=client, **values)
            if last is None
            else update(_starts).where(_starts.c.client == client).values(values)
        )
        self._connection.execute(statement)
        self.last[client] = start
