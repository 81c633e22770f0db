"""Rounds generated from a seed, to test mechanisms on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..kernels.coalition import log_gains
from ..kernels.factor import factorize
from ..kernels.pending import Pending
from ..types import Floats
from .base import Round

RIDGE = 0.1


def make_round(V: Floats, uploads: list[Floats], costs: Floats, idle: int, **known: float) -> Round:
    """A round over clients 1, 3, 5, ..., each with the rows x of its pending steps (dV = sum x x').

    Ids differ from indices, so that a mechanism that confuses them is found out.
    """
    d = V.shape[0]
    n = len(uploads)
    dense = np.full(n, -1)
    grams = [rows.T @ rows for rows in uploads if len(rows) > d]  # many steps come as a matrix
    dense[[len(rows) > d for rows in uploads]] = np.arange(len(grams))
    thin = [rows if len(rows) <= d else rows[:0] for rows in uploads]
    pending = Pending.of(
        rows=np.concatenate([np.empty((0, d)), *thin]),
        start=np.cumsum([0] + [len(rows) for rows in thin]),
        grams=np.array(grams).reshape(-1, d, d),
        dense=dense,
    )
    factor, gains = np.empty_like(V), np.empty(n)
    logdet = factorize(V, RIDGE, np.empty_like(V), factor)
    log_gains(V, factor, logdet, RIDGE, pending, np.ones(n, np.bool_), gains)
    return Round(
        clients=2 * np.arange(n) + 1,
        costs=costs,
        count=2 * n + idle,
        V=V,
        factor=factor,
        logdet=logdet,
        ridge=RIDGE,
        pending=pending,
        logdets=logdet + gains,
        trigger=1 if n else -1,
        **known,  # type: ignore[arg-type]
    )


def rehearse(rounds: int, seed: int) -> Iterator[tuple[str, Round]]:
    """Pairs (title, round): first the corner cases, then random rounds."""
    chance = np.random.default_rng(seed)
    empty = np.zeros((3, 3))
    one = [chance.standard_normal((2, 3))]
    several = [chance.standard_normal((k % 4 + 1, 3)) for k in range(6)]
    yield "nobody has anything to share", make_round(empty, [], np.empty(0), 4)
    yield "one client", make_round(empty, one, np.array([5.0]), 1)
    yield "one client, cost 0", make_round(empty, one, np.array([0.0]), 3)
    yield "all costs 0", make_round(empty, several, np.zeros(6), 6)
    yield "all costs huge", make_round(empty, several, np.full(6, 1e6), 6)
    yield (
        "identical clients",
        make_round(empty, [one[0].copy() for _ in range(5)], np.full(5, 2.0), 5),
    )
    for k in range(rounds):
        yield f"random round {k}", _random_round(chance, k)


def _random_round(chance: np.random.Generator, number: int) -> Round:
    n, d = int(chance.integers(1, 13)), int(chance.integers(1, 9))
    past = chance.standard_normal((int(chance.integers(0, 40)), d))
    uploads = [
        chance.standard_normal((int(chance.integers(1, 2 * d + 2)), d))
        * 10 ** chance.uniform(-1, 1)
        for _ in range(n)
    ]
    costs = 10.0 ** chance.uniform(-2, 6, size=n) * (chance.random(n) > 0.2)
    if chance.random() < 0.5:
        costs[:] = costs[0]
    count = n + int(chance.integers(0, 5))
    return make_round(past.T @ past, uploads, costs, count, number=number, spent=10.0 * number)
