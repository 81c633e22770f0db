"""Algorithms side by side: differences by hand, frames, pictures, and what notebooks show."""

from __future__ import annotations

import math
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import incfed
from incfed.errors import InputError
from incfed.results import Comparison
from incfed.results.differences import paired_difference
from support.results import sample, settings, silent

# Final regret of 10 / 3 times the scale: 1, 2 and 4 against 1, 1 and 1, seed by seed.
RUNS = {
    "one": [sample(scale=0.3, seed=seed) for seed in (0, 1, 2)],
    "other": [sample(scale=0.3 * times, seed=seed) for seed, times in ((2, 4), (0, 1), (1, 2))],
}
T = 4.302652729911275  # the 97.5 % quantile of Student's t with 2 degrees of freedom


def test_differences_are_paired_by_seed() -> None:
    found = Comparison(RUNS).difference("other")  # 0, 1 and 3
    assert found.mean == pytest.approx(4 / 3)
    assert found.half == pytest.approx(T * math.sqrt(7 / 3) / math.sqrt(3))
    # Were the other seeds taken in order, the spread would differ.
    assert Comparison(RUNS).difference("one").mean == 0.0
    assert Comparison(RUNS).difference("other", "payment").half == 0.0


def test_as_a_frame() -> None:
    frame = Comparison(RUNS).to_pandas()
    assert frame["algorithm"].tolist() == ["one", "other"]
    assert frame["seeds"].tolist() == [3, 3]
    assert frame["regret"].tolist() == pytest.approx([1.0, 7 / 3])
    assert frame["regret_sd"].tolist() == pytest.approx([0.0, math.sqrt(7 / 3)])
    low, high = frame["regret_low"][1], frame["regret_high"][1]
    assert (low + high) / 2 == pytest.approx(frame["regret_difference"][1]) == pytest.approx(4 / 3)
    assert Comparison(RUNS).to_polars().columns == frame.columns.tolist()


def test_clients_in_the_mean_over_seeds() -> None:
    frame = Comparison(RUNS).clients
    assert frame["algorithm"].tolist() == ["one"] * 4 + ["other"] * 4
    assert frame["client"].tolist() == [0, 1, 2, 3] * 2
    assert frame["paid"].tolist() == [0.0, 0.0, 0.0, 2.5] * 2


def test_runs_of_other_events_are_no_pairs() -> None:
    """The same seed draws something else in another world, or in a longer run."""
    base = [sample(seed=1)]
    seen = dict(base[0].settings)
    assert paired_difference(base, base, "regret").mean == 0.0
    for other in ({"world": {**seen["world"], "resample": "clients"}}, {"steps": 77}):
        moved = replace(base[0], settings={**seen, **other})
        assert math.isnan(paired_difference(base, [moved], "regret").mean)


def test_what_has_no_pairs_is_left_out_of_the_differences() -> None:
    longer = [replace(one, settings={**one.settings, "steps": 77}) for one in RUNS["other"]]
    text = str(Comparison({**RUNS, "longer": longer}))
    assert text.count("| longer |") == 1  # its own figures
    assert "Left out: those without runs of the same world, steps and seeds." in text
    assert "Left out" not in str(Comparison(RUNS))


def test_results_by_label() -> None:
    one = Comparison(RUNS)
    assert list(one) == ["one", "other"]
    assert len(one) == 2
    assert one["other"] == RUNS["other"]
    with pytest.raises(InputError, match=r"label: got 'third', must be one of 'one', 'other'"):
        one["third"]
    with pytest.raises(InputError, match=r"metric: got 'speed'"):
        one.difference("other", "speed")
    assert repr(one) == "<Comparison of one, other: 10 steps, 3 seeds>"


def test_as_text() -> None:
    text = str(Comparison(RUNS))
    assert "| Against one | Regret |" in text
    assert "| other | +1.33 ± 3.79 |" in text
    assert "over 3 seeds" in text
    assert "Against" not in str(Comparison({"a": [sample()], "b": [sample()]}))  # one seed


def test_what_is_unknown_has_no_difference() -> None:
    quiet = [replace(silent(), settings=settings(seed=seed, steps=10)) for seed in (0, 2)]
    runs = {"silent": quiet, "other": RUNS["other"]}
    text = str(Comparison(runs))
    difference = next(line for line in text.splitlines() if "Against" in line)
    assert "Participation" not in difference  # the first has no rounds
    assert "Participation" in text


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]


def test_notebooks_show_tables_and_a_curve() -> None:
    one, two = Tags(), Tags()
    one.feed(Comparison(RUNS)._repr_html_())
    two.feed(RUNS["one"][0]._repr_html_())
    assert one.found.count("table") == 2
    assert two.found.count("table") == 1
    assert "svg" in one.found
    assert "svg" in two.found
    assert "script" not in one.found
    assert not set(one.ids) & set(two.ids)  # both may stand in one notebook


def test_hostile_labels_are_text() -> None:
    page = Comparison({"<script>alert(1)</script>": [sample()]})._repr_html_()
    assert "<script" not in page


def test_figures_show_themselves() -> None:
    figure = Comparison(RUNS).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert len(figure.axes) == 4


def test_drawn_where_asked() -> None:
    ours = Figure()
    axes = ours.subplots(1, 2)
    assert Comparison(RUNS).plot("payment", ax=axes[1]) is ours
    assert axes[1].lines
    assert not axes[0].lines
    RUNS["one"][0].plot(ax=axes[0])  # of regret, if nothing is said
    np.testing.assert_allclose(axes[0].lines[0].get_ydata()[-1], 1.0)


def test_report(tmp_path: Path) -> None:
    page = Comparison(RUNS).report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Against one" in page
    assert "Comparison of one, other" in page
    with pytest.raises(InputError, match="path"):
        Comparison(RUNS).report(tmp_path)


def test_compare_runs_every_algorithm_with_every_seed() -> None:
    world = incfed.Synthetic(clients=3, dim=2, arms=3)
    algorithms = {
        "alone": incfed.Independent(),
        "paid": incfed.IncFedUCB(incfed.PayEveryone(), threshold=0.5, costs=1.0),
    }
    found = incfed.compare(world, algorithms, 40, seeds=2)
    for label, algorithm in algorithms.items():
        for seed in (0, 1):
            again = incfed.simulate(world, algorithm, steps=40, seed=seed)
            assert found[label][seed] == again


@pytest.mark.parametrize(
    ("algorithms", "seeds", "message"),
    [
        ({}, 2, r"algorithms: got \{\}, must be by label"),
        ([incfed.Independent()], 2, "algorithms: "),
        ({"a": incfed.Independent()}, 0, "seeds: got 0"),
        ({"a": 3}, 1, "algorithm: got 3"),
    ],
)
def test_bad_input(algorithms: object, seeds: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        incfed.compare(incfed.Synthetic(), algorithms, 10, seeds=seeds)  # type: ignore[arg-type]
