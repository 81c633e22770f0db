"""Made-up results for the tests of the results room."""

from __future__ import annotations

from typing import Any

import numpy as np

from incfed.results import Clients, Result, RoundRecord, Rounds
from incfed.results.arrays import FloatArray


def settings(**more: Any) -> dict[str, Any]:
    algorithm = {"kind": "IncFedUCB", "threshold": 0.5, "mechanism": {"beta": 0.7}}
    return {"algorithm": algorithm, "world": {"arms": 25}, "seed": 0, "clients": 4, **more}


def three_rounds() -> Rounds:
    """Round 0: two of three share, one paid. Round 1: nobody of two. Round 2: nothing pending."""
    return Rounds.collect(
        [
            RoundRecord(2, 0, 3, 1, 100.0, 0.9, np.array([0, 3]), np.array([0.0, 2.5])),
            RoundRecord(5, 1, 2, 2, 90.0, 0.4, np.array([], dtype=int), np.array([])),
            RoundRecord(9, 2, 0, 4, 80.0, 1.0, np.array([], dtype=int), np.array([])),
        ]
    )


def sample(steps: int = 10, *, known: bool = True, scale: float = 1.0, seed: int = 0) -> Result:
    """A small result with the three rounds above."""
    curve = scale * np.arange(1.0, steps + 1)
    payment = np.zeros(steps)
    payment[2:] = 2.5
    communication = np.cumsum(np.isin(np.arange(steps), [2, 5, 9]) * 90.0)
    regret = curve / 3 if known else np.full(steps, np.nan)
    return Result(
        regret,
        2 * curve,
        communication,
        payment,
        three_rounds(),
        settings(seed=seed, steps=steps),
        packed=communication / 3,
    )


def bare(curve: FloatArray, rounds: Rounds | None = None) -> Result:
    """The same curve four times."""
    return Result(curve, curve, curve, curve, rounds or Rounds.collect([]), {})


def silent(steps: int = 10) -> Result:
    """A run without rounds."""
    curve = np.arange(1.0, steps + 1)
    return Result(curve, curve, 0 * curve, 0 * curve, Rounds.collect([]), settings(steps=steps))


def by_client(
    steps: list[float], reward: list[float], regret: list[float], *, kind: str = "Independent",
    matched: list[float] | None = None, rounds: Rounds | None = None, seed: int = 0, **more: Any,
) -> Result:  # fmt: skip
    """A result with these figures by client, of which only the sums matter."""
    length = int(sum(steps))
    curve = np.arange(float(length))
    rounds = rounds or Rounds.collect([])
    algorithm = {"kind": kind, "ridge": 0.1, **more.pop("algorithm", {})}
    shared = np.bincount(rounds.participants, minlength=len(steps))
    paid = np.bincount(rounds.participants, weights=rounds.payments, minlength=len(steps))
    columns: Any = (steps, matched or steps, reward, regret, shared, paid)
    told = settings(algorithm=algorithm, seed=seed, clients=len(steps), **more)
    return Result(curve, curve, 0 * curve, 0 * curve, rounds, told, clients=Clients(*columns))


# Of four clients the first gains by sharing, the last loses, and the third never acts.
STEPS = [4.0, 3.0, 0.0, 5.0]
ALL_ALONE = by_client(STEPS, [2.0, 2.0, 0.0, 3.0], [4.0, 1.0, 0.0, 2.0])
TOGETHER = by_client(
    STEPS, [5.0, 2.0, 0.0, 1.0], [1.0, 1.0, 0.0, 4.5], kind="IncFedUCB", rounds=three_rounds()
)
