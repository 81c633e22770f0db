"""The worth of a federation to its members: how many gain against learning alone, who loses, and a
figure of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..support.inputs import counted, joined, noun
from ..types import Floats
from . import axes as style
from .curves import Curve, mean_and_sd
from .document import Block, Bullets, Column, Figure, Heading, Table, TableCell, TableRow
from .gains import Gains, gains
from .numbers import human
from .palette import GRID, INK, MUTED, Pens, pens_for
from .plots import SINGLE, can_plot, new_figure, visible
from .records import Result
from .replays import originals, replicas, widening
from .tables import Runs, Spread, log_spread, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

HEADING = "Who is better off than alone"
MEASURES = {
    "regret": "the regret of a client alone less its regret in the federation",
    "reward": "the reward of a client in the federation less its reward alone",
}
NAMED = 5  # clients that are named of those that lose
POINTS = 60  # up to so many clients are marked on their line
SHORT = 24  # letters of a label that has room beside its line


@dataclass(frozen=True)
class Membership:
    """One algorithm against learning alone: the gains of the clients, for each seed; of a log, on
    it and on bootstrapped logs (`again`)."""

    label: str
    gains: Sequence[Gains]
    again: Sequence[Gains] = ()
    widening: float = 1.0  # see `replays`

    @property
    def measure(self) -> str:
        return self.gains[0].measure

    def spread_of(self, figure: str) -> Spread:
        """A figure of `_figures`, over the seeds or with its interval."""
        share = figure in ("gain", "lose")
        found, again = (
            [_figures(gains)[figure] for gains in some] for some in (self.gains, self.again)
        )
        if not again:
            return spread(found, share)
        return log_spread(found, again, share, self.widening)

    def losers(self) -> list[tuple[int, float, float]]:
        """Clients that lose in the mean over seeds, the worst first: (client, gain, paid)."""
        gain = np.mean([gains.gain for gains in self.gains], axis=0)
        paid = np.mean([gains.paid for gains in self.gains], axis=0)
        order = np.argsort(gain, kind="stable")
        return [(int(n), float(gain[n]), float(paid[n])) for n in order if gain[n] < 0]


def memberships(runs: Runs) -> list[Membership]:
    """All algorithms that can be compared with a run alone of the same seed. Of several runs alone
    the one whose settings are most like those of the algorithm."""
    bases = {label: found for label, found in runs.items() if _alone(found[0])}
    compared = []
    for label, found in runs.items():
        if not bases or label in bases:
            continue
        base = max(bases.values(), key=lambda other: _alike(found[0], other[0]))
        own, again = (_gains(some(found), some(base)) for some in (originals, replicas))
        if own or again:
            wider = widening(found[-1].settings)
            compared.append(Membership(label, own or again, again, wider))
    return compared


def _alone(result: Result) -> bool:
    """Whether no client shared anything in the run, by its protocol."""
    return bool(dict(result.settings.get("traits") or {}).get("alone"))


def _gains(found: Sequence[Result], base: Sequence[Result]) -> list[Gains]:
    """The gains of the runs whose seed the runs alone have, too."""
    alone = {result.settings.get("seed"): result for result in base}
    each = []
    for result in found:
        with suppress(KeyError, InputError):  # no such seed, or of another world
            each.append(gains(result, alone[result.settings.get("seed")]))
    return each


def membership_blocks(
    runs: Runs, *, pens: Pens | None = None, figure: bool = True
) -> Iterator[Block]:
    """A table, the clients that lose, and a figure; nothing if no run is alone."""
    found = memberships(runs)
    if not found:
        return
    yield Heading(HEADING, 3)
    yield membership_table(found, pens=pens)
    yield from _losing(found)
    if figure and can_plot():
        seeds = max(len(membership.gains) for membership in found)
        bands = "; mean over seeds, with one standard deviation on each side" * (seeds > 1)
        yield Figure(
            f"Clients from the one that gains least to the one that gains most{bands}. "
            "Where a line is below 0, clients do better alone.",
            lambda: membership_figure(found, pens=pens),
        )


def membership_table(found: Sequence[Membership], *, pens: Pens | None = None) -> Table:
    """How many clients gain and lose, how much, and what they are paid."""
    titles = {
        "gain": ("Better off", 0),
        "lose": ("Worse off", 0),
        "mean": ("Mean gain", 0),
        "least": ("Smallest", 1),
        "most": ("Largest", 3),
        "paid": ("Paid", 2),
    }
    columns = [Column(title, drop=drop) for title, drop in titles.values()]
    rows = []
    for membership in found:
        colour = pens[membership.label].colour if pens and membership.label in pens else ""
        cells = [membership.spread_of(name).cell() for name in titles]
        rows.append(TableRow((TableCell(membership.label, colour=colour), *cells)))
    seeds = " Mean ± standard deviation over seeds." if len(found[0].gains) > 1 else ""
    if logs := len(found[0].again):
        seeds = f" ± half of the 95 % interval from {counted(logs, 'bootstrapped log')}."
    if any(gains.skipped for each in found for gains in each.gains):
        seeds += " Gains and payments are for all steps of the log, at the rate of matched ones."
    note = (
        "Share of the clients that are better off than alone, and worse off. Gain: "
        f"{MEASURES[found[0].measure]}. Paid: money, in the mean of all clients; it is not part of "
        f"the gain.{seeds}"
    )
    return Table((Column("Algorithm", "left"), *columns), tuple(rows), note)


def membership_figure(found: Sequence[Membership], *, pens: Pens | None = None) -> Drawing:
    """The clients' gains in ascending order, a line for each algorithm."""
    chosen = {**pens_for(membership.label for membership in found), **(pens or {})}
    figure = new_figure(*SINGLE)
    axes = figure.add_subplot()
    lines: dict[str, Curve] = {}
    for order, membership in enumerate(found):
        line = _sorted_gains(membership.gains)
        pen, few = visible(chosen[membership.label], line, lines), line.x.size <= POINTS
        lines[membership.label] = line
        if np.isfinite(line.sd).any():
            axes.fill_between(
                line.x, line.mean - line.sd, line.mean + line.sd,
                color=pen.colour, alpha=0.14, linewidth=0, zorder=1 + order / 100,
            )  # fmt: skip
        axes.plot(
            line.x, line.mean, color=pen.colour, linestyle=pen.dashes, linewidth=1.8,
            marker="o" if few else "", markersize=3.0, zorder=3 + order / 100, clip_on=False,
        )  # fmt: skip
    style.dress_plane(axes, "Gain by client", _note(found[0].measure), "share of the clients")
    axes.axhline(0, color=INK, linewidth=1.0, zorder=2)
    axes.set_xlim(0, 100)
    axes.set_ylim(axes.get_ylim())  # fixed, for the labels
    axes.xaxis.set_major_formatter("{x:.0f} %")
    axes.spines["bottom"].set_visible(False)
    if min(line.mean[0] for line in lines.values()) < 0:
        axes.axhspan(axes.get_ylim()[0], 0, color=GRID, alpha=0.3, linewidth=0, zorder=0)
        axes.annotate(
            "better off alone", xy=(100, 0), xytext=(0, -5), textcoords="offset points",
            ha="right", va="top", fontsize=8.5, color=MUTED,
        )  # fmt: skip
    if max(map(len, lines)) <= SHORT:
        style.label_ends(figure, axes, lines, chosen)
    else:
        style.legend(figure, {label: chosen[label] for label in lines})
    return figure


