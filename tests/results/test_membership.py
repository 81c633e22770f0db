"""What a report says of the members of a federation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import incfed
from incfed.results import Result, markdown
from incfed.results.membership import membership_blocks, membership_figure, memberships
from support.results import ALL_ALONE, STEPS, TOGETHER, by_client


def runs() -> dict[str, list[Result]]:
    return {
        "alone": [ALL_ALONE, replace(ALL_ALONE, settings={**ALL_ALONE.settings, "seed": 1})],
        "together": [TOGETHER],
    }


def test_runs_are_paired_by_seed() -> None:
    (one,) = memberships(runs())
    assert one.label == "together"
    assert [found.gain.tolist() for found in one.gains] == [[3.0, 0.0, 0.0, -2.5]]
    assert one.losers() == [(3, -2.5, 2.5)]
    other = {**TOGETHER.settings, "seed": 7}
    assert memberships(runs() | {"together": [replace(TOGETHER, settings=other)]}) == []
    assert memberships({"together": [TOGETHER]}) == []
    assert memberships({"alone": [ALL_ALONE]}) == []
    elsewhere = {**TOGETHER.settings, "world": {"arms": 3}}
    assert memberships(runs() | {"together": [replace(TOGETHER, settings=elsewhere)]}) == []


def test_of_several_runs_alone_the_one_that_learns_alike() -> None:
    wide, narrow = (
        by_client(STEPS, [2.0] * 4, [regret] * 4, algorithm={"exploration": alpha})
        for alpha, regret in ((1.0, 9.0), (0.3, 3.0))
    )
    ours = by_client(STEPS, [2.0] * 4, [1.0] * 4, kind="IncFedUCB", algorithm={"exploration": 0.3})
    (one,) = memberships({"wide": [wide], "narrow": [narrow], "ours": [ours]})
    assert one.gains[0].gain.tolist() == [2.0] * 4


def test_what_a_report_says() -> None:
    blocks = list(membership_blocks(runs(), figure=False))
    text = "\n\n".join(markdown._block(block) for block in blocks)
    assert text == (
        "### Who is better off than alone\n\n"
        "| Algorithm | Better off | Worse off | Mean gain | Smallest | Largest | Paid |\n"
        "|---|---:|---:|---:|---:|---:|---:|\n"
        "| together | 33 % | 33 % | 0.167 | -2.50 | 3 | 0.833 |\n\n"
        "Share of the clients that are better off than alone, and worse off. Gain: the regret of a "
        "client alone less its regret in the federation. Paid: money, in the mean of all clients; "
        "it is not part of the gain.\n\n"
        "- together: client 3 (-2.50, paid 2.50) is worse off; it acts in 42 % of the steps"
    )
    assert list(membership_blocks({"together": [TOGETHER]})) == []


def test_the_figure_shows_every_client_in_order() -> None:
    both = [replace(TOGETHER, settings={**TOGETHER.settings, "seed": seed}) for seed in (0, 1)]
    figure = membership_figure(memberships(runs() | {"together": both}))
    line: Any = figure.axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), [-2.5, 0.0, 3.0])
    np.testing.assert_allclose(line.get_xdata(), [100 / 6, 50, 500 / 6])


def test_long_labels_go_above_the_figure() -> None:
    short, long = "together", "everyone paid, patient 5, one-for-one"
    for label, above in ((short, False), (long, True)):
        figure = membership_figure(memberships({"alone": [ALL_ALONE], label: [TOGETHER]}))
        assert bool(figure.legends) == above
        texts = figure.legends[0].get_texts() if above else figure.axes[0].texts
        assert label in [text.get_text() for text in texts]


def test_clients_that_are_too_many_to_name() -> None:
    count = 9
    alone = by_client([1.0] * count, [0.0] * count, [0.0] * count)
    worse = by_client(
        [1.0] * count, [0.0] * count, [float(n) for n in range(count)], kind="IncFedUCB"
    )
    *_, bullets = membership_blocks({"alone": [alone], "worse": [worse]}, figure=False)
    assert bullets.items == (  # type: ignore[union-attr]
        "worse: client 8 (-8), client 7 (-7), client 6 (-6), client 5 (-5), client 4 (-4) and "
        "3 others are worse off; they act in 89 % of the steps",
    )


def test_an_algorithm_of_the_user_s_own_can_be_the_run_alone() -> None:
    class Mine(incfed.Independent):
        pass

    world = incfed.Synthetic(clients=3, dim=2, arms=3, pool=20)
    both = {"mine": Mine(), "shared": incfed.DisLinUCB(threshold=0.1)}
    (one,) = memberships(incfed.compare(world, both, steps=60, seeds=2).runs)
    assert (one.label, len(one.gains)) == ("shared", 2)
