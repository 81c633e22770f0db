"""Policies of the user's own in a `LinUCB`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import incfed
from support.policies import (
    Fixed,
    Kept,
    trace,
)

# ----------------------------------------------------------------------------------- LinUCB


def test_a_learner_of_its_own(tmp_path: Path) -> None:
    world = trace(clients=1, steps=60)
    learner = incfed.LinUCB(4, policy=Kept(), seed=3)
    for t in range(50):
        arms = world.items[world.arms[t]]
        learner.learn(arms[learner.choose(arms)], world.rewards[t, 0])
    file = learner.save(tmp_path / "own")
    again = incfed.LinUCB.load(file, policy=Kept())
    for t in range(50, 60):
        arms = world.items[world.arms[t]]
        k = learner.choose(arms)
        assert again.choose(arms) == k
        for one in (learner, again):
            one.learn(arms[k], world.rewards[t, k])
    assert Kept.seen[-1]["count"] == 60
    assert Kept.seen[-1]["steps"] == 59
    with pytest.raises(
        incfed.InputError, match=r"^policy: is missing, must be given: this learner"
    ):
        incfed.LinUCB.load(file)
    plain = incfed.LinUCB(4).save(tmp_path / "plain")
    with pytest.raises(incfed.InputError, match=r"^policy: got .*, must be left out"):
        incfed.LinUCB.load(plain, policy=Kept())


def test_seeds_of_learners() -> None:
    def drawn(seed: int | None) -> list[int]:
        learner = incfed.LinUCB(1, policy=Fixed(0.25, 0.25, 0.25, 0.25), seed=seed)
        return [learner.choose(np.ones((4, 1))) for _ in range(30)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert drawn(None) != drawn(None)
