"""Which settings get more seeds, and which are given up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from incfed.planning.goals import Goal, Limit
from incfed.planning.selection import noise, survivors
from support.planning import evidence, setting


def test_noise_is_what_neither_setting_nor_seed_explains() -> None:
    """Every run is the sum of both, so nothing is left; then one setting that is not."""
    plain = [[(10.0 * n + 3.0 * seed, 0.0) for seed in range(4)] for n in range(5)]
    known = evidence(plain)
    assert noise(known, known.settings, "regret", 4) == pytest.approx(0.0, abs=1e-12)
    chance = np.random.default_rng(1)
    rough = [[(10.0 * n + 3.0 * s + chance.normal(0, 2), 0.0) for s in range(6)] for n in range(99)]
    known = evidence(rough)
    assert noise(known, known.settings, "regret", 6) == pytest.approx(2.0, rel=0.15)


def test_the_hopeless_are_given_up() -> None:
    goal = Goal("regret", (Limit("payment", 100.0),))
    known = evidence([
        [(10.0, 50.0), (12.0, 50.0)],  # good
        [(10.1, 40.0), (12.1, 40.0)],  # a little worse, cheaper
        [(50.0, 60.0), (52.0, 60.0)],  # clearly beaten by the first
        [(50.0, 10.0), (52.0, 10.0)],  # as bad, but nobody that is as cheap is better
        [(5.0, 160.0), (7.0, 160.0)],  # far outside
        [(5.0, 140.0), (7.0, 140.0)],  # outside, but not by half
    ])  # fmt: skip
    assert survivors(known, known.settings, goal, 2) == [setting(n) for n in (0, 1, 3, 5)]
    nobody = Goal("regret", (Limit("payment", 1.0),))
    assert setting(3) in survivors(known, known.settings, nobody, 2)  # far out, but all are


def test_settings_that_never_vary_say_nothing_about_chance() -> None:
    """Most pay nothing, whatever the seed. What two seeds say of the others is not final: they pay
    1, give or take 0.5 (up with one seed, down with the other), and differ by a hair."""
    free = [[(90.0, 0.0)] * 2 for _ in range(20)]
    paid = [[(10.0, 1 + 0.01 * n + 0.5 * (-1) ** (n + k)) for k in range(2)] for n in range(9)]
    dear = [[(10.0, 9.0 + 0.1 * k) for k in range(2)]]
    known = evidence([*free, *paid, *dear])
    goal = Goal("payment", (Limit("regret", 40.0),))
    last = setting(29)
    assert survivors(known, known.settings, goal, 2) == [setting(n) for n in range(20, 29)]
    assert last not in survivors(known, [last], goal, 2)
    assert noise(known, known.settings, "payment", 2) == noise(
        known, [setting(n) for n in range(20, 30)], "payment", 2
    )
    # If none varies, or one only, nothing is known of chance, and nobody is given up for a hair.
    assert noise(known, [setting(0), setting(1), last], "payment", 2) == math.inf
