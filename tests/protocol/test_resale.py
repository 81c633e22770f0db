"""What was downloaded is not bought back; what coincides by chance is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.protocol import resale
from incfed.protocol.checks import Refusal
from incfed.protocol.packing import pack_matrix
from incfed.protocol.resale import ALIKE, Downloaded, Sketch, directions, sketch
from incfed.types import Ints
from reference.mechanisms import FloatArray


def downloads(news: list[FloatArray]) -> tuple[Downloaded, list[FloatArray]]:
    """After rounds that brought this, and V_g of all epochs."""
    V = [np.zeros_like(news[0])]
    sketches = [Sketch(sketch(V[0]), 0.0)]
    for D in news:
        V.append(V[-1] + D)
        sketches.append(Sketch(sketch(V[-1]), directions(D)))
    return Downloaded(sketches), V


def refused(known: Downloaded, V: FloatArray) -> bool:
    try:
        known.check(pack_matrix(V))
    except Refusal:
        return True
    return False


def gram(chance: np.random.Generator, n: int, d: int) -> FloatArray:
    x = chance.standard_normal((n, d))
    return np.asarray(x.T @ x)


def symmetric(chance: np.random.Generator, d: int) -> FloatArray:
    """Of length 1."""
    x = chance.standard_normal((d, d))
    return np.asarray((x + x.T) / np.linalg.norm(x + x.T))


@given(st.integers(2, 8), st.integers(1, 30), st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_the_difference_of_any_two_epochs_is_resale(
    d: int, rounds: int, seed: int, scale: float
) -> None:
    chance = np.random.default_rng(seed)
    known, V = downloads([gram(chance, 3 * d, d) for _ in range(rounds)])
    for i, j in list(combinations(range(rounds + 1), 2))[:: max(1, rounds * rounds // 20)]:
        D = scale * (V[j] - V[i])
        noise = np.linalg.norm(D) * symmetric(chance, d)
        assert refused(known, D)
        assert refused(known, D + 3e-7 * noise)
        assert not refused(known, D + 1e-3 * noise) or d == 2  # where pairs are dense
    assert not refused(known, gram(chance, 3 * d, d))


@given(st.integers(3, 8), st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_what_was_taken_out_again_is_resale(d: int, rounds: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    news = [gram(chance, 3 * d, d) for _ in range(rounds)]
    known, V = downloads([*news, -news[0]])
    assert refused(known, V[-1])
    assert refused(known, 2.0 * news[0])


def test_data_in_one_direction_is_everybody_s() -> None:
    x = np.array([[0.6, 0.8, 0.0]])
    known, _ = downloads([7.0 * x.T @ x])
    assert not refused(known, 40.0 * x.T @ x)
    assert not refused(downloads([np.eye(1)])[0], 3.0 * np.eye(1))


def test_nothing_downloaded() -> None:
    assert not refused(Downloaded([]), np.eye(3))
    assert not refused(downloads([np.zeros((3, 3))])[0], np.eye(3))


def test_few_arms_show() -> None:
    """Two rounds that brought the same, up to scale: then equal data proves nothing, unless it goes
    in more directions."""
    two, three = np.diag([2.0, 2.0, 0.0]), np.diag([1.0, 1.0, 1.0])
    known, _ = downloads([two, three])
    assert (known.usual, refused(known, two), refused(known, three)) == (ALIKE, True, True)
    known, _ = downloads([two, three, 2.0 * two])
    assert known.usual == pytest.approx(2.0, rel=1e-5)
    assert (refused(known, two), refused(known, three)) == (False, True)
    known, _ = downloads([two, three, 2.0 * two, 5.0 * three])
    assert not refused(known, three)


def test_honest_clients_with_few_arms_can_share() -> None:
    """Five arms, one-hot, mostly the best: after the first rounds hardly anybody is refused."""
    chance = np.random.default_rng(1)
    news: list[FloatArray] = []
    late = []
    for round in range(150):
        counts = chance.multinomial(8, [0.6, 0.1, 0.1, 0.1, 0.1], size=4).astype(float)
        if news:
            known, _ = downloads(news)
            turned = [refused(known, np.diag(one)) for one in counts]
            late += turned if round > 20 else []
        news.append(np.diag(counts.sum(axis=0)))
    assert sum(late) <= 0.02 * len(late)


@given(st.integers(2, 4), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_what_was_known_after_fewer_epochs(d: int, rounds: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    news = [gram(chance, 3 * d, d) for _ in range(rounds)]
    news.insert(1, news[0])  # by chance
    known, V = downloads(news)
    for count in range(1, rounds + 1):
        slow, _ = downloads(news[:count])
        quick = known.first(count + 1)
        assert quick.usual == slow.usual
        for j in range(1, len(V)):
            assert refused(quick, V[j] - V[j - 1]) == refused(slow, V[j] - V[j - 1])


def test_epochs_that_brought_nothing_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there may be where clients are seldom needed; what they lie between is still
    recognised."""
    chance = np.random.default_rng(3)
    first, last = gram(chance, 9, 3), gram(chance, 9, 3)
    known, V = downloads([first, *[np.zeros((3, 3))] * 200, last])
    compared = list[int]()

    def counted(points: FloatArray, reach: float) -> Iterator[tuple[Ints, Ints]]:
        for i, j in close(points, reach):
            compared.append(len(i))
            yield i, j

    close = resale._close
    monkeypatch.setattr(resale, "_close", counted)
    assert not refused(known, gram(chance, 9, 3))
    assert sum(compared) < 10
    assert [refused(known, D) for D in (first, last, V[-1])] == [True] * 3
