"""A learner without a server: the client's code, in the caller's own loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.algorithms import lin_ucb
from support.past import copied, refused, sentence
from support.worlds import settings_of_a_run, traces


def taught(dim: int = 3, steps: int = 30, **options: float) -> incfed.LinUCB:
    chance = np.random.default_rng(5)
    learner = incfed.LinUCB(dim, **options)  # type: ignore[arg-type]
    arms = chance.standard_normal((steps, dim))
    learner.learn(arms, arms @ np.arange(1.0, dim + 1.0))
    return learner


@settings(max_examples=25)
@given(traces(count=(1, 1)), st.data())
def test_it_is_the_only_client_of_a_simulation(world: incfed.Trace, data: st.DataObject) -> None:
    drawn = data.draw(settings_of_a_run())
    options = {name: drawn[name] for name in ("ridge", "noise", "delta", "exploration")}
    learner = incfed.LinUCB(world.dim, **options)
    rewards = []
    for t in range(world.length):
        arms = world.items[world.arms[t]]
        k = learner.choose(arms)
        rewards.append(world.rewards[t, k])
        learner.learn(arms[k], rewards[-1])
    expected = incfed.simulate(world, incfed.Independent(**options))
    np.testing.assert_array_equal(np.cumsum(rewards), expected.reward)
    assert learner.steps == world.length


def test_a_prediction_by_hand() -> None:
    learner = incfed.LinUCB(2, ridge=1.0, exploration=2.0)
    assert learner.predict([3.0, 0.0]) == (0.0, 6.0)  # nothing known: alpha |x| / sqrt(lambda)
    learner.learn([1.0, 0.0], 1.0)
    learner.learn([[1.0, 0.0], [1.0, 0.0]], [1.0, 1.0])  # V(lambda) = diag(4, 1), b = (3, 0)
    np.testing.assert_allclose(learner.theta, [0.75, 0.0], atol=1e-12)
    one = learner.predict([2.0, 0.0])
    assert one.reward == pytest.approx(1.5)
    assert one.width == pytest.approx(2.0)  # 2 * 2 / sqrt(4)
    many = learner.predict([[2.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(many.reward, [1.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(many.width, [2.0, 2.0])


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_it_chooses_what_it_predicts_best(dim: int, steps: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    learner = incfed.LinUCB(dim)
    learner.learn(chance.standard_normal((steps + 1, dim)), chance.standard_normal(steps + 1))
    arms = chance.standard_normal((5, dim))
    reward, width = learner.predict(arms)
    assert (reward + width)[learner.choose(arms)] == pytest.approx((reward + width).max())
    np.testing.assert_allclose(reward, arms @ learner.theta, atol=1e-9)


def test_one_at_a_time_or_all_at_once() -> None:
    chance = np.random.default_rng(1)
    arms, rewards = chance.standard_normal((20, 4)), chance.standard_normal(20)
    one, all_ = incfed.LinUCB(4), incfed.LinUCB(4)
    for x, y in zip(arms, rewards, strict=True):
        one.learn(x, y)
    all_.learn(arms, rewards)
    np.testing.assert_array_equal(one.theta, all_.theta)


def test_rewards_may_be_booleans() -> None:
    arms, clicks = np.eye(3), np.array([True, False, True])
    expected = incfed.LinUCB(3)
    expected.learn(arms, clicks * 1.0)
    singly = incfed.LinUCB(3)
    for arm, click in zip(arms, (True, clicks[1], clicks[2]), strict=True):
        singly.learn(arm, click)
    at_once = incfed.LinUCB(3)
    at_once.learn(arms, clicks)
    for learner in (singly, at_once):
        np.testing.assert_array_equal(learner.theta, expected.theta)
    with pytest.raises(incfed.InputError, match="arm: got 'an array of bool'"):
        at_once.learn(clicks, 1.0)


def test_a_saved_learner_goes_on(tmp_path: Path) -> None:
    learner = taught(exploration=0.3, ridge=0.5)
    file = learner.save(tmp_path / "learner")
    assert file.name == "learner.npz"
    again = incfed.LinUCB.load(file)
    for one in (learner, again):
        one.learn([1.0, 2.0, 3.0], 4.0)
    assert again.steps == learner.steps == 31
    arms = np.random.default_rng(2).standard_normal((6, 3))
    for two in (again, incfed.LinUCB.load(again.save(tmp_path / "second.npz"))):
        np.testing.assert_allclose(two.predict(arms), learner.predict(arms), rtol=1e-9)


def test_what_is_not_a_saved_learner_is_refused(tmp_path: Path) -> None:
    with pytest.raises(incfed.InputError, match="file not found"):
        incfed.LinUCB.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("text")
    np.savez(tmp_path / "other.npz", a=np.zeros(2))
    for name in ("text.npz", "other.npz"):
        with pytest.raises(incfed.InputError, match=r"must be a file that LinUCB\.save wrote"):
            incfed.LinUCB.load(tmp_path / name)


@pytest.mark.parametrize("name", ["learner-0.2.0.npz", "member-0.2.0.npz"])
def test_learners_of_earlier_versions_are_refused_and_left_alone(name: str, tmp_path: Path) -> None:
    file = copied(f"algorithms/data/{name}", tmp_path / name)
    with refused(file, sentence(file)):
        incfed.LinUCB.load(file)


def test_learners_of_newer_versions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(lin_ucb, "FORMAT", 99)
        newer.setattr(lin_ucb, "__version__", "9.9.0")
        file = taught().save(tmp_path / "learner")
    with refused(file, sentence(file, "incfed 9.9.0")):
        incfed.LinUCB.load(file)


def test_bad_input_is_named_and_changes_nothing() -> None:
    learner = taught()
    before = learner.theta
    for act, message in (
        (lambda: incfed.LinUCB(0), "dim: got 0"),
        (lambda: incfed.LinUCB(3, ridge=-1), "ridge: got -1"),
        (lambda: learner.choose([[1.0, 2.0]]), r"arms: got 'an array of shape \(1, 2\)', must be"),
        (lambda: learner.choose(np.empty((0, 3))), "arms: got"),
        (lambda: learner.choose([1.0, 2.0, 3.0]), "arms: got"),
        (lambda: learner.predict([1.0]), "arm: got"),
        (lambda: learner.learn(2, 1.0), r"must be the 3 features of the arm: arms\[k\], not k"),
        (lambda: learner.learn([1.0, 2.0, np.nan], 1.0), r"arm\[0, 2\]: got nan"),
        (lambda: learner.learn([1.0, 2.0, 3.0], np.nan), "reward"),
        (lambda: learner.learn([1.0, 2.0, 3.0], "much"), "reward"),
        (lambda: learner.learn(np.ones((2, 3)), [1.0]), "reward: got '1 number', must be 2 num"),
    ):
        with pytest.raises(incfed.InputError, match=message):
            act()
    np.testing.assert_array_equal(learner.theta, before)
    assert repr(learner) == "<LinUCB: 3 features, 30 steps learned>"
