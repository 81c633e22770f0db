"""Small recorded worlds of many shapes, for hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import incfed

MECHANISMS = {
    "pay_everyone": incfed.PayEveryone,
    "payment_free": incfed.PaymentFree,
    "payment_efficient": incfed.PaymentEfficient,
}


@st.composite
def traces(draw: st.DrawFn) -> incfed.Trace:
    """N 1-12, d 1-8, K 1-6; arms spread out, on a subspace, or drawn from a handful (ties)."""
    count = draw(st.integers(1, 12))
    dim = draw(st.integers(1, 8))
    arms = draw(st.integers(1, 6))
    steps = draw(st.integers(1, 60))
    shape = draw(st.sampled_from(["spread", "subspace", "few", "unit"]))
    skew = draw(st.sampled_from([0.0, 1.5]))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = np.arange(1, count + 1) ** -skew
    features = chance.standard_normal((steps, arms, dim))
    if shape == "subspace":
        features = features[..., : (dim + 1) // 2] @ chance.standard_normal(((dim + 1) // 2, dim))
    elif shape == "few":
        features = chance.standard_normal((3, dim))[chance.integers(0, 3, (steps, arms))]
    elif shape == "unit":
        features /= np.linalg.norm(features, axis=2, keepdims=True)
    features *= draw(st.sampled_from([0.1, 1.0, 3.0]))
    expected = features @ chance.standard_normal(dim)
    return incfed.Trace(
        clients=chance.choice(count, steps, p=weights / weights.sum()),
        arms=features,
        rewards=expected + 0.1 * chance.standard_normal((steps, 1)),
        expected=expected,
        count=count,
    )


@st.composite
def costs(draw: st.DrawFn, count: int) -> float | list[float]:
    """One for all, or one each; 0 to a million."""
    one = st.one_of(
        st.sampled_from([0.0, 1.0, 10.0, 100.0]), st.floats(-3, 6).map(lambda e: 10.0**e)
    )
    return draw(st.one_of(one, st.lists(one, min_size=count, max_size=count)))


@st.composite
def mechanisms(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    kind = draw(st.sampled_from(["pay_everyone", "payment_free", *["payment_efficient"] * 4]))
    if kind != "payment_efficient":
        return kind, {}
    return kind, {
        "beta": draw(st.one_of(st.sampled_from([0.0, 0.01, 0.3, 0.7, 1.0]), st.floats(0, 1))),
        "order": draw(st.sampled_from(["descending", "ascending"])),
        "payment_free": draw(st.booleans()),
        "iterative": draw(st.booleans()),
        "absorb": draw(st.booleans()),
    }


@st.composite
def settings_of_a_run(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "threshold": draw(st.sampled_from([0.0, 1e-6, 0.05, 0.5, 3.0, 20.0, 1e9])),
        "ridge": draw(st.sampled_from([0.01, 0.1, 1.0, 5.0])),
        "noise": draw(st.sampled_from([0.0, 0.1, 1.0])),
        "delta": draw(st.sampled_from([0.01, 0.1, 0.9])),
        "exploration": draw(st.sampled_from([None, None, 0.0, 0.3])),
        "reads": draw(st.sampled_from(["fresh", "stale"])),
        "clocks": draw(st.sampled_from(["all", "participants"])),
    }
