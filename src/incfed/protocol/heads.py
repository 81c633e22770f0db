"""The head of a ledger, as replies carry it, and the proofs that belong to it."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

from ..support import merkle


class Head(NamedTuple):
    """The number and the hash of the last entry, and the Merkle root of all entries."""

    number: int
    hash: str
    root: str

    def __str__(self) -> str:
        return f"{self.number} {self.hash} {self.root}"

    @classmethod
    def read(cls, text: str) -> Self:
        """ValueError if it is no head."""
        found = re.fullmatch(r"(\d{1,18}) ([0-9a-f]{64}) ([0-9a-f]{64})", text)
        if found is None:
            raise ValueError("not the head of a ledger")
        return cls(int(found[1]), found[2], found[3])

    def includes(self, one: Inclusion) -> bool:
        """Is that entry proved to be in this ledger?"""
        leaf = merkle.leaf(one.body.encode())
        path, root = _hashes(one.path), bytes.fromhex(self.root)
        return merkle.includes(root, self.number, one.number - 1, leaf, path)

    def extends(self, older: Head, proof: list[str]) -> bool:
        """Is this ledger proved to begin with the older one?"""
        then, now = bytes.fromhex(older.root), bytes.fromhex(self.root)
        return merkle.extends(then, older.number, now, self.number, _hashes(proof))


class Inclusion(NamedTuple):
    """An entry, and the hashes that prove that it is in the ledger."""

    number: int
    body: str
    path: list[str]


class Proof(NamedTuple):
    head: Head
    consistency: list[str]  # from the older head that was asked about
    entries: list[Inclusion]


def _hashes(texts: list[str]) -> list[bytes]:
    return [bytes.fromhex(one) if re.fullmatch("[0-9a-f]{64}", one) else b"" for one in texts]
