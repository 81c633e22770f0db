from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

from incfed.errors import InputError
from incfed.results import (
    METRICS,
    Pen,
    Result,
    Rounds,
    Runs,
    overview,
    pens_for,
    plot,
)
from incfed.results.axes import _apart
from incfed.results.curves import DOTS, POINTS, curve
from support.results import bare, round_record, sample, silent

RUNS: Runs = {"a": [sample(scale=s) for s in (1.0, 2.0, 6.0)], "b": [sample(scale=3.0)]}


def steady(share: float, steps: int = 2000, clients: int = 10, every: int = 20) -> Result:
    """A run in which each round gets `share` of the clients."""
    ids = np.arange(round(share * clients))
    rounds = [
        round_record(step, 0, clients, 0, 1.0, 1.0, ids, np.zeros(ids.size))
        for step in range(0, steps, every)
    ]
    return bare(np.zeros(steps), Rounds.collect(rounds))


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_drawn(metric: str) -> None:
    (axes,) = plot(RUNS, metric).axes
    assert axes.get_title(loc="left").lower().startswith(metric)
    assert len(axes.lines) == (4 if metric == "participation" else 2)  # dots beside each line
    # One band: "b" has one seed only, and the other metrics are the same for all seeds of "a".
    assert len(axes.collections) == (1 if metric in ("regret", "reward") else 0)


def test_the_line_is_the_mean_and_the_band_one_standard_deviation() -> None:
    line = curve(RUNS["a"], "reward")
    values = np.array([result.reward for result in RUNS["a"]])
    assert line.x.tolist() == list(range(1, 11))
    assert np.allclose(line.mean, values.mean(axis=0))
    assert np.allclose(line.sd, values.std(axis=0, ddof=1))
    (axes,) = plot(RUNS, "reward").axes
    assert np.allclose(axes.lines[0].get_ydata(), values.mean(axis=0))
    corners = np.asarray(axes.collections[0].get_paths()[0].vertices)
    top = (values.mean(axis=0) + values.std(axis=0, ddof=1))[-1]
    assert corners[:, 1].max() == pytest.approx(top)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(InputError, match="metric"):
        plot(RUNS, "regrets")
    with pytest.raises(InputError, match="runs"):
        overview({})


def test_long_runs_are_thinned_and_keep_their_ends() -> None:
    long = sample(steps=100_000)
    line = curve([long], "reward")
    assert line.x.size <= POINTS <= 400
    assert (line.x[0], line.x[-1]) == (1, 100_000)
    assert line.mean[-1] == long.reward[-1]
    assert curve([sample(steps=10), long], "reward").x[-1] == 10  # the shortest sets the end
    assert curve([bare(np.ones(1))], "reward").x.tolist() == [1]


def test_participation_is_the_share_that_joined() -> None:
    line = curve([steady(0.4), steady(0.8)], "participation")
    assert np.allclose(line.mean, 0.6)
    assert np.allclose(line.sd, np.sqrt(0.08))
    assert curve([silent()], "participation").empty


def test_participation_is_shown_as_measured() -> None:
    result = sample(steps=1000)  # two of three share, then nobody of two, then nobody has anything
    line = curve([result], "participation")
    assert line.dots is not None
    assert [values.tolist() for values in line.dots] == [[3, 6], [2 / 3, 0]]
    assert np.isnan(line.mean[0])  # before the first round
    assert line.mean[1] == pytest.approx(2 / 3)
    assert line.mean[-1] == result.summary()["participation"]  # as in the table
    many = curve([steady(0.4, every=1)], "participation")
    assert many.dots is not None
    assert DOTS / 2 <= many.dots[0].size <= DOTS


def test_participation_of_seeds_without_rounds_is_left_out() -> None:
    line = curve([steady(0.4), silent(2000)], "participation")
    assert np.allclose(line.mean, 0.4)


def test_overview_without_regret_shows_reward() -> None:
    def titles(runs: Runs) -> list[str]:
        return [axes.get_title(loc="left") for axes in overview(runs).axes]

    rest = ["Communication", "Payment", "Participation"]
    assert titles(RUNS) == ["Regret", *rest]
    assert titles({"a": [sample(known=False)]}) == ["Reward", *rest]
    assert titles({"a": [sample(known=False)], "b": [sample()]}) == ["Regret", *rest]


