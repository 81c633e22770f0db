"""Made-up results for the tests of the results room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from incfed.results import Clients, Result, RoundRecord, Rounds
from incfed.types import Floats


def settings(**more: Any) -> dict[str, Any]:
    algorithm = {"kind": "IncFedUCB", "threshold": 0.5, "mechanism": {"beta": 0.7}}
    return {"algorithm": algorithm, "world": {"arms": 25}, "seed": 0, "clients": 4, **more}


def round_record(
    step: int, trigger: int, pending: int, idle: int, communication: float, ratio: float,
    participants: ArrayLike = (), payments: ArrayLike = (),
) -> RoundRecord:  # fmt: skip
    """A round whose participants asked what it truly cost them: one more than they were paid."""
    ids, paid = np.asarray(participants, np.int64), np.asarray(payments, np.float64)
    columns = (step, trigger, pending, idle, communication, ratio)
    return RoundRecord(*columns, ids, paid, costs=paid + 1.0, asked=paid + 1.0)


def three_rounds() -> Rounds:
    """Round 0: two of three share, one paid. Round 1: nobody of two. Round 2: nothing pending."""
    return Rounds.collect(
        [
            round_record(2, 0, 3, 1, 100.0, 0.9, [0, 3], [0.0, 2.5]),
            round_record(5, 1, 2, 2, 90.0, 0.4),
            round_record(9, 2, 0, 4, 80.0, 1.0),
        ]
    )


def made_up(
    regret: Floats, reward: Floats, communication: Floats, payment: Floats,
    rounds: Rounds, settings: dict[str, Any], **more: Any,
) -> Result:  # fmt: skip
    """A result with these curves, whose clients take turns; its packed traffic is not known."""
    count, steps = settings.get("clients", rounds.participants.max(initial=3) + 1), np.size(regret)
    gained, missed = (np.diff(curve, prepend=0.0) for curve in (reward, regret))
    turns, every = np.arange(steps) % count, np.ones(steps)
    clients = Clients.collect(count, turns, gained, missed, every, rounds)
    unknown = {"packed": np.full(steps, np.nan), "clients": clients}
    curves = (regret, reward, communication, payment)
    return Result(*curves, rounds, settings, **{**unknown, **more})


def sample(steps: int = 10, *, known: bool = True, scale: float = 1.0, seed: int = 0) -> Result:
    """A small result with the three rounds above."""
    curve = scale * np.arange(1.0, steps + 1)
    payment = np.zeros(steps)
    payment[2:] = 2.5
    communication = np.cumsum(np.isin(np.arange(steps), [2, 5, 9]) * 90.0)
    regret = curve / 3 if known else np.full(steps, np.nan)
    told = settings(seed=seed, steps=steps)
    return made_up(
        regret, 2 * curve, communication, payment, three_rounds(), told, packed=communication / 3
    )


def bare(curve: Floats, rounds: Rounds | None = None) -> Result:
    """One curve four times, without settings."""
    return made_up(curve, curve, curve, curve, rounds or Rounds.collect([]), {})


def silent(steps: int = 10) -> Result:
    """A run without rounds."""
    curve = np.arange(1.0, steps + 1)
    return made_up(curve, curve, 0 * curve, 0 * curve, Rounds.collect([]), settings(steps=steps))


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
    traits = {"alone": kind == "Independent"}
    told = settings(algorithm=algorithm, seed=seed, clients=len(steps), traits=traits, **more)
    return made_up(curve, curve, 0 * curve, 0 * curve, rounds, told, clients=Clients(*columns))


# Of four clients the first gains by sharing, the last loses, and the third never acts.
STEPS = [4.0, 3.0, 0.0, 5.0]
ALL_ALONE = by_client(STEPS, [2.0, 2.0, 0.0, 3.0], [4.0, 1.0, 0.0, 2.0])
TOGETHER = by_client(
    STEPS, [5.0, 2.0, 0.0, 1.0], [1.0, 1.0, 0.0, 4.5], kind="IncFedUCB", rounds=three_rounds()
)
