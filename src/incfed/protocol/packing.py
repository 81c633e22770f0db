"""How dV is packed for sending: as an upper triangle or a triangular factor, never as observations.

A client with fewer steps than dimensions sends the triangular factor R of its rows (X = Q R, so
R'R = X'X = dV): it is as small as the rows, but none of its rows is an observation. Otherwise the
upper triangle of dV is smaller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.factor import Floats
from ..kernels.pending import Pending

TRIANGLE, FACTOR = "triangle", "factor"


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

    def matrix(self) -> Floats:
        """The full matrix."""
        if self.form == FACTOR:
            R = self.rows()
            return np.asarray(R.T @ R)
        full = np.zeros((self.dim, self.dim))
        upper = np.triu_indices(self.dim)
        full[upper] = self.numbers
        full.T[upper] = self.numbers
        return full


def pack_rows(rows: Floats) -> Packed:
    """dV of r rows (r < d), as their triangular factor."""
    dim = rows.shape[1]
    R = np.linalg.qr(rows, mode="r") if len(rows) else rows
    return Packed(FACTOR, dim, np.ascontiguousarray(R).ravel())


def pack_matrix(V: Floats) -> Packed:
    """The upper triangle of V."""
    return Packed(TRIANGLE, len(V), V[np.triu_indices(len(V))])


def add_rows(packed: Packed, rows: Floats) -> Packed:
    """dV with more rows."""
    if packed.form == FACTOR and packed.rank + len(rows) < packed.dim:
        return pack_rows(np.concatenate([packed.rows(), rows]))
    return pack_matrix(packed.matrix() + rows.T @ rows)


def gather(uploads: list[Packed], dim: int) -> Pending:
    """The uploads of several clients as `Pending`: factors as rows, triangles as matrices."""
    factors = [one for one in uploads if one.form == FACTOR]
    grams = [one.matrix() for one in uploads if one.form == TRIANGLE]
    dense = np.full(len(uploads), -1)
    dense[[one.form == TRIANGLE for one in uploads]] = np.arange(len(grams))
    return Pending.of(
        rows=np.concatenate([np.empty((0, dim)), *(one.rows() for one in factors)]),
        start=np.cumsum([0] + [one.rank for one in uploads]),
        grams=np.array(grams).reshape(-1, dim, dim),
        dense=dense,
    )
