"""A world one step at a time is the world that a simulation runs through."""

from __future__ import annotations

import numpy as np
import pytest

import incfed


def test_a_loop_over_it_is_a_simulation() -> None:
    world = incfed.Synthetic(clients=3, dim=2, arms=4, pool=30)
    env = incfed.Env(world)
    learners = [incfed.LinUCB(2) for _ in range(world.count)]
    observation, info = env.reset(seed=4)
    assert info == {"seed": 4}
    rewards, regrets = [], []
    for _ in range(1100):  # more than a piece
        arms, learner = observation["arms"], learners[observation["client"]]
        k = learner.choose(arms)
        observation, reward, terminated, truncated, info = env.step(k)
        assert not terminated
        assert not truncated
        learner.learn(arms[k], reward)
        rewards.append(reward)
        regrets.append(info["regret"])
    expected = incfed.simulate(world, incfed.Independent(), steps=1100, seed=4)
    np.testing.assert_allclose(np.cumsum(rewards), expected.reward, rtol=1e-12)
    np.testing.assert_allclose(np.cumsum(regrets), expected.regret, atol=1e-12)


def test_a_recorded_world_ends() -> None:
    trace = incfed.Trace([1, 0], np.arange(8.0).reshape(2, 2, 2), [[1.0, 2.0], [3.0, 4.0]])
    env = incfed.Env(trace)
    first, _ = env.reset()
    assert (first["client"], first["arms"].tolist()) == (1, [[0.0, 1.0], [2.0, 3.0]])
    second, reward, over, _, info = env.step(1)
    assert (second["client"], reward, over) == (0, 2.0, False)
    assert np.isnan(info["regret"])
    last, reward, over, _, _ = env.step(0)
    assert (last["client"], reward, over) == (0, 3.0, True)
    with pytest.raises(incfed.InputError, match="this run is over"):
        env.step(0)
    env.reset()
    with pytest.raises(incfed.InputError, match="action: got 2"):
        env.step(2)


def test_it_must_be_started() -> None:
    with pytest.raises(incfed.InputError, match="call reset"):
        incfed.Env(incfed.Synthetic()).step(0)
    with pytest.raises(incfed.InputError, match="world: got 3"):
        incfed.Env(3)  # type: ignore[arg-type]


def test_without_a_seed_runs_differ() -> None:
    env = incfed.Env(incfed.Synthetic())
    assert [env.reset()[1]["seed"] for _ in range(3)] == [0, 1, 2]
    assert env.reset(seed=7)[1] == {"seed": 7}
    assert env.reset()[1] == {"seed": 8}
