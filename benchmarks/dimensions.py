"""Time per step as d grows, beside a plain numpy product of the same size: [K, d] times [d, d]."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import incfed
from speedup import recorded
from timing import best_of, row

STEPS, CLIENTS = 2000, 5


def multiply(arms: NDArray[np.float64], inverse: NDArray[np.float64]) -> None:
    for _ in range(STEPS):
        _ = arms @ inverse


def measure() -> dict[str, Any]:
    results = {}
    for dim in (25, 50, 100, 200):
        trace = recorded(STEPS, clients=CLIENTS, dim=dim)
        seconds = best_of(
            5,
            step=partial(incfed.simulate, trace, incfed.Independent()),
            product=partial(multiply, trace.items[:25], np.eye(dim)),
        )
        step, product = (1e6 * seconds[name] / STEPS for name in ("step", "product"))
        row(
            f"d = {dim}: choose, learn, trigger", step, "us", f"{step / product:.2f} of the product"
        )
        results[str(dim)] = {"step_us": step, "product_us": product, "ratio": step / product}
    return results