def _note(measure: str) -> str:
    return f"{'less regret' if measure == 'regret' else 'more reward'} than alone, each client"


def _sorted_gains(found: Sequence[Gains]) -> Curve:
    """By rank, not by client: in another seed a client may be another one."""
    each = [np.sort(gains.gain[gains.active]) for gains in found]
    count = max(gain.size for gain in each)
    places = _places(count)
    values = np.array([np.interp(places, _places(gain.size), gain) for gain in each if gain.size])
    mean, sd = mean_and_sd(values, np.ones_like(values))
    return Curve(places, mean, sd)


def _places(count: int) -> Floats:
    """Where `count` clients are on an axis from 0 to 100 %."""
    return 100 * (np.arange(count) + 0.5) / max(count, 1)


def _figures(one: Gains) -> dict[str, float]:
    gain, paid = one.gain[one.active], one.paid[one.active]
    if not gain.size:
        return dict.fromkeys(("gain", "lose", "mean", "least", "most", "paid"), float("nan"))
    return {
        "gain": one.share,
        "lose": one.losers.size / gain.size,
        "mean": float(gain.mean()),
        "least": float(gain.min()),
        "most": float(gain.max()),
        "paid": float(paid.mean()),
    }


def _losing(found: Sequence[Membership]) -> Iterator[Block]:
    """The clients that are worse off, by name."""
    lines = []
    for membership in found:
        losers = membership.losers()
        if not losers:
            continue
        paid = any(gains.paid.any() for gains in membership.gains)
        names = [
            f"client {client} ({human(gain)}{f', paid {human(money)}' * paid})"
            for client, gain, money in losers[:NAMED]
        ]
        rest = len(losers) - len(names)
        if rest:
            names.append(f"{rest:,} {noun(rest, 'other')}")
        seeds = " in the mean over seeds" if len(membership.gains) > 1 else ""
        verb, who = ("is", "it acts") if len(losers) == 1 else ("are", "they act")
        steps = np.sum([gains.steps for gains in membership.gains], axis=0)
        share = steps[[client for client, _, _ in losers]].sum() / steps.sum()
        lines.append(
            f"{membership.label}: {joined(names)} {verb} worse off{seeds}; {who} in "
            f"{100 * share:.0f} % of the steps"
        )
    if lines:
        yield Bullets(tuple(lines))


def _alike(one: Result, other: Result) -> int:
    """How many settings two algorithms have in common."""
    ours, theirs = (dict(result.settings.get("algorithm") or {}) for result in (one, other))
    return sum(key in theirs and theirs[key] == value for key, value in ours.items())
