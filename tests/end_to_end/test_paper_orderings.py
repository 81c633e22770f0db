"""What the paper claims holds here too: who pays less, who talks more, who learns better.

Means over a few seeds, with the same clients, arms and noise for both sides of a comparison.
"""

from __future__ import annotations

from functools import cache

import pytest

from incfed.experiments.engine import Local, run_cells
from incfed.experiments.paper.settings import FREE, SYNTHETIC, Mode, PaperSetting, cell
from incfed.results.tables import spread

SEEDS = 5
COSTS = (1.0, 10.0, 100.0)


@cache
def mean(setting: PaperSetting, metric: str, published: bool = False) -> float:
    cells = [cell(setting, seed, Mode(fresh_reads=not published)) for seed in range(SEEDS)]
    done = run_cells(cells, executor=Local(1))
    return spread([record.figures[metric] for record in done.records]).mean


def paid(cost: float, beta: float, threshold: str = "high", variant: str = "full") -> PaperSetting:
    return PaperSetting(SYNTHETIC, threshold, cost=cost, beta=beta, variant=variant)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("cost", [10.0, 100.0])
def test_at_a_fixed_threshold_a_lower_beta_pays_less_and_talks_more(
    cost: float, published: bool
) -> None:
    settings = [paid(cost, beta) for beta in (1.0, 0.7, 0.3)]
    pays = [mean(setting, "payment", published) for setting in settings]
    talks = [mean(setting, "communication", published) for setting in settings]
    assert pays[0] > pays[1] > pays[2]
    assert talks[0] < talks[1] < talks[2]


def test_at_the_theoretical_threshold_a_lower_beta_talks_less() -> None:
    settings = [paid(100.0, beta, "theory") for beta in (1.0, 0.7, 0.3, 0.01)]
    talks = [mean(setting, "communication") for setting in settings]
    assert talks[0] > talks[1] > talks[2] > talks[3]


@pytest.mark.parametrize("cost", COSTS)
def test_payment_efficient_talks_less_than_payment_free(cost: float) -> None:
    free = PaperSetting(SYNTHETIC, "high", method=FREE, cost=cost)
    assert mean(paid(cost, 0.7), "communication") < mean(free, "communication")


def test_payment_efficient_regrets_less_than_payment_free_where_sharing_is_dear() -> None:
    free = PaperSetting(SYNTHETIC, "high", method=FREE, cost=100.0)
    assert mean(paid(100.0, 0.7), "regret") < mean(free, "regret")


@pytest.mark.parametrize("cost", COSTS)
def test_without_the_payment_free_part_more_is_paid(cost: float) -> None:
    full = mean(paid(cost, 0.7), "payment")
    assert full < mean(paid(cost, 0.7, variant="w/o PF"), "payment")
    assert full < mean(paid(cost, 0.7, variant="w/o PF + IS"), "payment")
