"""`incfed compare mechanisms`: all of them on one world, with honest clients and with liars: one at
a time, or the user's own set of behaviours."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from .. import errors
from ..errors import InputError, refuse
from ..protocol.strategy import EXAMPLE, Behaviour, Shading, build_reports
from ..results import markdown
from ..results.document import Document, Figure, Heading, Text
from ..results.lies import LiesRow, lies_figure, lies_panels, lies_row, lies_table
from ..results.numbers import finite
from ..results.plots import can_plot
from ..results.records import Result
from ..results.report import Section, write_report
from ..results.terminal import show
from ..support.files import write_text
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
BEHAVE = """\
{clients}, {steps}, {dim}, {arms} to choose from; {seeds}. In all of them, {behaviours}; others \
are honest. The gain of the best liar is that of the client that gains most by acting so: money \
less true cost, compared with the run in which everybody is honest."""
HONEST, BEHAVING = "all honest", "as they behave"


@dataclass(frozen=True, kw_only=True)
class MechanismComparison(Experiment):
    """Honest runs, and runs with liars."""

    honest: Mapping[str, str]  # by label of a mechanism: that of its runs in which all are honest
    lies: Mapping[str, Mapping[str, Sequence[int]]]  # by label: its runs with liars, and who lies
    behaviours: str = ""  # of the user, in words; empty: one liar at a time

    hint: ClassVar[str] = "Next: open the report in a browser; name a config to compare your own."

    def report(self, terminal: Terminal, outcome: Outcome) -> dict[str, Path]:
        rows = self.rows(outcome)
        table, heading = lies_table(rows), Heading("Mechanisms")
        clients = {client for lies in self.lies.values() for who in lies.values() for client in who}
        words = {
            "liars": str(len(clients)),
            "factors": " or ".join(f"{one:g}" for one in FACTORS),
            "behaviours": self.behaviours,
        }
        text = (BEHAVE if self.behaviours else INTRO).format(**sizes(self), **words)
        text += not_included(outcome)
        with terminal.busy("writing the report"):
            drawn = can_plot()
            figures = []
            if drawn:
                who = BEHAVING if self.behaviours else HONEST
                save_figure(lies_figure(rows, who), self.output / "plots" / "mechanisms")
                several = "Mean over seeds, and one standard deviation."
                caption = several if len(self.seeds) > 1 else "One run each."
                figures.append(Figure(caption, lambda: lies_panels(rows, who)))
            write_text(self.output / "summary.md", markdown.render(Document(TITLE, (table,))))
            write_text(self.output / "summary.json", json.dumps(_plain(rows), indent=1) + "\n")
            section = Section(heading.text, more=(table, *figures))
            path = self.output / "report.html"
            report = write_report(path, TITLE, text, [section], footer=footer())
        show(terminal, Document("", (Heading(TITLE), Text(text), table)))
        return {"report": report, **({"plots": self.output / "plots"} if drawn else {})}

    def rows(self, outcome: Outcome) -> list[LiesRow]:
        """A row for each mechanism whose runs finished."""
        runs = {label: _by_seed(results) for label, results in outcome.runs.items()}
        return [
            lies_row(
                label,
                runs[label],
                runs[self.honest[label]],
                [(who, runs[lie]) for lie, who in lies.items() if lie in runs],
            )
            for label, lies in self.lies.items()
            if label in runs and self.honest[label] in runs
        ]


def compare_mechanisms(
    output: Path,
    *,
    config: Path | None = None,
    seeds: int | None = None,
    quick: bool = False,
    reports: str | None = None,
) -> MechanismComparison:
    """The comparison of the mechanisms in a config, or of all built-in ones in the paper's world;
    `quick` is a smaller world and fewer steps.

    reports: behaviours of clients, as TOML, for all mechanisms. If there are none, here or in the
    config, one client at a time lies.
    """
    if config is None:
        recipe = override(_recipe(quick), seeds or 1, output)
    elif quick:
        allowed = f"left out: {config} says how large the world is, and how many steps to run"
        raise InputError(f"--quick: must be {allowed}")
    else:
        recipe = load(config, seeds=seeds, output=output)
    if "bootstrap" not in recipe.tables.get("run", {}):  # a log is run once: there are many runs
        recipe = override(recipe, None, None, 0)
    given = build(recipe)
    with errors.at(recipe.name):
        for n, one in enumerate(given.algorithms.values(), 1):
            _check_can_lie(n, one)
    tables = [
        {**table, "label": str(table.get("label", table["kind"])).strip()}
        for table in recipe.tables["algorithm"]
    ]
    if reports is not None:
        tables = _with_reports(tables, reports, given.world.count)
    if not any(table.get("reports") for table in tables):
        return _one_at_a_time(recipe, tables, given.world.count)
    return _as_they_behave(recipe, tables)


def _check_can_lie(n: int, algorithm: Any) -> None:
    """Name the place in the user's file; the runs with liars have others."""
    with errors.at(f"algorithm[{n}]", {"kind", "reports", "costs"}):
        if not hasattr(algorithm, "reports"):
            kind = type(algorithm).__name__
            raise refuse("kind", kind, "IncFedUCB, whose clients can be made to lie")
        replace(algorithm, reports=Shading(1.0, clients=[0]))


