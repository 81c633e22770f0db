"""Resale: is what a client uploads only what it has downloaded?

That is V_g of some epoch, or the difference of two (epoch 0 has none), up to scale. For E epochs
there are E^2 / 2 differences, and V_g of old ones may be pruned, so nothing is compared number by
number. A *sketch* s keeps of V_g k sums of its numbers with fixed random signs. It is linear, and
nearly as long as V_g (Johnson and Lindenstrauss). If a dV with sketch u is a multiple of V_j - V_i,
then s_j - s_i is one of u, that is, with P the projection along u,

    P s_j = P s_i:

a pair of equal points, which sorting finds among E points.

Where clients choose among a few arms, data of honest ones coincides, too. That shows when the news
of two rounds are multiples of one another: data that goes in no more directions than such news is
then not taken for resale. Nor is data almost in one direction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ..types import Floats, Ints
from .checks import Refusal
from .packing import Packed, pack_matrix

SUMS = 16  # k
SAME = 1e-6  # relative: closer to what was downloaded is the same
SURELY = 3.0  # by so much may a sketch exaggerate a difference
REPEATED = 1e-9  # relative: nearer news are the same, but for rounding
ALIKE = 1.002  # directions: data almost in one direction is almost the same for everybody


class Sketch(NamedTuple):
    """A few sums that stand for V_g of an epoch, and the directions of its news."""

    sums: Floats  # [k]
    directions: float  # in which the news since the epoch before goes; 0: not known


def sketch(V: Floats) -> Floats:
    return np.asarray(_signs(len(V)) @ pack_matrix(V).numbers)


def directions(V: Floats) -> float:
    """In how many directions data goes: from 1, for a single one, to d, for all alike."""
    square = float((V * V).sum())
    return float(np.trace(V)) ** 2 / square if square else 0.0


@lru_cache(maxsize=4)
def _signs(dim: int) -> Floats:
    """Sketches are kept for years: so from a hash, not from a generator that may change."""
    size = dim * (dim + 1) // 2
    drawn = hashlib.shake_256(f"incfed sketch {dim}".encode()).digest(SUMS * size // 8 + 1)
    bits = np.unpackbits(np.frombuffer(drawn, np.uint8))[: SUMS * size]
    return bits.reshape(SUMS, size) * np.float64(2.0) - 1.0


class Downloaded:
    """Every V_g that clients have downloaded, by epoch, and the differences of any two."""

    def __init__(self, epochs: Sequence[Sketch]) -> None:
        self._sums = np.array([epoch.sums for epoch in epochs]).reshape(-1, SUMS)
        self._directions = np.array([epoch.directions for epoch in epochs])

    def first(self, count: int) -> Downloaded:
        """The downloads of the first `count` epochs, whose numbers are not copied."""
        some = Downloaded([])
        some._sums, some._directions = self._sums[:count], self._directions[:count]
        return some

    def check(self, dV: Packed) -> None:
        """Raise Refusal if dV is a multiple of what was downloaded."""
        V = dV.matrix()
        if directions(V) > self.usual and self._has(sketch(V)):
            allowed = (
                "data of your own: this is a multiple of V_g, or of the difference of two, that "
                "was downloaded (limits.refuse_resale)"
            )
            raise Refusal("dV", None, allowed)

    def _has(self, u: Floats) -> bool:
        """Is u a multiple of the difference of two?"""
        s, u = self._distinct, u / np.linalg.norm(u)
        points, near = s - np.outer(s @ u, u), SURELY * SAME
        longest = float(np.linalg.norm(s, axis=1).max(initial=0.0))
        return any(
            (np.linalg.norm(points[j] - points[i], axis=1) <= near * np.abs((s[j] - s[i]) @ u))
            .any(where=(s[j] != s[i]).any(axis=1))
            for i, j in _close(points, 2.0 * near * longest)
        )  # fmt: skip

    @cached_property
    def _distinct(self) -> Floats:
        """The sums without those of epochs that brought nothing, which are many where clients are
        seldom needed: all pairs of them would be compared."""
        s = self._sums
        return s[np.append(True, (s[1:] != s[:-1]).any(axis=1))] if len(s) else s

    @cached_property
    def usual(self) -> float:
        """In as many directions may data go that is the same by chance."""
        news, where = np.diff(self._sums, axis=0), self._directions[1:]
        news, where = news[where > ALIKE], where[where > ALIKE]
        news /= np.linalg.norm(news, axis=1, keepdims=True)
        repeated = [float(where[i].max()) for i, _ in _close(news, REPEATED) if len(i)]
        return max([ALIKE, *((1.0 + SAME) * number for number in repeated)])


def _close(points: Floats, reach: float) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of points whose coordinates differ by at most `reach`, some at a time: sorted by
    one coordinate, they are next to each other, or nearly so."""
    if len(points) < 2:
        return
    axis = int(np.argmax(np.ptp(points, axis=0)))
    order = np.argsort(points[:, axis], kind="stable")
    sorted = points[order]
    for apart in range(1, len(order)):
        [near] = np.nonzero(sorted[apart:, axis] - sorted[:-apart, axis] <= reach)
        if not len(near):
            return
        near = near[(np.abs(sorted[near + apart] - sorted[near]) <= reach).all(axis=1)]
        yield order[near], order[near + apart]
