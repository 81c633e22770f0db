"""Algorithms side by side on the same events: figures, differences, curves, clients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..support import inputs
from ..support.inputs import counted
from ..values import Word
from . import interactive, markdown
from .arrays import FrameRecord
from .collection import collect
from .differences import difference_blocks, paired_difference
from .document import Block, Document, Figure
from .intervals import Interval
from .membership import membership_blocks
from .notebook import Shown
from .palette import pens_for
from .plots import can_plot, overview, plot
from .records import Result
from .replays import originals
from .report import Section, write_report
from .tables import METRICS, ComparisonRow, Runs, checked, compare, comparison_table, known_metrics

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class Comparison(Shown, FrameRecord):
    """The results of several algorithms, by label; each label has one result a seed. Of a log it
    has one result, which seeds would not change, and some of bootstrapped logs.

    `comparison["name"]` is the list of its results. As a frame it has one row a label: for each
    metric the mean, its standard deviation (`_sd`), and from the second label on the mean
    difference to the first (`_difference`) with its 95 % interval (`_low`, `_high`), which pairs
    the runs of each seed. Where a log skipped steps, sums are per 1,000 `matched` steps.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> ridges = {f"ridge {x}": incfed.Independent(ridge=x) for x in (0.1, 1.0)}
    >>> comparison = incfed.compare(world, ridges, steps=100, seeds=2)
    >>> comparison.to_polars().height, len(comparison["ridge 1.0"])
    (2, 2)
    """

    def __init__(self, runs: Runs) -> None:
        self.runs = {label: list(results) for label, results in checked(runs).items()}
        self.rows: list[ComparisonRow] = compare(self.runs)

    def __getitem__(self, label: str) -> list[Result]:
        return self.runs[Word(self.runs).of("label", label)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Comparison:
        """The comparison that `incfed run` wrote to this folder: its finished runs.

        >>> incfed.Comparison.load("results")
        <Comparison of Independent, DisLinUCB: 50 steps, 2 seeds>
        """
        return cls(collect(inputs.path("folder", folder)).runs)

    def difference(self, label: str, metric: str = "regret") -> Interval:
        """By how much this label's figure exceeds that of the first, seed by seed: the mean and
        its 95 % interval.

        >>> print(comparison.difference("ridge 1.0", "reward"))
        0.86 ± 6.44
        """
        Word(METRICS).of("metric", metric)
        return paired_difference(next(iter(self.runs.values())), self[label], metric)

    @property
    def clients(self) -> pandas.DataFrame:
        """One row a label and client: its figures, in the mean over the seeds.

        >>> comparison.clients.groupby("algorithm").regret.max().round(1).tolist()  # who does worst
        [2.1, 1.9]
        """
        import pandas

        frames = []
        for label, results in self.runs.items():
            own = originals(results) or results
            whole = pandas.concat([one.clients.to_pandas() for one in own])
            means = whole.groupby("client", as_index=False).mean()
            means.insert(0, "algorithm", label)
            frames.append(means)
        return pandas.concat(frames, ignore_index=True)

    def plot(self, metric: str | None = None, ax: Axes | None = None) -> Drawing:
        """A matplotlib figure of one metric over the steps, or of the four main ones; with `ax`,
        drawn there.

        >>> comparison.plot("regret").savefig("ridges.png")
        """
        if metric is None and ax is None:
            return overview(self.runs)
        return plot(self.runs, metric or self._first, ax=ax)

    def figure(self, metric: str | None = None) -> go.Figure:
        """A Plotly figure of one metric over the steps (None: the first one that is known).

        >>> comparison.figure("regret").write_html("ridges.html")
        """
        return interactive.of_runs(self.runs, metric)

    def report(self, path: str | PathLike[str], title: str = "Comparison") -> Path:
        """Write a page with tables, curves, and who gains and loses; returns its path.

        >>> comparison.report("page.html").name
        'page.html'
        """
        return write_report(path, title, f"{self!r}"[1:-1] + ".", [Section.of("", self.runs)])

    def document(self, *, figure: bool = True) -> Document:
        """The tables, the curve of the first metric, and who gains and loses.

        >>> [type(block).__name__ for block in comparison.document().blocks]
        ['Table', 'Table', 'Figure']
        """
        pens = pens_for(self.runs)
        blocks: list[Block] = [comparison_table(self.rows, pens=pens, seeds=not figure)]
        blocks += difference_blocks(self.runs)
        if figure and can_plot():
            blocks.append(Figure(f"{self._first.capitalize()} over the steps.", self._curve))
        blocks += membership_blocks(self.runs, pens=pens, figure=False)
        return Document("", tuple(blocks))

    def _curve(self) -> Drawing:
        return plot(self.runs, self._first)

    @property
    def _first(self) -> str:
        """The metric to look at first: a log may not know its regret."""
        return known_metrics(self.rows)[0]

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, Any] = {
            "algorithm": np.array([row.label for row in self.rows]),
            "seeds": np.array([row.seeds for row in self.rows]),
        }
        if any(row.bootstrap for row in self.rows):
            columns["bootstrap"] = np.array([row.bootstrap for row in self.rows])
        if any(row.matched for row in self.rows):
            matched = [row.matched.mean if row.matched else math.nan for row in self.rows]
            columns["matched"] = np.array(matched)
        for metric in known_metrics(self.rows):
            spreads = [getattr(row, metric) for row in self.rows]
            gaps = [self.difference(label, metric) for label in self.runs]
            columns[metric] = np.array([one.mean for one in spreads])
            columns[f"{metric}_sd"] = np.array([one.sd for one in spreads])
            columns[f"{metric}_difference"] = np.array([one.mean for one in gaps])
            columns[f"{metric}_low"] = np.array([one.low for one in gaps])
            columns[f"{metric}_high"] = np.array([one.high for one in gaps])
        return columns

    def _values(self) -> tuple[Any, ...]:
        return (self.runs,)

    def __repr__(self) -> str:
        first = next(iter(self.runs.values()))[0]
        seeds = counted(max(row.seeds for row in self.rows), "seed")
        if logs := max(row.bootstrap for row in self.rows):
            seeds = f"{counted(logs, 'bootstrapped log')}"
        names = ", ".join(self.runs)
        return f"<Comparison of {names}: {counted(first.regret.size, 'step')}, {seeds}>"

    def __str__(self) -> str:
        return markdown.render(self.document(figure=False))
