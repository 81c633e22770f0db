"""Figures 1 to 4 of the paper: payment-free against payment-efficient, and the ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...results import axes as style
from ...results.curves import Curve, mean_and_sd
from ...results.palette import INK, Pens, pens_for
from ...results.plots import new_figure, panel
from ...results.tables import spread
from ..cells import Record
from .settings import FREE, MOVIELENS, PAID, SYNTHETIC, VARIANTS, PaperSetting
from .verdicts import Records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COSTS = (1.0, 10.0, 100.0)
BETA, THRESHOLD = 0.7, "high"  # not printed; the middle one of the tables, and Table 1's D_c
ARMS = 25  # a random policy earns a reward of 1 in so many steps


@dataclass(frozen=True)
class PaperFigure:
    """One figure of the paper."""

    name: str
    title: str
    world: str
    ablation: bool

    def settings(self) -> list[PaperSetting]:
        return [self.setting(label, cost) for label in self.labels for cost in COSTS]

    @property
    def labels(self) -> list[str]:
        return list(VARIANTS) if self.ablation else [FREE, PAID]

    def setting(self, label: str, cost: float) -> PaperSetting:
        if label == FREE:
            return PaperSetting(self.world, THRESHOLD, method=FREE, cost=cost)
        variant = label if self.ablation else "full"
        return PaperSetting(self.world, THRESHOLD, cost=cost, beta=BETA, variant=variant)

    @property
    def performance(self) -> str:
        return "gain" if self.world == MOVIELENS else "regret"

    @property
    def caption(self) -> str:
        bands = "Mean over seeds; bands are one standard deviation wide on each side."
        if self.ablation:
            bands = (
                "Trajectories are means over seeds and over D = 1, 10, 100. "
                "Payments are relative to the largest at the same D."
            )
        return f"{self.title} (β = {BETA}, {THRESHOLD} D_c; neither is printed). {bands}"


FIGURES = {
    drawing.name: drawing
    for drawing in (
        PaperFigure("figure1", "Synthetic: payment-free and payment-efficient", SYNTHETIC, False),
        PaperFigure("figure2", "Synthetic: what each part of the search is worth", SYNTHETIC, True),
        PaperFigure("figure3", "MovieLens: payment-free and payment-efficient", MOVIELENS, False),
        PaperFigure("figure4", "MovieLens: what each part of the search is worth", MOVIELENS, True),
    )
}


def draw(drawing: PaperFigure, records: Records) -> Figure | None:
    """The figure; None while a setting of it has no run yet."""
    if not all(records.get(setting) for setting in drawing.settings()):
        return None
    return _ablation(drawing, records) if drawing.ablation else _comparison(drawing, records)


def _comparison(drawing: PaperFigure, records: Records) -> Figure:
    """Performance above, communication below; a column for each cost."""
    pens = pens_for(drawing.labels)
    figure = new_figure(10.4, 6.6)
    grid = figure.subplots(2, len(COSTS))
    runs = {
        cost: {label: records[drawing.setting(label, cost)] for label in drawing.labels}
        for cost in COSTS
    }
    for row, metric in zip(grid, (drawing.performance, "communication"), strict=True):
        found = {cost: _lines(runs[cost], metric) for cost in COSTS}
        every = [line for lines in found.values() for line in lines.values()]
        for axes, (cost, lines) in zip(row, found.items(), strict=True):
            panel(axes, lines, metric, pens, title=f"D = {cost:g}", among=every)
        top = max(axes.get_ylim()[1] for axes in row)  # one scale for all costs
        for axes in row:
            axes.set_ylim(0, top)
        row[0].set_ylabel(style.TITLES[metric][0], fontsize=9.5, color=INK)
    style.legend(figure, pens)
    return figure


def _ablation(drawing: PaperFigure, records: Records) -> Figure:
    """Performance, communication, and bars of payment at each cost."""
    pens = pens_for(drawing.labels)
    runs = {
        label: [run for cost in COSTS for run in records[drawing.setting(label, cost)]]
        for label in drawing.labels
    }
    figure = new_figure(10.4, 3.9)
    first, second, third = figure.subplots(1, 3)
    panel(first, _lines(runs, drawing.performance, bands=False), drawing.performance, pens)
    panel(second, _lines(runs, "communication", bands=False), "communication", pens)
    _bars(third, drawing, records, pens)
    style.legend(figure, pens)
    return figure


def _bars(axes: Axes, drawing: PaperFigure, records: Records, pens: Pens) -> None:
    width = 0.8 / len(drawing.labels)
    for group, cost in enumerate(COSTS):
        paid = {
            label: spread([run.figures["payment"] for run in records[drawing.setting(label, cost)]])
            for label in drawing.labels
        }
        most = max(one.mean for one in paid.values()) or 1.0
        for n, (label, one) in enumerate(paid.items()):
            axes.bar(
                group + (n - (len(paid) - 1) / 2) * width,
                one.mean / most,
                width * 0.9,
                yerr=None if np.isnan(one.sd) else one.sd / most,
                color=pens[label].colour,
                error_kw={"ecolor": INK, "elinewidth": 0.8},
            )
    style.dress_bars(axes, "Payment", "of the largest at each D", [f"D = {c:g}" for c in COSTS])


def _lines(
    runs: Mapping[str, Sequence[Record]], metric: str, *, bands: bool = True
) -> dict[str, Curve]:
    """Mean and spread over runs, which all have their points at the same steps."""
    lines = {}
    for label, records in runs.items():
        step = np.array(records[0].curve["step"])
        if metric == "gain":
            values = np.array([record.curve["reward"] for record in records]) / (step / ARMS)
        else:
            values = np.array([record.curve[metric] for record in records])
        mean, sd = mean_and_sd(values, np.ones_like(values))
        lines[label] = Curve(step.astype(np.int64), mean, sd if bands else np.full_like(sd, np.nan))
    return lines
