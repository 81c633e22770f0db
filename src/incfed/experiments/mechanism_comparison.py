"""`incfed compare mechanisms`: all of them on one world, with honest clients and with one liar."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ..results import markdown
from ..results.document import Document, Figure, Heading, Text
from ..results.lies import LiesRow, lies_figure, lies_row, lies_table
from ..results.numbers import finite
from ..results.plots import can_plot
from ..results.records import Result
from ..results.report import Section, write_report
from ..results.terminal import show
from ..support.files import write_text
from ..support.inputs import InputError
from ..support.terminal import Terminal
from .config import Recipe, load, override
from .demo import PAPER, QUICK
from .engine import Outcome
from .outputs import footer, not_included, save_figure, sizes
from .runs import Experiment, build

LOW, HIGH = 20.0, 180.0  # true costs, evenly spread
LINE_UP: Mapping[str, Mapping[str, Any]] = {
    "PaymentFree": {},
    "PaymentEfficient": {"beta": 0.7},
    "CostAware": {"beta": 0.7},
    "Exact": {"beta": 0.7, "nodes": 500},
    "PayEveryone": {},
    "BudgetFeasible": {"per_round": 1000.0},
    "ShapleySplit": {"pot": 1500.0, "samples": 50},
    "PostedPrice": {"price": HIGH},
    "Truthful": {"cover": 0.7, "reserve": HIGH + LOW},
}
PLACES = (0.1, 0.5, 0.9)  # of the clients that lie, among all
FACTORS = (1.5, 3.0, 8.0)  # of their true costs

TITLE = "What do mechanisms cost, and what does lying bring?"
INTRO = """\
{clients}, {steps}, {dim}, {arms} to choose from; {seeds}. Payment, regret and traffic are those \
of honest clients. Then {liars} clients take turns in lying: one reports {factors} times its true \
cost in every round, and all others are honest. The gain of the best liar is what the best of \
these lies brings: money less true cost, compared with the run in which that client is honest."""


@dataclass(frozen=True, kw_only=True)
class MechanismComparison(Experiment):
    """Honest runs, and runs with one liar each."""

    lies: Mapping[str, Mapping[str, int]]  # by honest label: the labels of lies, and who tells them

    hint: ClassVar[str] = "Next: open the report in a browser; name a config to compare your own."

    def report(self, terminal: Terminal, outcome: Outcome) -> dict[str, Path]:
        rows = self.rows(outcome)
        table, heading = lies_table(rows), Heading("Mechanisms")
        clients = {client for lies in self.lies.values() for client in lies.values()}
        words = {"liars": len(clients), "factors": " or ".join(f"{one:g}" for one in FACTORS)}
        text = INTRO.format(**sizes(self), **words) + not_included(outcome)
        with terminal.busy("writing the report"):
            drawn = can_plot()
            figures = []
            if drawn:
                figure = lies_figure(rows)
                save_figure(figure, self.output / "plots" / "mechanisms")
                figures.append(Figure.of(figure, "Mean over seeds, and one standard deviation."))
            write_text(self.output / "summary.md", markdown.render(Document(TITLE, (table,))))
            write_text(self.output / "summary.json", json.dumps(_plain(rows), indent=1) + "\n")
            section = Section(heading.text, more=(table, *figures))
            path = self.output / "report.html"
            report = write_report(path, TITLE, text, [section], footer=footer())
        show(terminal, Document("", (Heading(TITLE), Text(text), table)))
        return {"report": report, **({"plots": self.output / "plots"} if drawn else {})}

    def rows(self, outcome: Outcome) -> list[LiesRow]:
        """A row for each mechanism with a finished honest run."""
        runs = {label: _by_seed(results) for label, results in outcome.runs.items()}
        return [
            lies_row(
                label,
                runs[label],
                [(client, runs[lie]) for lie, client in lies.items() if lie in runs],
            )
            for label, lies in self.lies.items()
            if label in runs
        ]


def compare_mechanisms(
    output: Path, *, config: Path | None = None, seeds: int | None = None, quick: bool = False
) -> MechanismComparison:
    """The comparison of the mechanisms in a config, or of all built-in ones in the paper's world;
    `quick` is a smaller world and fewer steps."""
    if config is None:
        recipe = override(_recipe(quick), seeds or 1, output)
    elif quick:
        allowed = f"left out: {config} says how large the world is, and how many steps to run"
        raise InputError(f"--quick: must be {allowed}")
    else:
        recipe = load(config, seeds=seeds, output=output)
    honest = build(recipe)
    for label, one in honest.algorithms.items():
        if getattr(one, "reports", None) != ():
            raise InputError(
                f"algorithm {label!r}: allowed is an IncFedUCB without reports, whose clients can "
                "be made to lie"
            )
    count = honest.world.count
    liars = sorted({min(count - 1, int(place * count)) for place in PLACES})
    entries, lies = [], {}
    for table in recipe.tables["algorithm"]:
        label = str(table.get("label", table["kind"])).strip()
        own = {f"{label}: client {i} x{f:g}": (i, f) for i in liars for f in FACTORS}
        entries.append(table)
        for lie, (client, factor) in own.items():
            told = {"kind": "Shading", "factor": factor, "clients": [client]}
            entries.append({**table, "label": lie, "reports": [told]})
        lies[label] = {lie: client for lie, (client, _) in own.items()}
    whole = build(replace(recipe, tables={**recipe.tables, "algorithm": entries}))
    return MechanismComparison(**vars(whole), lies=lies)


def _recipe(quick: bool) -> Recipe:
    world = {"kind": "Synthetic", **(QUICK if quick else PAPER)}
    count = world["clients"]
    assert isinstance(count, int)
    costs = [LOW + (HIGH - LOW) * i / (count - 1) for i in range(count)]
    entries: list[dict[str, Any]] = [
        {"label": kind, "kind": "IncFedUCB", "mechanism": {"kind": kind, **options},
         "threshold": "high", "costs": costs}
        for kind, options in LINE_UP.items()
    ]  # fmt: skip
    run = {"steps": 500 if quick else 5000}
    tables = {"run": run, "world": world, "algorithm": entries}
    return Recipe(tables, name="incfed compare mechanisms")


def _by_seed(results: Any) -> dict[int, Result]:
    return {int(one.settings["seed"]): one for one in results}


def _plain(rows: list[LiesRow]) -> list[dict[str, Any]]:
    names = ("payment", "overpaid", "regret", "packed", "best", "pays")
    return [
        {
            "mechanism": row.label,
            **{
                name: {"mean": finite(getattr(row, name).mean), "sd": finite(getattr(row, name).sd)}
                for name in names
            },
        }
        for row in rows
    ]