def _with_reports(tables: list[dict[str, Any]], reports: str, count: int) -> list[dict[str, Any]]:
    """The algorithms with the behaviours of the command line."""
    try:
        value = tomllib.loads(f"reports = {reports}")
    except tomllib.TOMLDecodeError:
        value = {}
    if value.keys() != {"reports"}:
        raise refuse("--reports", reports, f"a list of tables, such as {EXAMPLE}")
    for n, one in enumerate(build_reports(value["reports"], "--reports", Path())):
        with errors.at(f"--reports[{n}]", {"clients"}):
            one.members(count)
    for table in tables:
        if table.get("reports"):
            said = f"left out: algorithm {table['label']!r} of the config has reports"
            raise InputError(f"--reports: must be {said}")
    return [{**table, **value} for table in tables]


def _one_at_a_time(recipe: Recipe, tables: list[dict[str, Any]], count: int) -> MechanismComparison:
    """Some clients take turns in lying."""
    liars = sorted({min(count - 1, int(place * count)) for place in PLACES})
    entries, lies = [], {}
    for table in tables:
        label = table["label"]
        own = {f"{label}: client {i} x{f:g}": (i, f) for i in liars for f in FACTORS}
        entries.append(table)
        for lie, (client, factor) in own.items():
            told = {"kind": "Shading", "factor": factor, "clients": [client]}
            entries.append({**table, "label": lie, "reports": [told]})
        lies[label] = {lie: (client,) for lie, (client, _) in own.items()}
    whole = build(replace(recipe, tables={**recipe.tables, "algorithm": entries}))
    return MechanismComparison(**vars(whole), honest={label: label for label in lies}, lies=lies)


def _as_they_behave(recipe: Recipe, tables: list[dict[str, Any]]) -> MechanismComparison:
    """Everybody acts as the user says, and for comparison everybody is honest."""
    first = tables[0]
    for n, table in enumerate(tables, 1):
        if table.get("reports") != first.get("reports"):
            allowed = "as in algorithm[1]: all are compared under one set of behaviours"
            raise refuse(f"{recipe.name}: algorithm[{n}].reports", table.get("reports"), allowed)
    truths = {table["label"]: f"{table['label']}: honest" for table in tables}
    entries = list(tables)
    for table in tables:
        plain = {key: value for key, value in table.items() if key != "reports"}
        entries.append({**plain, "label": truths[table["label"]]})
    whole = build(replace(recipe, tables={**recipe.tables, "algorithm": entries}))
    behaviours: Sequence[Behaviour] = getattr(whole.algorithms[first["label"]], "reports", ())
    who = sorted({int(i) for one in behaviours for i in one.members(whole.world.count)})
    return MechanismComparison(
        **vars(whole),
        honest=truths,
        lies={label: {label: who} for label in truths},
        behaviours="; ".join(map(str, behaviours)),
    )


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
