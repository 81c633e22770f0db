"""The launch step by step, with the advice and if nobody shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..experiments.cells import Record
from ..results import document as doc
from ..results.curves import Curve
from ..results.intervals import Interval
from ..results.numbers import finite
from ..results.palette import pens_for
from ..results.plots import can_plot, labelled
from ..results.sketches import Dot, chart
from ..support.inputs import counted
from .goals import GAINS

POINTS = 100  # of a curve
SIZE = (8.0, 3.3)  # of the chart, in inches: as wide as the page
SHARED, ALONE = "with sharing", "without"
BAND = (
    "The band is a 95 % interval of the difference: where the other line is outside of it, the "
    "difference is more than chance."
)


@dataclass(frozen=True)
class Launch:
    """Reward or regret so far, at some steps: means of the held-out runs."""

    metric: str
    steps: Sequence[int]
    shared: Sequence[float]
    alone: Sequence[float]
    gain: Sequence[Interval]  # how much better sharing is, seed by seed

    @classmethod
    def of(
        cls,
        metric: str,
        shared: Sequence[Record],
        alone: Sequence[Record],
        interval: Callable[[Iterable[float]], Interval],
    ) -> Launch:
        """From the runs of the same seeds; `interval`: of the mean of values, seed by seed."""
        steps = shared[0].curve["step"]
        at = np.unique(np.linspace(0, len(steps) - 1, min(POINTS, len(steps))).round().astype(int))
        with_it, without = (
            np.array([record.curve[metric] for record in records])[:, at]
            for records in (shared, alone)
        )
        better = with_it - without if metric in GAINS else without - with_it
        return cls(
            metric,
            [int(steps[n]) for n in at],
            [float(x) for x in with_it.mean(axis=0)],
            [float(x) for x in without.mean(axis=0)],
            [interval(column.tolist()) for column in better.T],
        )

    def block(self) -> doc.Figure:
        """A chart of both."""
        lines = self._lines()
        draw = partial(
            labelled, lines, self.metric, pens_for(lines), size=SIZE, among=[lines[ALONE]]
        )
        what = f"Mean {self.metric} so far over {counted(self.steps[-1], 'step')}"

        return doc.Figure(
            f"{what}, {SHARED} and {ALONE}. {BAND}",
            draw=draw if can_plot() else None,
            sketch=self._sketch,
        )

    def as_data(self) -> dict[str, Any]:
        """Columns, for plan.json; what is unknown is null."""
        columns = {"shared": self.shared, "alone": self.alone}
        columns |= {"low": [one.low for one in self.gain], "high": [one.high for one in self.gain]}
        known = {name: [*map(finite, values)] for name, values in columns.items()}
        return {"metric": self.metric, "step": [*self.steps], **known}

    def _lines(self) -> dict[str, Curve]:
        x, half = np.array(self.steps), np.array([one.half for one in self.gain])
        return {
            SHARED: Curve(x, np.array(self.shared), half),
            ALONE: Curve(x, np.array(self.alone), np.full(len(x), np.nan)),
        }

    def _sketch(self, width: int) -> list[str]:
        dots: list[Dot] = [(x, y, "·") for x, y in zip(self.steps, self.alone, strict=True)]
        dots += [(x, y, "●") for x, y in zip(self.steps, self.shared, strict=True)]
        title = f"{self.metric.capitalize()} so far   ● {SHARED}   · {ALONE}"
        return [title, *chart(dots, width=width, across="step")]
