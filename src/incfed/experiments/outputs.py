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
from ..results.palette import pens_for
from ..results.report import common_settings
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


def can_plot() -> bool:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


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
    return write_report(
        folder / "report.html", title, intro, [_section(one) for one in chapters], footer=footer()
    )


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


def _section(chapter: Chapter) -> Section:
    if can_plot():
        return Section.of(chapter.heading, chapter.runs, chapter.text)
    return Section(
        heading=chapter.heading,
        text=chapter.text,
        rows=compare(chapter.runs),
        settings=common_settings(chapter.runs),
        pens=pens_for(chapter.runs),
    )


def _save(figure: Figure, stem: Path) -> None:
    for ending in ("png", "svg"):
        with replacing(stem.with_suffix(f".{ending}")) as fresh:
            figure.savefig(fresh, dpi=150)


def _figures(runs: Runs) -> dict[str, list[dict[str, Any]]]:
    """The final figures of every single run, by label; what JSON cannot hold (NaN) is null."""
    return {
        label: [
            {"seed": one.settings.get("seed")}
            | {key: _finite(value) for key, value in one.summary().items()}
            for one in results
        ]
        for label, results in runs.items()
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
