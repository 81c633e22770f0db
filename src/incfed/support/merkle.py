"""A Merkle tree over a log, as in Certificate Transparency (RFC 9162, section 2.1).

The root is a digest of all entries in order. It takes a few hashes to prove that an entry is one of
them (inclusion), or that a longer log begins with a shorter one (consistency).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

BLOCK = 256  # leaves; hashes within a block are made again when they are needed
Read = Callable[[int, int], Sequence[bytes]]


def leaf(data: bytes) -> bytes:
    """The hash of an entry. The prefixes differ, so that no entry can pass for two others."""
    return hashlib.sha256(b"\x00" + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """MTH, of the leaves' hashes."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    k = _split(len(leaves))
    return node(root(leaves[:k]), root(leaves[k:]))


class MerkleTree:
    """Grows by one leaf at a time. `read(first, end)` returns the hashes of leaves again: only
    those of the last block are kept, and one hash for each block before it."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._levels: list[list[bytes]] = [[]]  # [k]: of BLOCK 2^k leaves each
        self._last: list[bytes] = []  # leaves of the block that is not full yet
        self.size = 0

    def append(self, leaf: bytes) -> None:
        self._last.append(leaf)
        self.size += 1
        if len(self._last) < BLOCK:
            return
        full, k = root(self._last), 0
        self._last = []
        self._levels[0].append(full)
        while len(self._levels[k]) % 2 == 0:
            full = node(*self._levels[k][-2:])
            k += 1
            if k == len(self._levels):
                self._levels.append([])
            self._levels[k].append(full)

    def root(self, size: int | None = None) -> bytes:
        """The root of the first so many leaves; None: of all."""
        return self._hash(0, self.size if size is None else size)

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """PATH: that this leaf is one of the first `size`."""
        return self._path(index, 0, size)

    def consistency(self, old: int, size: int) -> list[bytes]:
        """PROOF: that the first `size` leaves begin with the first `old`."""
        return self._proof(old, 0, size, True) if 0 < old < size else []

    def _path(self, index: int, low: int, high: int) -> list[bytes]:
        if high - low == 1:
            return []
        middle = low + _split(high - low)
        if index < middle:
            return [*self._path(index, low, middle), self._hash(middle, high)]
        return [*self._path(index, middle, high), self._hash(low, middle)]

    def _proof(self, old: int, low: int, high: int, known: bool) -> list[bytes]:
        """SUBPROOF; `known`: whoever checks it knows the root of the leaves from `low` to `old`."""
        if old == high:
            return [] if known else [self._hash(low, high)]
        middle = low + _split(high - low)
        if old <= middle:
            return [*self._proof(old, low, middle, known), self._hash(middle, high)]
        return [*self._proof(old, middle, high, False), self._hash(low, middle)]

    def _hash(self, low: int, high: int) -> bytes:
        """The hash of the leaves from `low` to `high`, a part into which the tree is split."""
        count = high - low
        if count <= BLOCK:
            first = self.size - len(self._last)
            if low >= first:
                return root(self._last[low - first : high - first])
            return self._levels[0][low // BLOCK] if count == BLOCK else root(self._read(low, high))
        k = (count // BLOCK).bit_length() - 1
        if count == BLOCK << k:
            return self._levels[k][low // count]
        middle = low + _split(count)
        return node(self._hash(low, middle), self._hash(middle, high))


def includes(root: bytes, size: int, index: int, leaf: bytes, path: Sequence[bytes]) -> bool:
    """Does the path prove that the leaf is in the tree? (RFC 9162, 2.1.3.2)"""
    if not 0 <= index < size:
        return False
    at, last, found = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if at % 2 or at == last:
            found = node(sibling, found)
            while at % 2 == 0 and at:
                at, last = at >> 1, last >> 1
        else:
            found = node(found, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def extends(old_root: bytes, old: int, new_root: bytes, new: int, proof: Sequence[bytes]) -> bool:
    """Does the proof show that the new tree begins with the old one? (RFC 9162, 2.1.4.2)"""
    if not 0 <= old <= new or (old in (0, new) and proof):
        return False
    if old in (0, new):
        return old == 0 or old_root == new_root
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        return False
    at, last = old - 1, new - 1
    while at % 2:
        at, last = at >> 1, last >> 1
    first = second = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if at % 2 or at == last:
            first, second = node(sibling, first), node(sibling, second)
            while at % 2 == 0 and at:
                at, last = at >> 1, last >> 1
        else:
            second = node(second, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and first == old_root and second == new_root


def _split(count: int) -> int:
    """The largest power of two that is smaller."""
    return 1 << ((count - 1).bit_length() - 1)
