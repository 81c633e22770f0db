"""The worlds of frozen runs: synthetic ones, and recordings made up from a seed."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import incfed
from support.movielens import Sample


def synthetic(clients: int, dim: int, arms: int, **more: Any) -> Any:
    """A function that makes such a world."""
    usual = {"pool": 60, "noise": 0.1, "activity": None, "spread": 0.0}
    return partial(incfed.Synthetic, clients=clients, dim=dim, arms=arms, **{**usual, **more})


EIGHT = synthetic(8, 4, 5)
SIXTEEN = synthetic(16, 3, 4, pool=40)
FIVE = synthetic(5, 8, 6, pool=80, noise=0.2)
SKEWED = synthetic(8, 4, 5, activity=1.5)
WEIGHTED = synthetic(6, 3, 4, activity=[5.0, 1.0, 1.0, 0.5, 3.0, 0.0])
DIFFERENT = synthetic(8, 4, 5, spread=0.7)


@cache
def trace() -> incfed.Trace:
    """400 steps of 6 clients; every arm is new, and what it pays on average is known."""
    chance = np.random.default_rng(11)
    arms = chance.standard_normal((400, 5, 4)) / 2
    means = arms @ np.array([0.6, -0.3, 0.7, 0.2])
    return incfed.Trace(
        clients=chance.integers(0, 6, 400),
        arms=arms,
        rewards=means + 0.1 * chance.standard_normal((400, 1)),
        expected=means,
        count=7,  # one never acts
    )


@cache
def catalogue() -> incfed.Trace:
    """500 steps of 5 clients over 20 items that come again; nobody knows what they pay on
    average."""
    chance = np.random.default_rng(12)
    items = chance.standard_normal((20, 3)) / 2
    shown = np.array([chance.permutation(20)[:6] for _ in range(500)])
    means = items[shown] @ np.array([0.8, 0.1, -0.5])
    return incfed.Trace(
        clients=np.minimum(chance.geometric(0.35, 500) - 1, 4),
        arms=shown,
        rewards=means + 0.2 * chance.standard_normal(means.shape),
        items=items,
    )


def events(count: int = 900, *, propensities: bool = False) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A log of random picks and its table of items."""
    chance = np.random.default_rng(13)
    items = chance.standard_normal((25, 3)).round(3) / 2
    sizes = chance.integers(2, 6, count)
    shown = [chance.permutation(25)[:size].tolist() for size in sizes]
    weights = [np.exp(items[ids] @ [0.5, 0.0, -0.5]) for ids in shown]
    likely = [each / each.sum() if propensities else np.full(len(each), 1 / len(each))
              for each in weights]  # fmt: skip
    picks = [int(chance.choice(len(each), p=each)) for each in likely]
    chosen = [ids[k] for ids, k in zip(shown, picks, strict=True)]
    means = items[chosen] @ np.array([0.7, -0.4, 0.3])
    log = pl.DataFrame(
        {
            "client": [f"shop {n}" for n in chance.integers(0, 6, count)],
            "candidates": shown,
            "chosen": chosen,
            "reward": (means + 0.1 * chance.standard_normal(count)).round(4),
        }
    )
    if propensities:
        found = [each[k] for each, k in zip(likely, picks, strict=True)]
        log = log.with_columns(propensity=pl.Series(found))
    columns = {f"x{n}": items[:, n] for n in range(3)}
    return log, pl.DataFrame({"item": np.arange(25), **columns})


@cache
def log(mode: str = "replay", *, propensities: bool = False) -> incfed.ReplayLog:
    rows, items = events(propensities=propensities)
    return incfed.ReplayLog(rows, mode=mode, items=items)


@cache
def movielens() -> incfed.MovieLens:
    """A made-up release, shaped like one of MovieLens."""
    with TemporaryDirectory() as folder:
        release = Sample(seed=3, users=8, movies=120).write(Path(folder) / "made-up")
        return incfed.MovieLens(release, min_events=10, dim=4, arms=5)
