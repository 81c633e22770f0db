"""How matrices and vectors are packed: small, exact, and the same bits at both ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.protocol.packing import (
    Packed,
    add_rows,
    combine,
    coordinates,
    pack_matrix,
    pack_rows,
    unpack,
)
from incfed.protocol.traffic import packed_matrix
from reference.mechanisms import FloatArray

DIM = 6


@st.composite
def some_rows(draw: st.DrawFn) -> FloatArray:
    """Fewer than d, also dependent ones, zeros and very short ones."""
    values = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-200, 3e-9, -0.1])
    count = draw(st.integers(0, DIM - 1))
    numbers = draw(st.lists(values, min_size=count * DIM, max_size=count * DIM))
    rows = np.array(numbers, float).reshape(-1, DIM)
    if draw(st.booleans()):
        chance = np.random.default_rng(draw(st.integers(0, 99)))
        rows += chance.standard_normal(rows.shape)
    return rows


def literal(rows: FloatArray) -> list[list[float]]:
    """The same rotations on plain numbers, one at a time."""
    R: list[list[float]] = []
    for row in rows.tolist():
        x = list(row)
        for i, upper in enumerate(R):
            a, b = upper[i], x[i]
            if b == 0.0:
                continue
            scale = max(abs(a), abs(b))
            length = math.sqrt(a / scale * (a / scale) + b / scale * (b / scale))
            c, s = a / scale / length, b / scale / length
            for j in range(i, DIM):
                upper[j], x[j] = c * upper[j] + s * x[j], c * x[j] - s * upper[j]
            x[i] = 0.0
        R.append([0.0] * len(R) + x[len(R) :])
    return R


@given(some_rows(), st.integers(0, DIM))
def test_the_factor_is_the_same_however_the_rows_came(rows: FloatArray, cut: int) -> None:
    packed = pack_rows(rows)
    together = add_rows(pack_rows(rows[:cut]), rows[cut:])
    assert together.numbers.tobytes() == packed.numbers.tobytes()
    assert (packed.rows() == np.array(literal(rows)).reshape(-1, DIM)).all()
    assert not np.tril(packed.rows(), -1).any()
    np.testing.assert_allclose(packed.matrix(), rows.T @ rows, rtol=1e-12, atol=1e-12)


@given(some_rows())
def test_what_is_sent_is_counted_and_comes_back(rows: FloatArray) -> None:
    packed = pack_rows(rows)
    sent = packed.scalars()
    assert len(sent) == packed_matrix(np.array(len(rows)), DIM)
    again = unpack("factor", len(rows), DIM, sent)
    assert again.numbers.tobytes() == packed.numbers.tobytes()
    assert again.checksum() == packed.checksum()


@given(some_rows(), st.integers(0, 99))
def test_a_vector_is_sent_as_its_coordinates(rows: FloatArray, seed: int) -> None:
    """They are not much longer than the rewards that made it, whatever the rows."""
    y = np.random.default_rng(seed).uniform(-1.0, 1.0, len(rows))
    packed, db = pack_rows(rows), rows.T @ y
    c = coordinates(packed, db)
    assert c is not None
    assert len(c) == len(rows)
    assert np.linalg.norm(c) <= np.linalg.norm(y) + 1.0  # rounding, if rows are nearly dependent
    np.testing.assert_allclose(combine(packed, c), db, rtol=1e-12, atol=1e-12)


def test_a_vector_outside_the_span_has_none() -> None:
    packed = pack_rows(np.eye(3)[:1])
    assert coordinates(packed, np.array([0.5, 1e-6, 0.0])) is None
    assert coordinates(packed, np.zeros(3)) is not None
    assert coordinates(Packed("factor", 3, np.empty(0)), np.ones(3)) is None


def test_a_triangle_is_sent_as_it_is() -> None:
    V = np.array([[2.0, 1.0], [1.0, 3.0]])
    packed = pack_matrix(V)
    assert packed.scalars().tolist() == [2.0, 1.0, 3.0]
    assert (unpack("triangle", 2, 2, packed.scalars()).matrix() == V).all()


@pytest.mark.parametrize("rank", range(4))
def test_the_shape_of_a_trapezoid(rank: int) -> None:
    """By hand: rows of 4, 3, 2, ... numbers."""
    numbers = np.arange(1.0, 1.0 + sum([4, 3, 2][:rank]))
    R = unpack("factor", rank, 4, numbers).rows()
    expected = [[1, 2, 3, 4], [0, 5, 6, 7], [0, 0, 8, 9]][:rank]
    assert R.tolist() == expected


def test_rows_add_up_by_operations_that_round_alike() -> None:
    """Written out with Python's floats, in order; bit for bit, because clients sign the sum."""
    chance = np.random.default_rng(4)
    rows = chance.standard_normal((7, 3))
    packed = add_rows(pack_rows(rows[:1]), rows[1:2])
    assert packed.form == "factor"
    parts = packed.rows().tolist()
    for more in (rows[2:3], rows[3:6], rows[6:]):
        packed = add_rows(packed, more)
        parts += more.tolist()
        sums = [[0.0] * 3 for _ in range(3)]
        for x in parts:
            for i in range(3):
                for j in range(3):
                    sums[i][j] += x[i] * x[j]
        assert packed.form == "triangle"
        assert packed.numbers.tolist() == [sums[i][j] for i in range(3) for j in range(i, 3)]
