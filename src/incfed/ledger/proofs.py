"""Proofs: the Merkle tree over the entries, the head that every reply carries, and what shows a
client that the ledger holds what it did, and has only grown since.

The tree is kept in memory: a hash for every 256 entries. It is no secret and no evidence; whoever
has the entries can make it again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from ..protocol.heads import Head, Inclusion, Proof
from ..protocol.packing import DIGEST
from ..support.merkle import MerkleTree, leaf
from .chain import START
from .tables import entries

OPENED, KEY = '"kind":"opened"', '"kind":"key"'
MADE_EPOCH = '"kind":"closed"', '"kind":"withdrawn"'


class Entry(NamedTuple):
    """A row of `entries`."""

    number: int
    body: str
    hash: str


class LedgerTree:
    """Follows the entries of a ledger. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None  # of the call in progress
        self._tree = MerkleTree(self._leaves)
        self._head = Head(0, START, self._tree.root().hex())
        self._opened: list[int] = []  # [k]: the entry that opened round k + 1
        self._keys: dict[int, list[int]] = {}  # entries about the key of a client
        self._made: list[str] = []  # [k]: the entry that made epoch k + 1, by its hash

    @property
    def head(self) -> Head:
        """The head of all entries that it has followed."""
        return self._head

    def history(self, epoch: int) -> str | None:
        """An epoch and a hash of all that led to it, "5-0123456789abcdef": the hash of the entry
        that made it covers every entry before. None: it has not followed so far."""
        return self._made[epoch - 1] if 0 < epoch <= len(self._made) else None

    def extend(self, new: Sequence[Entry]) -> bool:
        """With entries that were just committed. False: some before them are missing."""
        with self._lock:
            fresh = [entry for entry in new if entry.number > self._tree.size]
            if fresh and fresh[0].number != self._tree.size + 1:
                return False
            self._append(fresh)
            return True

    def follow(self, connection: Connection) -> Head:
        """Read what others have added."""
        with self._lock:
            query = select(entries).where(entries.c.number > self._tree.size)
            rows = connection.execute(query.order_by(entries.c.number).execution_options(
                yield_per=1000
            ))  # fmt: skip
            self._append(Entry(*row) for row in rows)
            return self._head

    def prove(self, connection: Connection, client: int, since: int, round: int | None) -> Proof:
        """That the ledger extends its first `since` entries, and holds what the client did in this
        round (0: the keys that it registered)."""
        head = self.follow(connection)
        with self._lock:
            self._connection = connection
            try:
                grown = [node.hex() for node in self._tree.consistency(since, head.number)]
                own = [] if round is None else self._own(connection, client, round)
                found = [
                    Inclusion(entry.number, entry.body, [
                        node.hex() for node in self._tree.inclusion(entry.number - 1, head.number)
                    ])
                    for entry in own
                ]  # fmt: skip
            finally:
                self._connection = None
        return Proof(head, grown, found)

    def _append(self, new: Iterable[Entry]) -> None:
        last = None
        for last in new:
            self._tree.append(leaf(last.body.encode()))
            if OPENED in last.body:
                self._opened.append(last.number)
            elif KEY in last.body:
                client = json.loads(last.body)["client"]
                self._keys.setdefault(client, []).append(last.number)
            elif any(mark in last.body for mark in MADE_EPOCH):
                self._made.append(f"{len(self._made) + 1}-{last.hash[:DIGEST]}")
        if last is not None:
            self._head = Head(last.number, last.hash, self._tree.root().hex())

    def _own(self, connection: Connection, client: int, round: int) -> list[Entry]:
        """Entries of this client alone: what others did, and were paid, is not its business."""
        number = entries.c.number
        if round == 0:
            which = number.in_(self._keys.get(client, []))
        elif round <= len(self._opened):
            first, after = self._opened[round - 1], self._opened[round : round + 1]
            which = number.between(first, after[0] - 1 if after else self._tree.size)
        else:
            return []
        rows = connection.execute(select(entries).where(which).order_by(number))
        found = [Entry(*row) for row in rows]
        return [entry for entry in found if _of(json.loads(entry.body), client, round)]

    def _leaves(self, first: int, end: int) -> list[bytes]:
        assert self._connection is not None  # only proofs read leaves again
        query = select(entries.c.body).where(entries.c.number.between(first + 1, end))
        return [leaf(body.encode()) for body in self._connection.scalars(
            query.order_by(entries.c.number)
        )]  # fmt: skip


def _of(body: dict[str, Any], client: int, round: int) -> bool:
    kinds = ("key",) if round == 0 else ("uploaded", "answered", "delivered", "barred")
    return body["kind"] in kinds and body["client"] == client
