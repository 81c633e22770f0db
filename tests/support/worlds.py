"""Small worlds and rounds of many shapes, for hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import incfed
from reference.mechanisms import FloatArray

MECHANISMS: dict[str, Callable[..., incfed.Mechanism]] = {
    "pay_everyone": incfed.PayEveryone,
    "payment_free": incfed.PaymentFree,
    "payment_efficient": incfed.PaymentEfficient,
    "truthful": incfed.Truthful,
}
Kind = tuple[str, dict[str, Any]]
Costs = float | list[float]

SHAPES = ["spread", "subspace", "few", "zeros", "unit"]


def features(
    chance: np.random.Generator, shape: str, steps: int, arms: int, dim: int
) -> FloatArray:
    """[T, K, d], spread out, on a subspace, one of a handful (ties, zeros too), or of length 1."""
    x: FloatArray = chance.standard_normal((steps, arms, dim))
    if shape == "subspace":
        half = (dim + 1) // 2
        x = x[..., :half] @ chance.standard_normal((half, dim))
    elif shape in ("few", "zeros"):
        few = chance.standard_normal((3, dim))
        few[0] *= shape == "few"
        x = few[chance.integers(0, 3, (steps, arms))]
        x *= 1.0 + 1e-13 * chance.standard_normal((steps, arms, 1))  # a tie all the same
    elif shape == "unit":
        x /= np.linalg.norm(x, axis=2, keepdims=True)
    return x


@st.composite
def traces(
    draw: st.DrawFn,
    count: tuple[int, int] = (1, 12),
    dim: tuple[int, int] = (1, 8),
    arms: tuple[int, int] = (1, 6),
    steps: tuple[int, int] = (1, 60),
    unknown: st.SearchStrategy[float] | None = None,
) -> incfed.Trace:
    """N 1-12, d 1-8, K 1-6; all clients act equally often, or the first far more than the last;
    every arm is new, or they come from a small table again and again. `unknown`: what share of the
    rewards nobody knows."""
    N, T = draw(st.integers(*count)), draw(st.integers(*steps))
    K, d = draw(st.integers(*arms)), draw(st.integers(*dim))
    shape = draw(st.sampled_from(SHAPES))
    size = draw(st.sampled_from([0.1, 1.0, 3.0]))
    skew = draw(st.sampled_from([0.0, 1.5]))
    pool = draw(st.sampled_from([None, None, 4, 30]))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shown: dict[str, Any]
    if pool is None:
        x = size * features(chance, shape, T, K, d)
        shown = {"arms": x}
    else:
        items = size * features(chance, shape, pool, 1, d)[:, 0]
        ids = chance.integers(0, pool, (T, K))
        x, shown = items[ids], {"arms": ids, "items": items}
    expected = x @ chance.standard_normal(d)
    weights = np.arange(1, N + 1) ** -skew
    trace = incfed.Trace(
        clients=chance.choice(N, T, p=weights / weights.sum()),
        rewards=expected + 0.1 * chance.standard_normal((T, 1)),
        expected=expected,
        count=N,
        **shown,
    )
    if unknown is not None:  # a Trace refuses what is not a number, so it is told afterwards
        trace.rewards[chance.random((T, K)) < draw(unknown)] = np.nan
    return trace


def prices(low: float, high: float) -> st.SearchStrategy[float]:
    """Costs of many magnitudes, from 10^low to 10^high; round ones, and none at all."""
    return st.one_of(
        st.sampled_from([0.0, 1.0, 10.0, 100.0]), st.floats(low, high).map(lambda e: float(10.0**e))
    )


def costs(count: int, low: float = -3, high: float = 6) -> st.SearchStrategy[Costs]:
    """One for all, or one each."""
    one = prices(low, high)
    return st.one_of(one, st.lists(one, min_size=count, max_size=count))


BETAS = st.one_of(st.sampled_from([0.0, 0.01, 0.3, 0.7, 1.0]), st.floats(0, 1))


def efficient(beta: st.SearchStrategy[float] = BETAS) -> st.SearchStrategy[Kind]:
    """PaymentEfficient with every combination of its options."""
    options = st.fixed_dictionaries(
        {
            "beta": beta,
            "order": st.sampled_from(["descending", "ascending"]),
            "payment_free": st.booleans(),
            "iterative": st.booleans(),
            "absorb": st.booleans(),
        }
    )
    return options.map(lambda chosen: ("payment_efficient", chosen))


def mechanisms() -> st.SearchStrategy[Kind]:
    plain: list[Kind] = [("pay_everyone", {}), ("payment_free", {})]
    return st.one_of(st.sampled_from(plain), efficient(), efficient())


@st.composite
def settings_of_a_run(
    draw: st.DrawFn, thresholds: tuple[float, ...] = (0.0, 1e-6, 0.05, 0.5, 3.0, 20.0, 1e9)
) -> dict[str, Any]:
    return {
        "threshold": draw(st.sampled_from(thresholds)),
        "ridge": draw(st.sampled_from([0.01, 0.1, 1.0, 5.0])),
        "noise": draw(st.sampled_from([0.0, 0.1, 1.0])),
        "delta": draw(st.sampled_from([0.01, 0.1, 0.9])),
        "exploration": draw(st.sampled_from([None, None, 0.0, 0.3])),
        "reads": draw(st.sampled_from(["fresh", "stale"])),
        "clocks": draw(st.sampled_from(["all", "participants"])),
    }


class Table(NamedTuple):
    """One round, made up: what is shared already, and what each of n clients could add."""

    V: FloatArray  # [d, d]
    uploads: list[FloatArray]  # [r_i, d] each: the rows x of dV_i = sum x x'
    costs: FloatArray  # [n]

    @property
    def data(self) -> FloatArray:
        """[n, d, d] dV_i."""
        d = self.V.shape[0]
        return np.array([x.T @ x for x in self.uploads]).reshape(-1, d, d)


@st.composite
def tables(
    draw: st.DrawFn, low: float = -3, high: float = 6, least: int = 0, most: int = 12
) -> Table:
    """Rounds of many pending clients: few steps each or many, alike or not, cheap or dear.

    Costs go from 10^low to 10^high; those of a round are alike, or a mixture.
    """
    n, d = draw(st.integers(least, most)), draw(st.integers(1, 8))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    longest = draw(st.sampled_from([1, 2, d + 1, 3 * d]))
    shape = draw(st.sampled_from(SHAPES))
    spread = draw(st.sampled_from([0.0, 0.3, 1.0]))  # of the clients' sizes, in powers of ten
    past = features(chance, shape, draw(st.integers(0, 40)), 1, d)[:, 0]
    lengths = chance.integers(1, longest + 1, n)
    sizes = 10.0 ** chance.uniform(-spread, spread, n)
    uploads = [
        features(chance, shape, r, 1, d)[:, 0] * s for r, s in zip(lengths, sizes, strict=True)
    ]
    if n and draw(st.booleans()):  # twins, alike but for rounding: every tie there is
        twins = chance.integers(0, (n + 1) // 2, n)
        scale = 1.0 + 1e-13 * chance.standard_normal(n)
        uploads = [s * chance.permutation(uploads[i]) for i, s in zip(twins, scale, strict=True)]
    asked = draw(costs(n, low, high))
    return Table(past.T @ past, uploads, np.array(np.broadcast_to(np.array(asked, float), n)))
