"""Small experiments for the tests of the experiments room and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from incfed import Trace
from incfed.errors import InputError
from incfed.experiments import Experiment, Recipe, build, read
from incfed.experiments.engine import Session

WORLD = {"kind": "Synthetic", "clients": 4, "dim": 3, "arms": 3, "pool": 10}
TOML = """\
[run]
steps = 400
seeds = 2
[world]
kind = "Synthetic"
clients = 4
dim = 3
arms = 3
pool = 10
[[algorithm]]
label = "altruistic"
kind = "DisLinUCB"
threshold = "high"
[[algorithm]]
label = "paid"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.7 }
threshold = 0.2
costs = 2.0
"""
# Decides like PayEveryone until round `at`, then does what `trouble` says.
OWN = """\
import os, signal
import incfed
from incfed import PayEveryone

class Mine(incfed.Mechanism):
    def __init__(self, at=0, trouble="none"):
        self.at, self.trouble = at, trouble

    def decide(self, round):
        if round.number >= self.at:
            if self.trouble == "raise":
                raise KeyError("lost it")
            if self.trouble == "exit":
                raise SystemExit(3)
            if self.trouble == "die":
                os.kill(os.getpid(), signal.SIGKILL)
        return PayEveryone().decide(round)

class Unfinished(incfed.Mechanism):
    pass
"""


def tables(**run: Any) -> dict[str, Any]:
    """Two algorithms, two seeds, unless told otherwise."""
    paid = {"kind": "PaymentEfficient", "beta": 0.7}
    return {
        "run": {"steps": 400, "seeds": 2, **run},
        "world": dict(WORLD),
        "algorithm": [
            {"label": "altruistic", "kind": "DisLinUCB", "threshold": "high"},
            {
                "label": "paid",
                "kind": "IncFedUCB",
                "mechanism": paid,
                "threshold": 0.2,
                "costs": 2.0,
            },
        ],
    }


def experiment(folder: Path, **run: Any) -> Experiment:
    return build(Recipe(tables(**run), folder))


def own(folder: Path, **mechanism: Any) -> Experiment:
    """The sample plus an algorithm with a mechanism of the user's own."""
    (folder / "own.py").write_text(OWN)
    given = tables()
    mine = {"kind": "own.py:Mine", **mechanism}
    given["algorithm"].append(
        {"label": "mine", "kind": "IncFedUCB", "mechanism": mine, "threshold": 0.2, "costs": 2.0}
    )
    return build(Recipe(given, folder))


def fingerprints(experiment: Experiment) -> list[str]:
    """Of its runs, label by label."""
    return Session().check(experiment.cells).order


def trace(steps: int = 60) -> Trace:
    rng = np.random.default_rng(0)
    return Trace(
        clients=rng.integers(0, 4, steps),
        arms=rng.normal(size=(steps, 3, 2)),
        rewards=rng.normal(size=(steps, 3)),
    )


def refused(folder: Path, text: str) -> str:
    """The message with which a config is refused."""
    (folder / "bad.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(folder / "bad.toml")
    message = str(caught.value)
    start = f"{folder / 'bad.toml'}: "
    assert message.startswith(start)
    return message.removeprefix(start)
