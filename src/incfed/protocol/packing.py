"""How dV is packed for sending: as an upper triangle or a triangular factor, never as observations.

A client with fewer steps than dimensions sends the triangular factor R of its rows (X = Q R, so
R'R = X'X = dV): it is smaller than the rows, and none of its rows is an observation. With it goes
db = X'y = R'(Q'y), as its coordinates in the rows of R. Otherwise the upper triangle of dV is
smaller.

Both ends have to know the same R, to the last bit, on any processor. So the rows are rotated into
it one by one, by operations that all processors round alike: it does not matter either how many
came together. The same holds for what a client streams, because it signs the sum.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from typing import NamedTuple

import numpy as np

from ..kernels.pending import Pending
from ..types import Floats
from .floats import to_bytes

TRIANGLE, FACTOR = "triangle", "factor"
DIGEST = 16  # hexadecimal digits by which an upload is named
SPANNED = 1e-12  # relative error of coordinates: far above rounding, far below what matters


class Packed(NamedTuple):
    """A symmetric d x d matrix: its upper triangle row by row, or a factor of it, row by row."""

    form: str
    dim: int
    numbers: Floats

    @property
    def rank(self) -> int:
        """Number of rows of a factor; 0 for a triangle, whose rank is unknown, and for no data."""
        return len(self.numbers) // self.dim if self.form == FACTOR else 0

    def rows(self) -> Floats:
        """The factor R."""
        return self.numbers.reshape(-1, self.dim)

    def scalars(self) -> Floats:
        """The numbers that are sent: of a factor, those on and above the diagonal, row by row."""
        if self.form == TRIANGLE:
            return self.numbers
        R = self.rows()
        return np.concatenate([np.empty(0), *(R[i, i:] for i in range(len(R)))])

    def digest(self) -> str:
        """The first 64 bits of the digest that the ledger has of an upload."""
        return hashlib.sha256(to_bytes(self.numbers)).hexdigest()[:DIGEST]

    def checksum(self) -> int:
        """A checksum that tells whether both ends have the same factor."""
        return zlib.crc32(to_bytes(self.numbers))

    def matrix(self) -> Floats:
        """The full matrix."""
        if self.form == FACTOR:
            R = self.rows()
            return np.asarray(R.T @ R)
        full, end = np.zeros((self.dim, self.dim)), 0
        for k in range(self.dim):  # row by row takes a quarter of the time of all indices at once
            begin, end = end, end + self.dim - k
            full[k, k:] = full[k:, k] = self.numbers[begin:end]
        return full


def unpack(form: str, rank: int, dim: int, scalars: Floats) -> Packed:
    """From what was sent, of the right number of scalars; `rank`: of a factor."""
    if form == TRIANGLE:
        return Packed(TRIANGLE, dim, scalars)
    R, end = np.zeros((rank, dim)), 0
    for k in range(rank):
        begin, end = end, end + dim - k
        R[k, k:] = scalars[begin:end]
    return Packed(FACTOR, dim, R.ravel())


def pack_rows(rows: Floats) -> Packed:
    """dV of r rows (r < d), as their triangular factor."""
    dim = rows.shape[1]
    return Packed(FACTOR, dim, _rotate(np.empty((0, dim)), rows).ravel())


def pack_matrix(V: Floats) -> Packed:
    """The upper triangle of V."""
    return Packed(TRIANGLE, len(V), np.concatenate([V[k, k:] for k in range(len(V))]))


def add_rows(packed: Packed, rows: Floats) -> Packed:
    """dV with more rows."""
    if packed.form == FACTOR and packed.rank + len(rows) < packed.dim:
        return Packed(FACTOR, packed.dim, _rotate(packed.rows(), rows).ravel())
    return pack_matrix(_add_squares(packed, rows))


def _add_squares(packed: Packed, rows: Floats) -> Floats:
    """dV of all of them, row by row: rounded alike on all processors, like a factor."""
    if packed.form == TRIANGLE:
        V = packed.matrix()
    else:
        V = np.zeros((packed.dim, packed.dim))
        for n, x in enumerate(packed.rows()):
            V[n:, n:] += np.multiply.outer(x[n:], x[n:])  # it is triangular
    for x in rows:
        V += np.multiply.outer(x, x)
    return V


def gather(uploads: list[Packed], dim: int) -> Pending:
    """The uploads of several clients as `Pending`: factors as rows, triangles as matrices."""
    factors = [upload for upload in uploads if upload.form == FACTOR]
    grams = [upload.matrix() for upload in uploads if upload.form == TRIANGLE]
    dense = np.full(len(uploads), -1)
    dense[[upload.form == TRIANGLE for upload in uploads]] = np.arange(len(grams))
    return Pending.of(
        rows=np.concatenate([np.empty((0, dim)), *(upload.rows() for upload in factors)]),
        start=np.cumsum([0] + [upload.rank for upload in uploads]),
        grams=np.array(grams).reshape(-1, dim, dim),
        dense=dense,
    )


def _rotate(R: Floats, rows: Floats) -> Floats:
    """The triangular factor of R and these rows, by Givens rotations. All operations are single
    ones on elements: no sums that a processor may reorder, no fused multiply-adds."""
    old = len(R)
    R = np.concatenate([R, rows])
    for n in range(old, len(R)):
        x = R[n].copy()
        for i in range(n):
            a, b = float(R[i, i]), float(x[i])
            if b == 0.0:
                continue
            scale = max(abs(a), abs(b))
            a, b = a / scale, b / scale
            length = math.sqrt(a * a + b * b)
            c, s = a / length, b / length
            upper = c * R[i, i:] + s * x[i:]
            x[i:] = c * x[i:] - s * R[i, i:]
            R[i, i:] = upper
            x[i] = 0.0
        x[:n] = 0.0
        R[n] = x
    return R


def coordinates(packed: Packed, b: Floats) -> Floats | None:
    """The shortest c with b = R'c; None if b is not in the span of the rows of R."""
    R = packed.rows()
    c: Floats = np.empty(0)
    if len(R):
        c = np.asarray(np.linalg.lstsq(R.T, b, rcond=None)[0], np.float64)
    error = np.abs(combine(packed, c) - b).max(initial=0.0)
    return c if error <= SPANNED * np.abs(b).max(initial=0.0) else None


def combine(packed: Packed, c: Floats) -> Floats:
    """b = R'c, rounded alike on all processors."""
    b = np.zeros(packed.dim)
    with np.errstate(over="ignore", invalid="ignore"):
        for row, factor in zip(packed.rows(), c, strict=True):
            b = b + factor * row
    return b
