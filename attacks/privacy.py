"""A member that shares nothing wants to know what others saw."""

from __future__ import annotations

import time

import numpy as np

from federation import DIM, Federation, attacker
from incfed.service import codec
from outcome import PAYING, Attack, Outcome

TIME = 15.0  # seconds of listening
SAME = 1e-6


def single_observations(federation: Federation) -> Outcome:
    """Open a round after every step of anybody, and take differences of downloads."""
    with attacker(federation):  # takes part in every round, with nothing
        read = _listen(federation)
    events = federation.events()
    found = sum(any(_same(x, y, *event) for event in events) for x, y in read)
    return Outcome(f"{found} observations", f"of {len(events)}, rewards included", not found)


def _listen(federation: Federation) -> list[tuple[np.ndarray, float]]:
    """What was shared alone in a round: x and its reward."""
    read, epoch, end = [], 0, time.monotonic() + TIME
    V, b = np.zeros((DIM, DIM)), np.zeros(DIM)
    while time.monotonic() < end:
        federation.ask("POST", "/v1/rounds")
        state = federation.ask("GET", "/v1/state").json()
        if state["epoch"] == epoch:
            time.sleep(0.02)
            continue
        reply = federation.ask("GET", f"/v1/download?since={epoch}")
        news = codec.read_download(reply.json(), DIM)
        old = (0.0, 0.0) if news.since is None else (V, b)
        dV, db = old[0] + news.V.matrix() - V, old[1] + news.b - b
        values, vectors = np.linalg.eigh(dV)
        if values[-1] > SAME and values[-2] < SAME * values[-1]:  # of rank one: x x', y x
            x = vectors[:, -1] * np.sqrt(values[-1])
            read.append((x, float(db @ x / (x @ x))))
        V, b, epoch = V + dV, b + db, news.epoch
    return read


def _same(x: np.ndarray, y: float, other: np.ndarray, reward: float) -> bool:
    sign = 1.0 if x @ other > 0 else -1.0
    return bool(np.abs(sign * x - other).max() < SAME and abs(sign * y - reward) < SAME)


SLOW = 1.0
ATTACKS = [
    Attack("single observations of others, read off the downloads", single_observations,
           pause=SLOW, lifted=PAYING),
]  # fmt: skip