def test_algorithms_without_a_line_are_named() -> None:
    (axes,) = plot({"loud": [sample()], "quiet": [silent()]}, "participation").axes
    assert "no rounds: quiet" in [text.get_text() for text in axes.texts]


def test_colours_stay_with_the_algorithm() -> None:
    fixed = pens_for(["x", "a", "b"])
    (axes,) = plot(RUNS, "regret", pens=fixed).axes
    assert [line.get_color() for line in axes.lines] == [fixed["a"].colour, fixed["b"].colour]
    many = pens_for(map(str, range(21)))
    assert len(set(many.values())) == 21
    (axes,) = plot(RUNS, "regret", pens={"b": Pen("#123456")}).axes
    assert axes.lines[1].get_color() == "#123456"


def test_lines_on_top_of_each_other_both_show() -> None:
    (axes,) = plot({"a": [sample()], "b": [sample()], "c": [sample(scale=2)]}, "regret").axes
    styles = [line.get_linestyle() for line in axes.lines]
    assert styles == ["-", "--", "-"]


def test_labels_are_taken_literally() -> None:
    names = ["_hidden", "$a_b^$", "plain"]
    figure = overview({name: [sample()] for name in names})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
    figure.draw_without_rendering()  # "$a_b^$" would fail as mathematics
    ends = plot({name: [sample()] for name in names}, "regret")
    ends.draw_without_rendering()
    assert set(names) <= {text.get_text() for text in ends.axes[0].texts}


def test_one_bad_curve_does_not_flatten_the_others() -> None:
    def ending(*values: float) -> Runs:
        return {str(value): [bare(np.linspace(0, value, 50))] for value in values}

    (axes,) = plot(ending(8, 7, 9, 104), "regret").axes
    height = axes.transData + axes.transAxes.inverted()
    places = {x: float(height.transform((0, x))[1]) for x in (0, 7, 9, 104)}
    assert places[0] == pytest.approx(0)
    assert places[9] - places[7] > 0.12  # a linear axis leaves 0.02
    assert 0.9 < places[104] <= 1
    assert any("compressed" in text.get_text() for text in axes.texts)
    marks = [float(mark) for mark in axes.get_yticks()]
    assert marks == sorted(set(marks))
    assert max(marks) > 20
    (axes,) = plot(ending(1, 100, 110, 120), "payment").axes
    assert axes.get_yscale() == "symlog"
    (axes,) = plot(ending(50, 80, 104), "regret").axes
    assert axes.get_yscale() == "linear"


def test_axes_start_at_zero() -> None:
    for runs in (RUNS, {"free": [silent()]}):
        for axes in overview(runs).axes:
            assert axes.get_ylim()[0] == 0
            assert axes.get_ylim()[1] >= 1
    (axes,) = plot({"a": [bare(np.linspace(0, -5, 10))]}, "reward").axes
    assert axes.get_ylim()[0] <= -5


def test_rounding_is_no_spread() -> None:
    same = [bare(np.linspace(0.1, 7.7, 50))] * 3
    assert 0 < curve(same, "reward").sd.max() < 1e-12
    (axes,) = plot({"a": same}, "reward").axes
    assert not axes.collections


def test_labels_are_moved_apart_and_no_further() -> None:
    assert _apart([0.1, 0.5], 0.1) == pytest.approx([0.1, 0.5])
    assert _apart([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    assert _apart([0.0, 0.5, 0.52, 0.65], 0.1) == pytest.approx(
        [0.0, 0.4567, 0.5567, 0.6567], abs=1e-3
    )


def test_no_global_state() -> None:
    before = dict(matplotlib.rcParams)
    assert len(sample().plot("payment").axes) == 1
    assert len(sample().plot().axes) == 4
    assert dict(matplotlib.rcParams) == before


def test_no_pyplot() -> None:
    code = f"""
import io, sys
sys.path[:0] = {sys.path!r}
from support.results import sample
sample().plot().savefig(io.StringIO(), format="svg")
assert "matplotlib.figure" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
