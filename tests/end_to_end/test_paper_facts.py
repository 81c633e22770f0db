"""Figures that were measured with an independent implementation, and formulas done by hand."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import incfed

STEPS, SEEDS = 5000, range(20)
WORLD = incfed.Synthetic()  # the paper's: N = 50, d = 25, K = 25, 1,000 arms, noise 0.1
D_C = incfed.thresholds.high(steps=STEPS, clients=50, dim=25)


@cache
def means(cost: float, reads: str = "fresh") -> dict[str, float]:
    algorithm = incfed.IncFedUCB(incfed.PayEveryone(), threshold=D_C, costs=cost, reads=reads)
    runs = [incfed.simulate(WORLD, algorithm, steps=STEPS, seed=seed).summary() for seed in SEEDS]
    return {
        name: float(np.mean([r[name] for r in runs])) for name in ("regret", "rounds", "payment")
    }


@pytest.mark.parametrize(
    ("cost", "low", "high"), [(1.0, 60, 66), (10.0, 12_900, 13_600), (100.0, 192_000, 196_000)]
)
def test_payment(cost: float, low: float, high: float) -> None:
    assert low <= means(cost)["payment"] <= high


def test_regret_and_rounds() -> None:
    assert 28.0 <= means(10.0)["regret"] <= 31.5
    assert 121 <= means(10.0)["rounds"] <= 125
    for cost in (1.0, 100.0):  # beta 1: what sharing costs changes nobody's choices
        assert means(cost)["regret"] == means(10.0)["regret"]
        assert means(cost)["rounds"] == means(10.0)["rounds"]


def test_stale_reads_regret_more() -> None:
    assert 46.0 <= means(10.0, "stale")["regret"] <= 52.0


def test_published_communication_is_whole_rounds() -> None:
    # Table 1: 7,605,000 = 117 rounds x 2 N (d^2 + d)
    result = incfed.simulate(WORLD, incfed.DisLinUCB(D_C), steps=500)
    assert len(result.rounds) > 0
    assert set(result.rounds.communication.tolist()) == {2 * 50 * (25**2 + 25)}
    assert 117 * 2 * 50 * (25**2 + 25) == 7_605_000


def test_thresholds_of_the_paper() -> None:
    setting = {"steps": 5000, "clients": 50, "dim": 25}
    # 5000 / (50 * 25 * 8.517193191416238)
    assert incfed.thresholds.high(**setting) == pytest.approx(0.469638, abs=1e-6)
    assert incfed.thresholds.low(**setting) == pytest.approx(0.00939276, abs=1e-8)
    # R = ceil(25 ln(1 + 5000 / 2.5)) = ceil(190.035...) = 191;
    # sqrt(5000^2 / (2500 * 25 * 191 * 8.517193)) = 0.495867; times -ln 0.7 = 0.356675
    theory = incfed.thresholds.theory(**setting, beta=0.7, ridge=0.1)
    assert theory == pytest.approx(0.00939276 + 0.495867 * 0.356675, abs=1e-6)
    assert incfed.thresholds.theory(**setting, beta=1.0, ridge=0.1) == pytest.approx(0.00939276)


def test_thresholds_in_a_case_for_pencil_and_paper() -> None:
    # T = 8, N = 2, d = 1: ln 8 = 2.0794415; 8 / (2 * 2.0794415) and half of it
    setting = {"steps": 8, "clients": 2, "dim": 1}
    assert incfed.thresholds.high(**setting) == pytest.approx(1.9235934)
    assert incfed.thresholds.low(**setting) == pytest.approx(0.9617967)
    # lambda 8: R = ceil(ln 2) = 1; sqrt(64 / (4 * 2.0794415)) = 2.7738733
    theory = incfed.thresholds.theory(**setting, beta=1 / math.e, ridge=8.0)
    assert theory == pytest.approx(0.9617967 + 2.7738733)
