"""The final figures of commands on small cases: run, sweep, reproduce, compare mechanisms, plan.

They are read from the files that a command writes for other programs, or from what Python returns,
never from pages. Of plans they are those of given settings and of the references; which setting a
search ends at is not frozen.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

import incfed
from frozen import worlds
from support.cli import invoke
from support.planning import write_trace

SYNTHETIC = """\
[world]
kind = "Synthetic"
clients = 6
dim = 3
arms = 4
pool = 30
noise = 0.1
"""
LOG = """\
[world]
kind = "ReplayLog"
file = "log.parquet"
items = "items.parquet"
mode = "replay"
"""
TRACE = """\
[world]
kind = "Trace"
file = "trace.npz"
"""
ALGORITHMS = """\
[[algorithm]]
label = "alone"
kind = "Independent"
ridge = 0.1
[[algorithm]]
label = "altruistic"
kind = "DisLinUCB"
threshold = "high"
[[algorithm]]
label = "paid"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.7 }
threshold = 0.5
costs = 1.0
[[algorithm]]
label = "patient"
kind = "IncFedUCB"
mechanism = { kind = "PaymentFree" }
trigger = { kind = "Patient", news = 2.0, signal = "rows" }
costs = 1.0
trust = "auto"
"""
MECHANISMS = """\
[[algorithm]]
label = "some"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.6 }
threshold = 1.0
costs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
[[algorithm]]
label = "auction"
kind = "IncFedUCB"
mechanism = { kind = "Truthful", cover = 0.8, reserve = 7.0 }
threshold = 1.0
costs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
[[algorithm]]
label = "one price"
kind = "IncFedUCB"
mechanism = { kind = "PostedPrice", price = 4.5 }
threshold = 1.0
costs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
"""


def command(*arguments: str, config: str = "", output: str = "summary.json") -> Any:
    """What a command writes to this file of its output folder."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "case.toml").write_text(config)
        if "log.parquet" in config:
            log, items = worlds.events()
            log.write_parquet(folder / "log.parquet")
            items.write_parquet(folder / "items.parquet")
        if "trace.npz" in config:
            write_trace(folder / "trace.npz", expected=True)
        done = invoke(folder, *arguments, "--jobs", "1", "--output", "out")
        assert done.returncode == 0, done.stderr
        file = folder / "out" / output
        if file.suffix == ".parquet":
            return pl.read_parquet(file).to_dicts()
        return json.loads(file.read_text())


def swept() -> dict[str, Any]:
    """A sweep in Python."""
    found = incfed.sweep(
        {
            "run": {"steps": 250, "seeds": 2},
            "world": {"kind": "Synthetic", "clients": 5, "dim": 3, "arms": 4, "pool": 30},
            "algorithm": [
                {
                    "kind": "IncFedUCB",
                    "mechanism": {"kind": "CostAware", "beta": 0.7},
                    "threshold": 1.0,
                    "costs": 2.0,
                }
            ],
            "sweep": {
                "algorithm.mechanism.beta": [0.3, 0.9],
                "algorithm.download": ["everyone", "one-for-one"],
                "run.steps": [100, 250],
            },
        },
        jobs=1,
    )
    return {"runs": found.to_polars().to_dicts(), "curves": found.curves().to_dicts()}


def compared() -> dict[str, Any]:
    """Algorithms compared in Python, and what clients gain over learning alone."""
    rules = {
        "alone": incfed.Independent(ridge=0.1),
        "paid": incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=2.0),
        "free": incfed.IncFedUCB(incfed.PaymentFree(), threshold=1.0, costs=2.0),
    }
    world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    seeds = incfed.compare(world, rules, steps=300, seeds=3)
    gains = seeds["paid"][0].gains(seeds["alone"][0])
    log = incfed.compare(worlds.log(), rules, bootstrap=3, resample="events")
    return {
        "difference": interval(seeds.difference("paid")),
        "gains": [gains.gain, gains.paid],
        "reward of a log": interval(log.difference("free", "reward")),
        "figures": {label: [run.summary() for run in log[label]] for label in rules},
    }


def estimated() -> dict[str, Any]:
    """A quick estimate, with its bounds."""
    found = incfed.estimate(
        clients=6, steps=400, dim=3, beta=0.8, cost=3.0, threshold=None, ridge=0.2
    )
    most = found.bounds
    bounds = [most.rounds, most.communication, most.payment, *most.regret, most.least_beta]
    return {"threshold": found.threshold, "simulated": found.simulated, "bounds": bounds}


def interval(found: Any) -> list[float]:
    return [found.mean, found.low, found.high]


