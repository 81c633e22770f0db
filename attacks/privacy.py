"""A member wants to know what others saw."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from federation import DIM, Attacker, Federation, attacker
from incfed.service import codec
from outcome import Attack, Outcome

TIME = 15.0  # seconds of listening
SAME = 1e-6
OWN = 9  # made-up steps that it shares in each round: with one of somebody else's, ten


def shares_nothing(federation: Federation) -> Outcome:
    """Open a round after every step of anybody, and take differences of downloads."""
    with attacker(federation):  # takes part in every round, with nothing
        return _found(federation, _listen(federation))


def shares_made_up_data(federation: Federation) -> Outcome:
    """The same, less what it shared itself."""
    with attacker(federation) as one:
        return _found(federation, _listen(federation, one))


def _found(federation: Federation, read: list[tuple[np.ndarray, float]]) -> Outcome:
    events = federation.events()
    found = sum(any(_same(x, y, *event) for event in events) for x, y in read)
    cost = f"{found} of {len(events)} observations are read, rewards included"
    return Outcome(f"{TIME:.0f} s of calls and downloads", cost, bool(events) and not found)


def _listen(
    federation: Federation, sharing: Attacker | None = None
) -> list[tuple[np.ndarray, float]]:
    """What others shared alone in a round: x and its reward."""
    read, epoch, end = [], 0, time.monotonic() + TIME
    chance = np.random.default_rng(0)
    V, b = np.zeros((DIM, DIM)), np.zeros(DIM)
    own = [(V, b)]  # nothing, and what it shared last
    while time.monotonic() < end:
        if sharing is not None and sharing.held_back == 0:
            x = chance.standard_normal((OWN, DIM))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            own = [own[0], *own[-2:], (x.T @ x, x.T @ chance.uniform(-1.0, 1.0, OWN))]
            sharing.make_up(*own[-1], OWN)
        federation.ask("POST", "/v1/rounds")
        state = federation.ask("GET", "/v1/state").json()
        if state["epoch"] == epoch:
            time.sleep(0.02)
            continue
        reply = federation.ask("GET", f"/v1/download?since={epoch}")
        news = codec.read_download(reply.json(), DIM)
        old = (0.0, 0.0) if news.since is None else (V, b)
        dV, db = old[0] + news.V.matrix() - V, old[1] + news.b - b
        V, b, epoch = V + dV, b + db, news.epoch
        read += [one for mine in own for one in _single(dV - mine[0], db - mine[1])]
    return read


def _single(dV: np.ndarray, db: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """x and y, if this is x x' and y x."""
    values, vectors = np.linalg.eigh(dV)
    if values[-1] > SAME and np.abs(values[:-1]).max() < SAME * values[-1]:
        x = vectors[:, -1] * np.sqrt(values[-1])
        yield x, float(db @ x / (x @ x))


def _same(x: np.ndarray, y: float, other: np.ndarray, reward: float) -> bool:
    sign = 1.0 if x @ other > 0 else -1.0
    return bool(np.abs(sign * x - other).max() < SAME and abs(sign * y - reward) < SAME)


SLOW = 3.0  # an observation a second, of three clients
ATTACKS = [
    Attack("single observations of others, read off downloads", shares_nothing, pause=SLOW),
    Attack("the same by a member that shares made-up data beside them", shares_made_up_data,
           pause=SLOW),
]  # fmt: skip
