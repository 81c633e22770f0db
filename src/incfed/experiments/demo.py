"""The paper in small: its synthetic world, three costs of sharing, five ways to deal with them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..results import Runs, compare, human
from ..results.records import Result
from ..results.terminal import show
from ..support.terminal import Terminal
from .config import Recipe
from .engine import Outcome
from .outputs import Chapter, publish, sizes
from .runs import Experiment, build

COSTS = (1, 10, 100)
BETAS = (1.0, 0.7, 0.3)
ALTRUISTIC = "altruistic"

PAPER = {"clients": 50, "dim": 25, "arms": 25}
QUICK = {"clients": 10, "dim": 6, "arms": 10}

TITLE = "What does it take to make clients share?"
INTRO = """\
{clients} learn one recommender together (Inc-FedUCB, {steps}, {dim}, \
{arms} to choose from, {seeds}). Sharing costs a client something each time, and the server \
has to make up for it: "payment-free" offers the others' data and nothing else; "beta 1", "beta \
0.7" and "beta 0.3" add money (the payment-efficient mechanism), until that share of what could be \
known is in. "altruistic" (DisLinUCB) assumes that everybody shares for nothing; it does not \
depend on the cost and is the same in every section.

Regret is what the choices lost against the best ones: less is better. Communication counts the \
numbers sent as the paper does, Packed what a careful implementation would send. Payment is the \
money that went to clients. Participation is the share of clients \
with new data that shared it. All algorithms saw the same clients, arms and noise."""


class Demo(Experiment):
    hint: ClassVar[str] = "Next: open the report in a browser; `incfed init` starts your own."

    def report(self, terminal: Terminal, outcome: Outcome) -> dict[str, Path]:
        parts = chapters(outcome.runs)
        with terminal.busy("writing the report"):
            report = publish(self.output, TITLE, INTRO.format(**sizes(self)), parts)
        for chapter in parts:
            show(terminal, chapter.document())
        return {"report": report, "runs": self.output / "runs"}


def demo(output: Path, *, seeds: int = 5, quick: bool = False) -> Demo:
    """The experiment behind `incfed demo`; `quick` is a smaller world and fewer steps."""
    entries: list[dict[str, Any]]
    entries = [{"label": ALTRUISTIC, "kind": "DisLinUCB", "threshold": "high"}]
    for cost in COSTS:
        for label, mechanism in _mechanisms().items():
            entry = {"label": _full(label, cost), "kind": "IncFedUCB", "mechanism": mechanism}
            entries.append({**entry, "threshold": "high", "costs": float(cost)})
    run = {"steps": 1000 if quick else 5000, "seeds": seeds, "output": str(output.absolute())}
    world = {"kind": "Synthetic", **(QUICK if quick else PAPER)}
    tables = {"run": run, "world": world, "algorithm": entries}
    return Demo(**vars(build(Recipe(tables, name="incfed demo"))))


def chapters(runs: Mapping[str, Sequence[Result]]) -> list[Chapter]:
    """A chapter for each cost, the altruistic baseline in every one."""
    parts = []
    for cost in COSTS:
        labels = {label: _full(label, cost) for label in _mechanisms()}
        wanted = {ALTRUISTIC: ALTRUISTIC, **labels}
        found = {label: runs[full] for label, full in wanted.items() if full in runs}
        if found:
            parts.append(Chapter(f"Cost {cost}", found, _finding(found)))
    return parts


def _mechanisms() -> dict[str, dict[str, Any]]:
    paid = {f"beta {beta:g}": {"kind": "PaymentEfficient", "beta": beta} for beta in BETAS}
    return {"payment-free": {"kind": "PaymentFree"}, **paid}


def _full(label: str, cost: int) -> str:
    return f"{label}, cost {cost}"


def _finding(runs: Runs) -> str:
    """What the figures say, in two sentences."""
    rows = {row.label: row for row in compare(runs)}
    free, full, least = (rows.get(label) for label in ("payment-free", "beta 1", "beta 0.3"))
    if free is None or full is None or least is None or math.isnan(free.participation.mean):
        return ""
    share = _percent(free.participation.mean)
    said = f"For data alone, {share} of the clients with something new share it."
    if not full.payment.mean:
        return f"{said} Nobody needs to be paid."
    pays, regret, traffic = (
        getattr(least, name).mean / getattr(full, name).mean - 1
        for name in ("payment", "regret", "communication")
    )
    return (
        f"{said} Buying all the rest (beta 1) costs {human(full.payment.mean)}. With beta 0.3 the "
        f"server pays {_change(pays)}, for {_change(regret)} regret and {_change(traffic)} traffic."
    )


def _change(change: float) -> str:
    if abs(change) < 0.015:
        return "about the same"
    if change == -1:
        return "nothing"
    return f"{_percent(abs(change))} {'more' if change > 0 else 'less'}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
