"""Behaviours by hand: what clients report, who uploads, and how true costs move."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.protocol.features.reports import Strategy
from incfed.protocol.strategy import LastRound, check_reports

COSTS = np.array([1.0, 2.0, 4.0])
NEW = LastRound(np.full(3, np.nan), np.zeros(3))


def run(**options: Any) -> incfed.Result:
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), 1.0, **options)
    return incfed.simulate(incfed.Synthetic(clients=3), algorithm, steps=5)


def test_shading_asks_a_multiple() -> None:
    assert incfed.Shading(3.0).report(COSTS, NEW).tolist() == [3.0, 6.0, 12.0]


def test_a_group_asks_what_its_dearest_member_does() -> None:
    assert incfed.Colluding(factor=1.5).report(COSTS, NEW).tolist() == [6.0, 6.0, 6.0]


def test_best_response_goes_up_while_it_is_paid() -> None:
    behaviour = incfed.BestResponse(step=0.5)
    assert behaviour.report(COSTS, NEW).tolist() == [1.0, 2.0, 4.0]
    last = LastRound(np.array([3.0, 3.0, 4.5]), np.array([2.0, 0.0, 0.0]))
    assert behaviour.report(COSTS, last).tolist() == [4.5, 2.0, 4.0]  # never below the cost


def test_who_asked_nothing_and_was_paid_asks_a_share_of_that() -> None:
    last = LastRound(np.zeros(3), np.array([6.0, 0.0, 2.0]))
    assert incfed.BestResponse(0.5).report(np.zeros(3), last).tolist() == [3.0, 0.0, 1.0]


def test_who_uploads() -> None:
    pending = np.array([0, 3, 9])
    assert incfed.Shading(2.0).uploads(pending).all()
    assert not incfed.Refusing().uploads(pending).any()
    assert incfed.Withholding(4).uploads(pending).tolist() == [False, False, True]


def test_groups_act_each_in_its_way_and_remember() -> None:
    groups = [incfed.Shading(10.0, clients=[2]), incfed.BestResponse(0.5, clients=[0])]
    strategy = Strategy(COSTS, None, groups, seed=0)
    strategy.begin()
    assert strategy.reports.tolist() == [1.0, 2.0, 40.0]
    strategy.end(np.array([0, 2]), np.array([7.0, 0.0]))
    strategy.begin()
    assert strategy.reports.tolist() == [1.5, 2.0, 40.0]
    assert strategy.costs.tolist() == COSTS.tolist()
    assert strategy.uploads(np.ones(3, np.int64)).all()


def test_drawn_costs_stay_around_their_mean_and_drifting_ones_do_not() -> None:
    mean = np.full(2000, 10.0)
    drawn, drifting = (
        Strategy(mean, kind(10.0, 0.1), (), seed=0)
        for kind in (incfed.DrawnCosts, incfed.DriftingCosts)
    )
    spreads = []
    for _ in range(25):
        for one in (drawn, drifting):
            one.begin()
            assert (one.reports == one.costs).all()
            spreads.append(float(np.log(one.costs).std()))
    assert spreads[-2] == pytest.approx(0.1, rel=0.1)
    assert spreads[-1] == pytest.approx(0.5, rel=0.1)  # the square root of 25 times as much
    again = Strategy(mean, incfed.DrawnCosts(10.0, 0.1), (), seed=0)
    again.begin()
    first = Strategy(mean, incfed.DrawnCosts(10.0, 0.1), (), seed=0)
    first.begin()
    assert again.costs.tolist() == first.costs.tolist()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: incfed.Shading(-1.0), "factor: got -1.0, must be a number from 0"),
        (lambda: incfed.Shading(1.0, clients=[]), r"clients: got \[\], must be a list of client"),
        (
            lambda: incfed.Shading(1.0, clients=np.array(2)),  # type: ignore[arg-type]
            r"clients: got array\(2\), must be a list of client ids",
        ),
        (lambda: incfed.Shading(1.0, clients=[2, 2]), "each named once"),
        (lambda: incfed.BestResponse(0.0), "step: got 0.0"),
        (lambda: incfed.Withholding(0), "steps: got 0, must be a whole number from 1"),
        (lambda: incfed.DrawnCosts(-1.0, 0.1), "mean: got -1.0"),
        (lambda: incfed.DrawnCosts([], 0.1), r"mean: got \[\], must be a number of at least 0"),
        (
            lambda: incfed.IncFedUCB(incfed.PaymentFree(), 1.0, []),
            r"costs: got \[\], must be a num",
        ),
        (lambda: run(costs=incfed.DrawnCosts([1.0, 2.0], 0.1)), r"costs\.mean: got '2 costs'"),
        (lambda: run(costs=[1.0, 2.0]), "costs: got '2 costs', must be one number, or 3"),
        (
            lambda: run(reports=[incfed.Refusing(clients=[0]), incfed.Shading(2.0, clients=[7])]),
            r"reports\[1\]\.clients: got 7, must be an id from 0 to 2",
        ),
        (lambda: incfed.DriftingCosts(1.0, math.inf), "spread: got inf"),
        (lambda: check_reports("all"), "reports: got 'all', must be behaviours"),
        (lambda: check_reports([3]), "reports: got"),
        (
            lambda: check_reports([incfed.Shading(2.0), incfed.Refusing(clients=[1])]),
            "behaviours of different clients",
        ),
    ],
)
def test_mistakes_are_named(make: Any, said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        make()
