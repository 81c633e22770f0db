"""Small cases for the planner: a plan of them takes seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import incfed
from incfed.planning.evidence import Evidence
from incfed.planning.space import PAID, Setting

CASE: dict[str, Any] = {
    "run": {"steps": 120},
    "world": {"kind": "Synthetic", "clients": 5, "dim": 3, "arms": 4, "pool": 40},
    "costs": 2.0,
    "search": {"threshold": [0.5, 20.0]},
}
TOML = """\
costs = 2.0
[run]
steps = 120
[world]
kind = "Synthetic"
clients = 5
dim = 3
arms = 4
pool = 40
[search]
threshold = [0.5, 20.0]
"""
SMALL: dict[str, Any] = {"trials": 32, "held_out": 5, "jobs": 1}


def write_trace(file: Path, length: int = 240, *, expected: bool = False) -> Path:
    """A log with rewards of all arms that a linear model explains."""
    chance = np.random.default_rng(3)
    theta = np.array([0.6, -0.3, 0.7])
    arms = chance.standard_normal((length, 4, 3)) / 2
    means = arms @ theta
    trace = incfed.Trace(
        chance.integers(0, 5, length),
        arms,
        means + 0.1 * chance.standard_normal(means.shape),
        expected=means if expected else None,
    )
    trace.save(file)
    return file


def write_log(folder: Path, *, scale: float = 0.4, events: int = 600) -> dict[str, Any]:
    """A log of four shops that are alike, whose picks were random; its [world]."""
    rng = np.random.default_rng(1)
    items = rng.normal(size=(events, 3, 2))
    chosen = rng.integers(3, size=events)
    means = 0.4 + scale * items[np.arange(events), chosen, 0] / 2
    pl.DataFrame({
        "client": [f"shop {n}" for n in rng.integers(4, size=events)],
        "features": items.tolist(),
        "chosen": chosen,
        "reward": (rng.random(events) < means).astype(float),
    }).write_parquet(folder / "log.parquet")  # fmt: skip
    return {"kind": "ReplayLog", "file": str(folder / "log.parquet"), "mode": "replay"}


def finished_trials(folder: Path) -> list[Any]:
    """The settings that the study in `folder` was told of, in order, and when."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    [file] = folder.glob("study-*.log")
    with TemporaryDirectory() as place:  # a copy without the half line that a kill leaves
        copy = Path(place) / "study.log"
        copy.write_bytes(file.read_bytes().rpartition(b"\n")[0] + b"\n")
        storage = JournalStorage(JournalFileBackend(str(copy)))
        trials = storage.get_all_trials(storage.get_study_id_from_name("plan"))
    return [(one.params, one.datetime_complete) for one in trials if one.state.is_finished()]


def setting(n: int) -> Setting:
    return Setting(PAID, 0.5, float(n + 1), 0.1)


def evidence(table: list[list[tuple[float, float]]], sent: Sequence[float] = ()) -> Evidence:
    """For each setting the (regret, payment) of each seed; and what it sends, if that matters."""
    found = Evidence(range(9))
    for n, runs in enumerate(table):
        found.add(
            setting(n),
            [
                {
                    "regret": regret, "payment": payment, "reward": -regret,
                    "communication": sent[n] if sent else 1.0,
                }
                for regret, payment in runs
            ],
        )  # fmt: skip
    return found
