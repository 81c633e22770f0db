"""MovieLens at full size: a made-up release as large as ml-20m, and a process of its own that loads
it, for time and peak memory; nothing cached, then cached. The aim: 60 s and 3 GiB on two cores."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from timing import row

RATINGS, USERS, MOVIES, TAGS = 20_000_000, 138_000, 27_000, 465_000
HEAVY = 54  # users with more than 3,000 events, as in ml-20m


def measure() -> dict[str, Any]:
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "ml-20m"
        # Not in this process: a child's peak counts from what its parent held when it began.
        subprocess.run([sys.executable, __file__, str(folder), "write"], check=True)
        results["ratings_mib"] = (folder / "ratings.csv").stat().st_size / 2**20
        row("ratings.csv", results["ratings_mib"], "MiB", f"{RATINGS:,} rows")
        environment = os.environ | {"XDG_CACHE_HOME": str(Path(place) / "cache")}
        for name in ("first", "cached"):
            answer = subprocess.run(
                [sys.executable, __file__, str(folder)],
                env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            results[name] = figures = json.loads(answer.stdout)
            row(f"load, {name}", figures["seconds"], "s", f"peak {figures['peak_mib']:,.0f} MiB")
        note = f"{figures['events']:,} events of {figures['clients']} clients"
        row("draw all pools of a run", figures["draw_seconds"], "s", note)
    return results


def write(folder: Path) -> None:
    """Sizes of ml-20m; a few users rate thousands of movies, and a few movies have most ratings."""
    folder.mkdir()
    chance = np.random.default_rng(0)
    movies = np.sort(chance.choice(np.arange(1, 131_263), MOVIES, replace=False))
    words = np.array([f"word{n}" for n in range(20_000)])
    genres = np.array([f"Genre{n}" for n in range(19)])
    pl.DataFrame(
        {
            "movieId": movies,
            "title": [f"Movie, The ({n})" for n in movies],
            "genres": ["|".join(genres[chance.choice(19, 2, replace=False)]) for _ in movies],
        }
    ).write_csv(folder / "movies.csv")
    pl.DataFrame(
        {
            "userId": chance.integers(1, USERS, TAGS),
            "movieId": movies[_skewed(chance, MOVIES, TAGS)],
            "tag": words[_skewed(chance, len(words), TAGS)],
            "timestamp": chance.integers(10**9, 2 * 10**9, TAGS),
        }
    ).write_csv(folder / "tags.csv")
    heavy = np.sort(chance.choice(USERS, HEAVY, replace=False))
    sizes = np.full(USERS, (RATINGS - HEAVY * 4_000) // (USERS - HEAVY))
    sizes[heavy] = 4_000
    sizes[np.setdiff1d(np.arange(USERS), heavy)[: RATINGS - sizes.sum()]] += 1
    which = movies[_skewed(chance, MOVIES, RATINGS)]
    ends = np.cumsum(sizes)
    for user in heavy:  # each movie once, for those who are kept
        which[ends[user] - 4_000 : ends[user]] = chance.choice(movies, 4_000, replace=False)
    pl.DataFrame(
        {
            "userId": np.repeat(np.arange(1, USERS + 1), sizes),
            "movieId": which,
            "rating": chance.integers(1, 11, RATINGS) / 2,
            "timestamp": chance.integers(10**9, 2 * 10**9, RATINGS),
        }
    ).write_csv(folder / "ratings.csv")


def _skewed(chance: np.random.Generator, n: int, size: int) -> np.ndarray:
    return (n * chance.random(size) ** 3).astype(np.int64)


def one(folder: str) -> dict[str, float]:
    import incfed

    start = time.perf_counter()
    world = incfed.MovieLens(folder, min_events=3000)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    world.open(np.random.SeedSequence(1)).take(10)  # compile
    stream = world.open(np.random.SeedSequence(0))
    start = time.perf_counter()
    for _ in range(0, world.length, 1024):
        stream.take(1024)
    return {
        "seconds": seconds,
        "peak_mib": peak,
        "clients": world.count,
        "events": world.length,
        "draw_seconds": time.perf_counter() - start,
    }


if __name__ == "__main__":
    if sys.argv[2:] == ["write"]:
        write(Path(sys.argv[1]))
    else:
        print(json.dumps(one(sys.argv[1])))
