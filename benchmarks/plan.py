"""The planner on the paper's world at cost 100: how long it takes on two processes, and what its
advice is worth on 20 fresh seeds. With INCFED_MOVIELENS (a folder with movielens-heavy-54 in it, or
that folder itself) also there: the reward of paying everyone for a tenth of the payment. And small
worlds of other kinds: whether anything else that a plan has run is as good for less."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import incfed
from incfed.experiments.config import build_algorithm
from incfed.planning.ties import LESS
from incfed.results.intervals import Interval
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
    results = {"paper": _plan("the paper's world", PAPER, ask), "small": small_worlds()}
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


SMALL: dict[str, dict[str, Any]] = {
    "few clients": {
        "run": {"steps": 400},
        "world": {"kind": "Synthetic", "clients": 6, "dim": 4, "arms": 5, "pool": 60},
        "costs": 3.0,
    },
    "unlike clients": {
        "run": {"steps": 600},
        "world": {"kind": "Synthetic", "clients": 12, "dim": 6, "arms": 8, "pool": 100,
                  "spread": 0.3},
        "costs": {"kind": "exponential", "mean": 4.0},
    },
    "noisy, the paper's protocol": {
        "run": {"steps": 500},
        "world": {"kind": "Synthetic", "clients": 10, "dim": 5, "arms": 6, "pool": 80,
                  "noise": 0.4},
        "costs": 5.0,
        "search": {"triggers": ["Threshold"], "downloads": ["everyone"], "widths": ["paper"],
                   "width_scale": 1.0, "trusts": ["full"]},
    },
}  # fmt: skip


def small_worlds(seeds: tuple[int, ...] = (11, 12), fresh: int = 100) -> list[dict[str, Any]]:
    """By plan: what it advises, and on fresh seeds all that sends much less and pays no more, with
    the difference in regret to the advice."""
    found = []
    for name, case in SMALL.items():
        for seed in seeds:
            plan = incfed.plan(
                case, budget=200, max_communication="100%", trials=48, seed=seed, jobs=1
            )
            judgement = plan.judgement
            others = [*judgement.references, *judgement.frontier, judgement.leader]
            others += [] if judgement.runner_up is None else [judgement.runner_up]
            settings = {one.setting for one in others if one.setting} - {plan.setting}
            allowed = [one for one in settings if plan.case.space.holds(one)]
            mine = _fresh(plan, plan.setting, fresh)
            rivals = []
            for one in allowed:
                runs = _fresh(plan, one, fresh)
                sent, paid = (
                    [sum(run[k] for run in each) / fresh for each in (runs, mine)] for k in (1, 2)
                )
                if sent[0] < LESS * sent[1] and paid[0] <= paid[1]:
                    worse = Interval.of(x[0] - y[0] for x, y in zip(runs, mine, strict=True))
                    rivals.append((str(one), sent[0] / sent[1], worse))
            row(f"{name}, seed {seed}", len(rivals), "cheaper", str(plan.setting))
            for label, share, worse in rivals:
                print(f"    {label}: {share:.0%} of the traffic, {worse} more regret")
            found.append(
                {
                    "case": name,
                    "seed": seed,
                    "advice": str(plan.setting),
                    "cheaper": [
                        {"setting": label, "traffic": share, "worse": worse.mean, "low": worse.low}
                        for label, share, worse in rivals
                    ],
                }
            )
    return found


def _fresh(plan: incfed.Plan, setting: Any, count: int) -> list[tuple[float, float, float]]:
    """Regret, traffic and payment with seeds that the plan did not use."""
    case, found = plan.case, []
    for seed in range(10**6, 10**6 + count):
        table = setting.table(case.fixed, case.costs.of(seed))
        made = build_algorithm(table, "algorithm", case.world, case.steps, case.folder).value
        run = incfed.simulate(case.world, made, steps=case.steps, seed=seed)
        found.append((float(run.regret[-1]), float(run.communication[-1]), float(run.payment[-1])))
    return found
