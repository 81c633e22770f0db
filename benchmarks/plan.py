"""The planner on the paper's world at cost 100: how long it takes on two processes, and what its
advice is worth on 20 fresh seeds. With INCFED_MOVIELENS (a folder with movielens-heavy-54 in it, or
that folder itself) also there: the reward of paying everyone for a tenth of the payment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from timing import row

PAPER = 'costs = 100\n[run]\nsteps = 5000\n[world]\nkind = "Synthetic"\n'
MOVIES = """\
costs = 100
[world]
kind = "MovieLens"
folder = {folder}
[algorithm]
ridge = 0.2
exploration = 0.3
"""


def measure() -> dict[str, Any]:
    ask = ["--budget", "10000", "--max-communication", "4e6", "--minimize", "regret"]
    results = {"paper": _plan("the paper's world", PAPER, ask)}
    if named := os.environ.get("INCFED_MOVIELENS"):
        folder = Path(named) / "movielens-heavy-54"
        folder = folder if folder.exists() else Path(named)
        case = MOVIES.format(folder=json.dumps(str(folder.absolute())))
        ask = ["--budget", "10%", "--maximize", "reward"]
        results["movielens"] = _plan("MovieLens", case, ask)
    return results


def _plan(name: str, case: str, ask: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "case.toml").write_text(case)
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "incfed.cli", "plan", "case.toml", *ask, "--jobs", "2"],
            cwd=place, capture_output=True, check=True,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        made = json.loads((Path(place) / "plan/plan.json").read_text())
    everyone = next(iter(made["references"].values()))
    row(name, seconds, "s", made["advice"])
    names = ("regret", "reward", "payment", "communication")
    return {
        "seconds": seconds,
        "advice": made["advice"],
        "figures": {key: made["figures"][key] for key in names},
        "everyone_paid": {key: everyone[key] for key in names},
    }
