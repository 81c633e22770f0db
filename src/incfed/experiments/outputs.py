"""What is written when an experiment is done: a summary, plots, and a report to read."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..results import METRICS, Runs, Section, compare, human, markdown, overview, plot, write_report
from ..results.document import Document, Heading
from ..results.numbers import finite
from ..results.plots import can_plot
from ..results.tables import comparison_table
from ..support.extras import install
from ..support.files import replacing, write_text
from ..support.inputs import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .engine import Outcome
    from .runs import Experiment


@dataclass(frozen=True)
class Chapter:
    """Some runs to be compared, and a few words about them."""

    heading: str
    runs: Runs
    text: str = ""


def footer() -> str:
    """Who made a page, and why it has no plots if it has none."""
    lacking = "" if can_plot() else ", without plots: they need matplotlib"
    how = f" ({install('plot')})" if lacking else ""
    return f"Made by incfed {__version__}{lacking}{how}."


def publish(folder: Path, title: str, intro: str, chapters: Sequence[Chapter]) -> Path:
    """Write summary.md, summary.json and report.html; the path of the report."""
    tables = [
        block
        for one in chapters
        for block in (Heading(one.heading), comparison_table(compare(one.runs)))
    ]
    write_text(folder / "summary.md", markdown.render(Document(title, tables)))
    figures = {one.heading: _figures(one.runs) for one in chapters}
    write_text(folder / "summary.json", json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    sections = [Section.of(one.heading, one.runs, one.text) for one in chapters]
    return write_report(folder / "report.html", title, intro, sections, footer=footer())


def draw(folder: Path, runs: Runs) -> Path | None:
    """The plots as PNG and SVG in folder/plots; None without matplotlib."""
    if not can_plot():
        return None
    _save(overview(runs), folder / "plots" / "overview")
    for metric in METRICS:
        finals = [getattr(row, metric).mean for row in compare(runs)]
        if not all(map(math.isnan, finals)):  # a trace need not know its regret
            _save(plot(runs, metric), folder / "plots" / metric)
    return folder / "plots"


def intro(experiment: Experiment, outcome: Outcome) -> str:
    """What was run, in a sentence; and what is missing."""
    world, seeds = experiment.world, len(experiment.seeds)
    text = (
        f"{counted(world.count, 'client')}, {counted(experiment.steps, 'step')}, "
        f"{counted(world.dim, 'feature')}, "
        f"{counted(world.arms_per_step, 'arm')} to choose from; {counted(seeds, 'seed')}. "
        "All algorithms saw the same clients, arms and noise."
    )
    text = "\n\n".join([text, *world.notes])
    failed = len(outcome.failures)
    if failed:
        text += f"\n\nNot included: {failed} of {counted(outcome.total, 'run')}, which failed."
    return text


def matching(runs: Runs) -> str:
    """Of runs that skipped steps, how many they did not and what each of those paid; else nothing.

    Sums over different steps cannot be compared; the reward of a matched step can.
    """
    parts = []
    for label, results in runs.items():
        matched = sum(one.matched[-1] for one in results)
        steps = sum(one.matched.size for one in results)
        if matched < steps:
            each = sum(one.reward[-1] for one in results) / matched if matched else math.nan
            share = f"{matched:,.0f} of {counted(steps, 'step')} matched"
            parts.append(f"{label} {human(each)} ({share})")
    return f"Reward per matched step: {'; '.join(parts)}." if parts else ""


def _save(figure: Figure, stem: Path) -> None:
    for ending in ("png", "svg"):
        with replacing(stem.with_suffix(f".{ending}")) as fresh:
            figure.savefig(fresh, dpi=150)


def _figures(runs: Runs) -> dict[str, list[dict[str, Any]]]:
    """The final figures of every single run, by label; what JSON cannot hold (NaN) is null."""
    return {
        label: [
            {"seed": one.settings.get("seed")}
            | {
                key: finite(value) if isinstance(value, float) else value
                for key, value in one.summary().items()
            }
            for one in results
        ]
        for label, results in runs.items()
    }
