"""What is written when an experiment is done: a summary, plots, and a report to read."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..results import (
    METRICS,
    Runs,
    Section,
    human,
    markdown,
    pens_for,
    write_report,
)
from ..results.comparison import Comparison
from ..results.document import Block, Document, Heading, Text
from ..results.membership import membership_figure, memberships
from ..results.numbers import finite
from ..results.plots import can_plot
from ..results.replays import bootstrapped, originals
from ..results.tables import known_metrics
from ..results.tradeoff import tradeoff
from ..support.extras import install
from ..support.files import replacing, write_text
from ..support.inputs import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .engine import Outcome
    from .runs import Experiment


INTRO = (
    "{clients}, {steps}, {dim}, {arms} to choose from; {seeds}. "
    "All algorithms saw the same clients, arms and noise."
)


@dataclass(frozen=True)
class Chapter:
    """Some runs to be compared, and a few words about them."""

    heading: str
    runs: Runs
    text: str = ""

    def document(self) -> Document:
        """The tables alone, for a terminal."""
        return Document("", (Heading(self.heading), Text(self.text), *self.tables()))

    def tables(self) -> Sequence[Block]:
        """The comparison, and who gains by sharing."""
        return Comparison(self.runs).document(figure=False).blocks


def footer() -> str:
    """Who made a page, and why it has no plots if it has none."""
    lacking = "" if can_plot() else ", without plots: they need matplotlib"
    how = f" ({install('plot')})" if lacking else ""
    return f"Made by incfed {__version__}{lacking}{how}."


def publish(folder: Path, title: str, intro: str, chapters: Sequence[Chapter]) -> Path:
    """Write summary.md, summary.json and report.html; the path of the report."""
    tables = [block for one in chapters for block in (Heading(one.heading), *one.tables())]
    figures = {one.heading: _figures(one.runs) for one in chapters}
    sections = [Section.of(one.heading, one.runs, one.text) for one in chapters]
    return write_summary(folder, Document(title, tables), figures, intro, sections)


def write_summary(
    folder: Path, tables: Document, figures: object, intro: str, sections: Sequence[Section]
) -> Path:
    """Write the tables as summary.md, the figures as summary.json, and report.html; the path of
    the report. Each file appears whole or not at all."""
    write_text(folder / "summary.md", markdown.render(tables))
    write_text(folder / "summary.json", json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return write_report(folder / "report.html", tables.title, intro, sections, footer=footer())


def draw(folder: Path, comparison: Comparison) -> Path | None:
    """The plots as PNG and SVG in folder/plots; None without matplotlib."""
    if not can_plot():
        return None
    runs = comparison.runs
    save_figure(comparison.plot(), folder / "plots" / "overview")
    points = tradeoff(runs)
    if points is not None:
        save_figure(points, folder / "plots" / "tradeoff")
    if members := memberships(runs):
        save_figure(membership_figure(members, pens=pens_for(runs)), folder / "plots" / "gains")
    for metric in known_metrics(comparison.rows):  # a trace need not know its regret
        if metric in METRICS:
            save_figure(comparison.plot(metric), folder / "plots" / metric)
    return folder / "plots"


def intro(experiment: Experiment, outcome: Outcome) -> str:
    """What was run, in a sentence; and what is missing."""
    text = INTRO.format(**sizes(experiment))
    return "\n\n".join([text, *experiment.world.notes]) + not_included(outcome)


def sizes(experiment: Experiment) -> dict[str, str]:
    """How large an experiment is, in words: {"clients": "50 clients", ...}."""
    world = experiment.world
    return {
        "clients": counted(world.count, "client"),
        "dim": counted(world.dim, "feature"),
        "arms": counted(world.arms_per_step, "arm"),
        "steps": counted(experiment.steps, "step"),
        "seeds": experiment.drawn,
    }


def not_included(outcome: Outcome) -> str:
    """A paragraph on the runs that failed; empty if none did."""
    return f"\n\nNot included: {outcome.failed}, which failed." if outcome.failures else ""


def matching(runs: Runs) -> str:
    """Of runs that skipped steps, how many they did not and what each of those paid; else nothing.

    Sums over different steps cannot be compared; the reward of a matched step can.
    """
    parts = []
    for label, found in runs.items():
        results = originals(found) or found
        matched = sum(one.matched[-1] for one in results)
        steps = sum(one.matched.size for one in results)
        if matched < steps:
            each = sum(one.reward[-1] for one in results) / matched if matched else math.nan
            share = f"{matched:,.0f} of {counted(steps, 'step')} matched"
            parts.append(f"{label} {human(each)} ({share})")
    return f"Reward per matched step: {'; '.join(parts)}." if parts else ""


def save_figure(figure: Figure, stem: Path, *, dpi: int = 150) -> None:
    """As PNG and SVG, each file whole or not at all."""
    for ending in ("png", "svg"):
        with replacing(stem.with_suffix(f".{ending}")) as fresh:
            figure.savefig(fresh, dpi=dpi)


def _figures(runs: Runs) -> dict[str, list[dict[str, Any]]]:
    """The final figures of every single run, by label; what JSON cannot hold (NaN) is null."""
    return {
        label: [
            {"seed": one.settings.get("seed")}
            | ({"bootstrap": True} if bootstrapped(one.settings) else {})
            | {
                key: finite(value) if isinstance(value, float) else value
                for key, value in one.summary().items()
            }
            for one in results
        ]
        for label, results in runs.items()
    }
