"""A client of a real federation: choose + learn, with its state on disk and its thread at work."""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import incfed
from support.fake_coordinator import Fake
from support.fake_server import serving
from timing import row

STEPS = 5000


def _serve(d: int, tell: Connection) -> None:
    with serving(Fake(1, d, threshold=50.0)) as (url, _):
        tell.send(url)
        tell.recv()


@contextmanager
def _elsewhere(d: int) -> Iterator[str]:
    """A coordinator in a process of its own: here it would be in the way."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(d, there))
    process.start()
    try:
        yield here.recv()
    finally:
        here.send("end")
        process.join()


def measure() -> dict[str, Any]:
    d = K = 25
    arms = np.random.default_rng(0).standard_normal((STEPS, K, d))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    times = []
    with (
        tempfile.TemporaryDirectory() as folder,
        _elsewhere(d) as url,
        incfed.Client(url, "token-0", folder) as client,
    ):
        client.sync(30.0)
        for shown in arms:
            begun = time.perf_counter()
            picked = client.choose(shown)
            client.learn(shown[picked], 0.5)
            times.append(1e6 * (time.perf_counter() - begun))
    found = {
        "first_us": times[0],
        "median_us": statistics.median(times),
        "p99_us": statistics.quantiles(times, n=100)[98],
    }
    row("choose + learn, the first", found["first_us"], "us")
    row("choose + learn, median", found["median_us"], "us", "(aim 100)")
    row("choose + learn, 99 of 100 within", found["p99_us"], "us")
    return {"dim": d, "arms": K, **found}