EVERYONE, NOBODY = {"mechanisms": ["PayEveryone"]}, {"mechanisms": ["PaymentFree"]}
HALF = {"mechanisms": ["PaymentEfficient"], "beta": 0.5}
AUCTION = {"mechanisms": [{"kind": "Truthful", "cover": 0.8, "reserve": 2.7}]}
THRESHOLD = {"triggers": ["Threshold"], "threshold": 1.0}
PATIENT = {"triggers": ["Patient"], "news": 2.0, "signal": "rows"}
PAPER = {"widths": ["paper"], "width_scale": 1.0}
ONE_FOR_ONE = {"downloads": ["one-for-one"]}
GIVEN: dict[str, dict[str, Any]] = {  # settings, each the only one of a search space
    "everyone paid": EVERYONE | THRESHOLD | PAPER,
    "half": HALF | THRESHOLD | PAPER,
    "half, rarer": HALF | THRESHOLD | PAPER | {"threshold": 4.0},
    "nobody paid, narrow": NOBODY | THRESHOLD | PAPER | {"width_scale": 0.3},
    "mixture": HALF | THRESHOLD | {"beta": 0.2, "widths": ["mixture"], "width_scale": 0.5},
    "constant alpha": HALF | THRESHOLD | ONE_FOR_ONE | {"widths": ["constant"], "exploration": 0.2},
    "patient": NOBODY | PATIENT | PAPER,
    "patient, by growth": NOBODY | PATIENT | PAPER | {"signal": "growth"},
    "trust auto": EVERYONE | THRESHOLD | PAPER | {"trusts": ["auto"]},
    "trust 10": HALF | PATIENT | PAPER | ONE_FOR_ONE | {"trusts": ["limited"], "trust": 10.0},
    "lying": AUCTION | THRESHOLD | PAPER | {"clients_may_lie": True},
}


def judged(world: dict[str, Any], steps: int, costs: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The held-out figures of a setting, and of what it is compared with."""
    usual = {"downloads": ["everyone"], "trusts": ["full"], "ridge": 0.1}
    with TemporaryDirectory() as name:
        table = dict(world)
        if table["kind"] == "Trace":
            table["file"] = str(write_trace(Path(name) / "trace.npz", expected=True))
        plan = incfed.plan(
            {
                "run": {"steps": steps},
                "world": table,
                "costs": costs,
                "search": {**usual, **given},
            },
            minimize="regret",
            budget="80%",
            trials=1,
            held_out=3,
            seed=0,
            jobs=1,
        )
    assert {plan.setting} == {setting for setting, _ in plan.tried}
    references = dict(zip(("everyone", "nobody", "alone"), plan.judgement.references, strict=True))
    off = {f"costs x {by:g}": found for by, found in plan.judgement.sensitivity.items()}
    return {
        "gain": interval(plan.gain),
        "limits": [[interval(one.excess), one.kept, one.sure] for one in plan.limits],
        **{
            name: {metric: interval(x) for metric, x in found.figures().items()}
            for name, found in {"setting": plan.judgement.chosen, **references, **off}.items()
        },
    }


SMALL = {"kind": "Synthetic", "clients": 5, "dim": 3, "arms": 4, "pool": 40, "noise": 0.1}
DRAWN = {"kind": "uniform", "low": 1.0, "high": 3.0}
STEPS = "[run]\nsteps = 300\nseeds = 2\n"
LIARS = '[{ kind = "BestResponse", step = 0.2, clients = [1, 4] }]'

CASES: dict[str, Callable[[], Any]] = {
    "run": partial(command, "run", "case.toml", config=STEPS + SYNTHETIC + ALGORITHMS),
    "run, a log": partial(
        command,
        "run",
        "case.toml",
        config='[run]\nbootstrap = 3\nresample = "clients"\n' + LOG + ALGORITHMS,
    ),
    "run, a trace": partial(
        command,
        "run",
        "case.toml",
        config='[run]\nbootstrap = 2\nresample = "events"\n' + TRACE + ALGORITHMS,
    ),
    "sweep": partial(
        command,
        "sweep",
        "case.toml",
        config=STEPS
        + SYNTHETIC
        + ALGORITHMS
        + '[sweep]\n"world.noise" = [0.1, 0.3]\n"algorithm.costs" = [1.0, 5.0]\n',
    ),
    "sweep, every run": partial(
        command,
        "sweep",
        "case.toml",
        output="cells.parquet",
        config=STEPS + SYNTHETIC + ALGORITHMS + '[sweep]\n"algorithm[paid].clocks" = ["all", '
        '"participants"]\n',
    ),
    "sweep in Python": swept,
    "compare in Python": compared,
    "estimate": estimated,
    "reproduce table 1": partial(command, "reproduce", "table1", "--quick", output="cells.parquet"),
    "reproduce table 5, fresh reads": partial(
        command, "reproduce", "table5", "--quick", "--fresh-reads", output="cells.parquet"
    ),
    "compare mechanisms": partial(
        command, "compare", "mechanisms", "case.toml", config=STEPS + SYNTHETIC + MECHANISMS
    ),
    "compare mechanisms, liars": partial(
        command,
        "compare",
        "mechanisms",
        "case.toml",
        "--reports",
        LIARS,
        config=STEPS + SYNTHETIC + MECHANISMS,
    ),
    "compare all mechanisms": partial(command, "compare", "mechanisms", "--quick"),
    **{f"plan: {name}": partial(judged, SMALL, 120, 2.5, given) for name, given in GIVEN.items()},
    "plan: half, drawn costs": partial(judged, SMALL, 120, DRAWN, GIVEN["half"]),
    "plan: half, a trace": partial(judged, {"kind": "Trace"}, 100, 2.5, GIVEN["half"]),
    "plan: patient, a trace": partial(judged, {"kind": "Trace"}, 100, 2.5, GIVEN["patient"]),
}
