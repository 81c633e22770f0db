"""The client's half of Algorithm 1 against sums and determinants written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incfed.kernels.ucb import Rules
from incfed.protocol.client import REFRESH, Learner
from incfed.protocol.messages import Download
from incfed.protocol.packing import FACTOR, TRIANGLE, pack_matrix, pack_rows
from reference.mechanisms import FloatArray
from support.worlds import SHAPES, features

NEAR = 1e-9


def rules(ridge: float = 0.1, threshold: float = math.inf, exploration: float = math.nan) -> Rules:
    return Rules(ridge, 0.1, 2 * math.log(10), exploration, False, threshold, True, 1)


def news(epoch: int, since: int | None, V: FloatArray, b: FloatArray, *shared: int) -> Download:
    return Download(epoch, since, pack_matrix(V), b, dict.fromkeys(shared, 1.0))


class Literal:
    """The same client as lists of rows, plain inverses and determinants."""

    def __init__(self, dim: int, rules: Rules) -> None:
        self.dim, self.rules = dim, rules
        self.V, self.b = np.zeros((dim, dim)), np.zeros(dim)
        self.frozen: list[tuple[FloatArray, float]] = []
        self.fresh: list[tuple[FloatArray, float]] = []
        self.clock = 0

    def own(self) -> tuple[FloatArray, FloatArray]:
        V, b = self.V + self.rules.ridge * np.eye(self.dim), self.b.copy()
        for x, y in self.frozen + self.fresh:
            V, b = V + np.outer(x, x), b + y * x
        return V, b

    def scores(self, arms: FloatArray) -> FloatArray:
        V, b = self.own()
        r, inverse = self.rules, np.linalg.inv(V)
        growth = np.linalg.slogdet(V)[1] - self.dim * math.log(r.ridge)
        alpha = r.exploration
        if math.isnan(alpha):
            alpha = r.noise * math.sqrt(growth + r.surprise) + math.sqrt(r.ridge)
        width = np.sqrt(np.einsum("kd,de,ke->k", arms, inverse, arms))
        return np.asarray(arms @ inverse @ b + alpha * width)

    def pressure(self) -> float:
        shared = self.V + self.rules.ridge * np.eye(self.dim)
        return float(
            self.clock * (np.linalg.slogdet(self.own()[0])[1] - np.linalg.slogdet(shared)[1])
        )

    def gram(self, part: list[tuple[FloatArray, float]]) -> tuple[FloatArray, FloatArray]:
        V, b = np.zeros((self.dim, self.dim)), np.zeros(self.dim)
        for x, y in part:
            V, b = V + np.outer(x, x), b + y * x
        return V, b


@settings(max_examples=100)
@given(
    dim=st.integers(1, 8),
    shape=st.sampled_from(SHAPES),
    ridge=st.sampled_from([0.01, 0.1, 5.0]),
    threshold=st.sampled_from([0.0, 0.5, 20.0]),
    exploration=st.sampled_from([math.nan, 0.3]),
    acts=st.lists(st.sampled_from("llllllfrsnw"), max_size=60),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_life_of_a_client(
    dim: int, shape: str, ridge: float, threshold: float, exploration: float, acts: str, seed: int
) -> None:
    """l: choose and learn, f: freeze, r: round closed without it, s: it was shared, n: news while
    the round is open, w: the whole statistics."""
    chance = np.random.default_rng(seed)
    r = rules(ridge, threshold, exploration)
    fast, slow = Learner(dim, r), Literal(dim, r)
    epoch, round = 0, 0
    for act in acts:
        if act == "l":
            arms = features(chance, shape, 1, 4, dim)[0]
            scores = slow.scores(arms)
            picked = fast.choose(arms)
            assert scores[picked] >= scores.max() - 2e-9
            x, y = arms[picked].copy(), float(chance.standard_normal())
            called = fast.learn(x, y)
            slow.fresh.append((x.copy(), y))
            slow.clock += 1
            x[:] = np.nan  # the caller may do as it likes with it
            pressure = slow.pressure()
            if abs(pressure - threshold) > NEAR * (1 + pressure):
                assert called == (pressure > threshold)
        elif act == "f":
            if fast.frozen is None:
                round += 1
                slow.frozen, slow.fresh = slow.fresh, []
            upload = fast.freeze(round, 3.0)
            V, b = slow.gram(slow.frozen)
            assert (upload.round, upload.epoch, upload.steps) == (round, epoch, len(slow.frozen))
            assert upload.cost == (3.0 if slow.frozen else 0.0)
            assert upload.dV.form == (FACTOR if len(slow.frozen) < dim else TRIANGLE)
            np.testing.assert_allclose(upload.dV.matrix(), V, atol=1e-12)
            np.testing.assert_allclose(fast.deliver(round), b, atol=1e-12)
        else:
            epoch += 1
            rows = features(chance, shape, 3, 1, dim)[:, 0]
            dV, db = rows.T @ rows, rows.sum(axis=0)
            whole = act == "w"
            slow.V, slow.b, slow.clock = slow.V + dV, slow.b + db, 0
            fast.take_in(
                news(
                    epoch,
                    None if whole else epoch - 1,
                    slow.V if whole else dV,
                    slow.b if whole else db,
                    *([round] if act == "s" else []),
                ),
                closed=act != "n",
            )
            if act == "s":
                slow.frozen = []
            elif act != "n":
                slow.frozen, slow.fresh = [], slow.frozen + slow.fresh
        V, b = slow.gram(slow.frozen + slow.fresh)
        assert fast.pending.steps == len(slow.frozen) + len(slow.fresh)
        np.testing.assert_allclose(fast.pending.V, V, atol=1e-12)
        np.testing.assert_allclose(fast.pending.b, b, atol=1e-12)
        expected = np.linalg.slogdet(slow.own()[0])[1]
        assert fast.logdet == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert fast.epoch == epoch


def learner(steps: int, dim: int = 3) -> Learner:
    one = Learner(dim, rules())
    chance = np.random.default_rng(0)
    for x in chance.standard_normal((steps, dim)):
        one.learn(x, 1.0)
    return one


def test_what_is_frozen_stays_as_it_was() -> None:
    one = learner(2)
    first, db = one.freeze(7, 1.0), one.deliver(7)
    one.learn(np.ones(3), 5.0)
    again = one.freeze(7, 1.0)
    assert again[:4] == first[:4]
    assert again.dV.numbers.tobytes() == first.dV.numbers.tobytes()
    assert one.deliver(7).tobytes() == db.tobytes()
    assert one.pending.steps == 3


def test_another_round_is_not_told_what_may_have_been_shared() -> None:
    one = learner(2)
    one.freeze(7, 1.0)
    with pytest.raises(ValueError, match="still frozen for round 7"):
        one.freeze(8, 1.0)
    with pytest.raises(ValueError, match="round 8"):
        one.deliver(8)
    assert one.frozen is not None
    assert one.frozen[0] == 7
    assert one.frozen[1].steps == 2


def test_news_while_the_round_is_open_unfreezes_nothing() -> None:
    one = learner(2)
    before = one.freeze(7, 1.0)
    one.take_in(news(1, 0, np.eye(3), np.ones(3)), closed=False)
    after = one.freeze(7, 1.0)
    assert after.epoch == 1
    assert after.dV.numbers.tobytes() == before.dV.numbers.tobytes()
    one.take_in(news(2, 1, np.eye(3), np.ones(3), 7), closed=False)
    assert one.frozen is None
    assert one.pending.steps == 0


def test_a_download_since_another_epoch_changes_nothing() -> None:
    one = learner(2)
    one.freeze(1, 1.0)
    with pytest.raises(ValueError, match="since epoch 4"):
        one.take_in(news(5, 4, np.eye(3), np.ones(3), 1))
    assert one.frozen is not None
    assert one.epoch == 0
    assert one.clock == 2


@given(st.integers(1, 8), st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_a_factor_is_no_list_of_choices(dim: int, steps: int, seed: int) -> None:
    """R'R = X'X, and with two or more rows none of R is one of X."""
    rows = np.random.default_rng(seed).standard_normal((min(steps, dim - 1), dim))
    packed = pack_rows(rows)
    assert packed.rank == len(rows)
    np.testing.assert_allclose(packed.matrix(), rows.T @ rows, atol=1e-12)
    if len(rows) > 1:
        for row in packed.rows():
            assert np.abs(np.abs(rows) - np.abs(row)).max(axis=1).min() > 1e-9


@pytest.mark.parametrize("ridge", [0.1, 2.0])
@pytest.mark.parametrize("rank", [5, 10])
def test_a_long_life_does_not_drift(ridge: float, rank: int) -> None:
    """30,000 steps, news now and then; also in directions that were never tried."""
    dim, chance = 10, np.random.default_rng(1)
    basis = np.linalg.qr(chance.standard_normal((dim, dim)))[0]
    items = chance.standard_normal((300, rank)) @ basis[:rank]
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    one, times, V_g = Learner(dim, rules(ridge)), np.zeros(300), np.zeros((dim, dim))
    for t, k in enumerate(chance.integers(0, 300, 30_000)):
        one.learn(items[k], 0.5)
        times[k] += 1
        if t % 10_007 == 10_006:
            one.take_in(news(one.epoch + 1, one.epoch, items.T @ items, np.ones(dim)))
            V_g += items.T @ items
    V = (items.T * times) @ items + V_g + ridge * np.eye(dim)
    assert one.epoch == 2
    assert one._age == (30_000 - 2 * 10_007) % REFRESH, "made afresh now and then"
    np.testing.assert_allclose(one._U @ V @ one._U.T, np.eye(dim), atol=1e-8)
    assert one.logdet == pytest.approx(np.linalg.slogdet(V)[1], abs=1e-8)
    b = 0.5 * items.T @ times + one.epoch * np.ones(dim)
    np.testing.assert_allclose(one._U.T @ one._t, np.linalg.solve(V, b), atol=1e-7)


def test_own_data_that_the_federation_lost_is_not_subtracted() -> None:
    """A restored ledger may lack what this client shared: what is left counts as others' then."""
    one = Learner(3, rules(), 1.0)
    for x in np.random.default_rng(0).standard_normal((30, 3)):
        one.learn(x, 1.0)
    one.freeze(1, 0.0)
    one.take_in(news(1, None, 0.1 * np.eye(3), np.ones(3), 1))
    assert one.own.steps == 0
    assert one._models is not None
    U, t, _ = one._models.best(one.own.scores, one.known)
    assert np.abs(U.T @ t).max() < 10.0


def test_what_was_withdrawn_is_not_subtracted() -> None:
    """Others' data covers what the client shared, so that only the download can tell."""
    learner = Learner(2, rules(), trust=5.0)
    x, others = np.array([0.6, 0.2]), 10.0 * np.eye(2)
    learner.learn(x, 1.0)
    learner.freeze(1, 0.0)
    learner.take_in(Download(1, None, pack_matrix(others + np.outer(x, x)), x, {1: 0.0}))
    learner.learn(x, 1.0)
    learner.freeze(2, 0.0)
    learner.learn(x, 1.0)
    V = pack_matrix(others + np.outer(x, x))  # epoch 2 withdrew round 1, and round 2 made epoch 3
    learner.take_in(Download(3, None, V, x, {2: 0.0}, withdrawn=1))
    assert learner.own.steps == 2  # what was shared since, and what is pending
    np.testing.assert_allclose(learner.own.V, 2 * np.outer(x, x))
