"""Policies of the user's own: what they see, what their clients learn, and broken ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

import incfed
from reference.mechanisms import FloatArray
from support.policies import (
    ALGORITHMS,
    PAID,
    SETTINGS,
    WORLD,
    Asking,
    First,
    Fixed,
    Greedy,
    Softmax,
    Weighted,
    drive,
    same,
    trace,
)

# ------------------------------------------------------------------------------ what they see


def test_by_hand() -> None:
    """One feature, lambda = 1; weights 4 / (1 + steps), responses 2 y. Computed on paper:

    Client 0 observes 3 of arm 1: weight 4, V_0 = 4, b_0 = 4 * 6 = 24.
    Client 1 observes 1 of arm 2: weight 4, V_1 = 4 * 4 = 16, b_1 = 4 * 2 * 2 = 16. Its determinant
    is now 17 times what it was, more than 10: everybody shares. V_g = 20, b_g = 40.
    Client 0 sees theta = 40 / 21 and log det 21, observes 1 of arm 1: weight 4 / 3, response 2.
    """

    class Mine(Asking):
        def observe(
            self, model: incfed.ClientModel, x: FloatArray, y: float
        ) -> tuple[float, float]:
            return 4 / (1 + model.steps), 2 * y

    world = incfed.Trace(
        clients=[0, 1, 0, 0], arms=[[[1.0]], [[2.0]], [[1.0]], [[2.0]]],
        rewards=[[3.0], [1.0], [1.0], [0.0]],
    )  # fmt: skip
    rules: dict[str, Any] = {"trigger": incfed.GrowthRatio(10.0), "ridge": 1.0, "noise": 0.5}
    expected = [  # steps, V, b, det, arm
        (0, 0.0, 0.0, 1.0, 1.0),
        (0, 0.0, 0.0, 1.0, 2.0),
        (2, 20.0, 40.0, 21.0, 1.0),
        (3, 20.0 + 4 / 3, 40.0 + 8 / 3, 21.0 + 4 / 3, 2.0),
    ]
    for run in (incfed.simulate, drive):
        result: Any = run(world, incfed.IncFedUCB(PAID, policy=Mine(), **rules))
        assert result.rounds.step.tolist() == [1]
        for found, (steps, V, b, det, x) in zip(Mine.seen, expected, strict=True):
            assert (found["steps"], found["dim"], found["ridge"]) == (steps, 1, 1.0)
            wanted = {
                "V": V, "b": b, "logdet": math.log(det), "theta": b / det, "predict": x * b / det,
                "widths": x / math.sqrt(det),
                "alpha": 0.5 * math.sqrt(math.log(det) + 2 * math.log(10.0)) + 1.0,
            }  # fmt: skip
            for name, value in wanted.items():
                assert float(np.squeeze(found[name])) == pytest.approx(value), name
        Mine.seen = []


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("trust", [math.inf, 4.0, 0.0, "auto"])
def test_what_a_model_says_fits_together(name: str, trust: float | str) -> None:
    if trust != math.inf and name in ("Independent", "Centralized"):
        return
    more = {} if trust == math.inf else {"trust": trust}
    algorithm = ALGORITHMS[name](ridge=0.3, policy=Asking(lambda steps: 1.0 + steps % 3), **more)
    result = incfed.simulate(WORLD, algorithm, steps=150)
    assert np.isfinite(result.propensity).all()  # type: ignore[arg-type]
    assert max(one["steps"] for one in Asking.seen) > 20
    assert (name == "Centralized") == (max(one["steps"] for one in Asking.seen) == 149)
    for one in Asking.seen:
        A = one["V"] + 0.3 * np.eye(5)
        np.testing.assert_allclose(np.linalg.solve(A, one["b"]), one["theta"], atol=1e-9)
        assert one["logdet"] == pytest.approx(np.linalg.slogdet(A)[1])


def test_of_an_algorithm_without_rounds_it_is_all_that_a_client_learned() -> None:
    """V = the sum of w x x', b = the sum of w r x, as numpy has them."""
    world, policy = trace(clients=2, steps=80), Asking(lambda steps: 0.5 + steps % 4)
    result = incfed.simulate(world, incfed.Independent(policy=policy))
    gained = np.diff(result.reward, prepend=0.0)
    V, b, count = np.zeros((2, 4, 4)), np.zeros((2, 4)), [0, 0]
    for t, (i, seen) in enumerate(zip(world.clients.tolist(), Asking.seen, strict=True)):
        np.testing.assert_allclose(seen["V"], V[i], atol=1e-12)
        np.testing.assert_allclose(seen["b"], b[i], atol=1e-12)
        assert (seen["steps"], seen["count"]) == (count[i], count[i] + 1)
        arms = world.items[world.arms[t]]
        A = V[i] + 0.1 * np.eye(4)
        np.testing.assert_allclose(
            seen["widths"], np.sqrt(np.einsum("kd,de,ke->k", arms, np.linalg.inv(A), arms))
        )
        k = int(np.abs(world.rewards[t] - gained[t]).argmin())
        weight, x, y = 0.5 + count[i] % 4, arms[k], world.rewards[t, k]
        V[i] += weight * np.outer(x, x)
        b[i] += weight * y * x
        count[i] += 1


def test_what_it_sees_cannot_be_changed() -> None:
    class Changing(First):
        def choose(
            self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
        ) -> int:
            for part in (model.V, model.b, model.theta, model.predict(arms), model.widths(arms)):
                part[:] = math.nan
            return 0

    same(
        incfed.simulate(WORLD, incfed.DisLinUCB(0.5, policy=Changing()), steps=90),
        incfed.simulate(WORLD, incfed.DisLinUCB(0.5, policy=First()), steps=90),
    )
    for name in ("V", "b", "theta", "logdet", "ridge", "dim", "steps", "alpha"):

        class Setting(First):
            name = ""

            def choose(
                self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
            ) -> int:
                setattr(model, self.name, 1)
                return 0

        Setting.name = name
        with pytest.raises(AttributeError):
            incfed.simulate(WORLD, incfed.Independent(policy=Setting()), steps=2)
    for changed in ("arms[0] = 0.0", "arms *= 2"):

        class Writing(First):
            code = changed

            def choose(
                self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
            ) -> int:
                exec(self.code)
                return 0

        with pytest.raises(ValueError, match="read-only"):
            incfed.simulate(WORLD, incfed.Independent(policy=Writing()), steps=2)

    class Shrinking(First):
        def observe(
            self, model: incfed.ClientModel, x: FloatArray, y: float
        ) -> tuple[float, float]:
            x *= 0.5
            return 1.0, y

    with pytest.raises(ValueError, match="read-only"):
        incfed.simulate(WORLD, incfed.Independent(policy=Shrinking()), steps=2)


def test_arms_of_its_own_are_measured_too() -> None:
    class Other(First):
        def choose(
            self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
        ) -> int:
            found, width = model.predict(arms), model.widths(arms)
            np.testing.assert_array_equal(model.predict(arms.tolist()[::-1]), found[::-1])
            np.testing.assert_array_equal(model.widths(2 * arms[1:]), 2 * width[1:])
            np.testing.assert_allclose(arms @ model.theta, found, atol=1e-12)
            for bad in (arms[0], np.zeros((2, 3)), 1.0):
                with pytest.raises(incfed.InputError, match=r"^arms: got .* must be .*\[K, 5\]"):
                    model.predict(bad)
            return 0

    incfed.simulate(WORLD, incfed.DisLinUCB(0.5, policy=Other()), steps=40)


# ------------------------------------------------------------------------------------- weights


def scaled(world: incfed.Trace, highest: float) -> incfed.Trace:
    """With the rows sqrt(w) x and the rewards sqrt(w) r that `Weighted` learns in it."""
    arms, rewards = world.items[world.arms].copy(), world.rewards.copy()
    count = [0] * world.count
    for t, i in enumerate(world.clients.tolist()):
        count[i] += 1
        root = math.sqrt(highest / (1 + count[i] % 3))
        arms[t] *= root
        rewards[t] *= 0.5 * root
    return incfed.Trace(world.clients, arms, rewards, count=world.count)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("highest", [9.0, 0.2])
def test_a_weight_scales_the_row_wherever_it_goes(name: str, highest: float) -> None:
    """Rounds, their ratios and payments, and traffic, are those of a world with such rows."""
    world, mechanism = trace(), incfed.PaymentEfficient(0.7)
    rules: Any = {"threshold": 0.8, "costs": 5.0, **SETTINGS[name]}
    own = incfed.IncFedUCB(mechanism, policy=Weighted(highest), **rules)
    plain = incfed.IncFedUCB(mechanism, policy=First(), **rules)
    found, expected = incfed.simulate(world, own), incfed.simulate(scaled(world, highest), plain)
    assert len(found.rounds) > 1
    for column in ("step", "participants", "ratio", "payments", "communication"):
        here, there = getattr(found.rounds, column), getattr(expected.rounds, column)
        np.testing.assert_allclose(here, there, rtol=1e-7, atol=1e-9, err_msg=column)
    np.testing.assert_array_equal(found.packed, expected.packed)
    arms = world.rewards[:, 0]
    np.testing.assert_allclose(found.reward, np.cumsum(arms), atol=1e-9)  # what was earned


def test_with_noise_weights_and_responses_are_bounded() -> None:
    class Heavy(First):
        said = (1.0, 0.0)

        def observe(
            self, model: incfed.ClientModel, x: FloatArray, y: float
        ) -> tuple[float, float]:
            return self.said

    privacy = incfed.Privacy(epsilon=4, reward_bound=2)
    rules = incfed.IncFedUCB(PAID, 0.5, privacy=privacy, policy=Heavy())
    for said in ((1.0, 2.0), (0.1, -2.0)):
        Heavy.said = said
        assert len(incfed.simulate(trace(), rules).rounds)
    for said, error in (
        ((1.001, 0.0), r"got 1\.001, must be a weight of at most 1 with privacy"),
        ((1.0, 2.1), r"got 2\.1, must be a response of at most reward_bound, 2"),
        ((1.0, -2.1), r"got -2\.1, must be a response of at most reward_bound, 2"),
    ):
        Heavy.said = said
        for run in (incfed.simulate, drive):
            with pytest.raises(incfed.InputError, match=rf"^Heavy\.observe: {error}"):
                run(trace(), rules)
        assert len(incfed.simulate(trace(), incfed.IncFedUCB(PAID, 0.5, policy=Heavy())).rounds)


# --------------------------------------------------------------------------------- probabilities


def picks(policy: incfed.Policy, steps: int, seed: int = 0) -> incfed.Result:
    """The reward of a step is the arm that was picked."""
    rewards = np.tile(np.arange(4.0), (steps, 1))
    clients = np.random.default_rng(3).integers(0, 3, steps)
    world = incfed.Trace(clients, np.ones((steps, 4, 1)), rewards)
    return incfed.simulate(world, incfed.Independent(policy=policy), seed=seed)


def test_arms_are_drawn_from_the_probabilities() -> None:
    chances, n = np.array([0.05, 0.6, 0.0, 0.35]), 8000
    result = picks(Fixed(*chances), n)
    drawn = np.diff(result.reward, prepend=0.0).astype(int)
    np.testing.assert_array_equal(result.propensity, chances[drawn])
    counts, expected = np.bincount(drawn, minlength=4), n * chances
    assert counts[2] == 0
    chi2 = ((counts - expected)[chances > 0] ** 2 / expected[chances > 0]).sum()
    assert chi2 < 13.8  # 0.1 % beyond, with two degrees of freedom
    np.testing.assert_array_equal(picks(Fixed(0, 0, 1, 0), 50).reward, 2 * np.arange(1.0, 51))


@pytest.mark.parametrize("chances", [(0.0, 1.0, 0.0), (0.0, 0.5, 0.5), (0.0, 1.0 - 4e-10, 0.0)])
def test_an_arm_of_probability_zero_is_never_drawn(chances: tuple[float, ...]) -> None:
    class Edge:
        def __init__(self, value: float) -> None:
            self.value = value

        def random(self) -> float:
            return self.value

    arms = np.ones((3, 1))
    for value in (0.0, 0.3, float(np.nextafter(1.0, 0.0))):
        learner = incfed.LinUCB(1, policy=Fixed(*chances))
        learner._learner.policy.rng = Edge(value)  # type: ignore[union-attr]
        assert chances[learner.choose(arms)] > 0


def test_the_seed_of_a_run_is_that_of_its_draws() -> None:
    one, again, other = (picks(Fixed(0.5, 0.5, 0, 0), 200, seed).reward for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    algorithm = incfed.Independent(policy=Asking())
    incfed.simulate(WORLD, algorithm, steps=60)
    assert len({seen["random"] for seen in Asking.seen}) == 60  # no two clients have the same


def test_the_world_stays_as_it_is() -> None:
    """Common random numbers: the clients, arms and noise of a run do not depend on the policy."""
    runs = [incfed.simulate(WORLD, incfed.Independent(policy=one), steps=100) for one in (
        First(), Weighted(0.1))]  # fmt: skip
    np.testing.assert_array_equal(runs[0].reward, runs[1].reward)
    np.testing.assert_array_equal(runs[0].clients.steps, runs[1].clients.steps)


def test_propensities_are_saved_with_a_result(tmp_path: Path) -> None:
    result = incfed.simulate(WORLD, incfed.Independent(policy=Softmax()), steps=50)
    result.save(tmp_path / "own")
    again = incfed.load(tmp_path / "own")
    assert again == result
    np.testing.assert_array_equal(again.propensity, result.propensity)
    assert result.to_polars()["propensity"].len() == 50
    plain = incfed.simulate(WORLD, incfed.Independent(), steps=50)
    plain.save(tmp_path / "plain")
    assert incfed.load(tmp_path / "plain").propensity is None
    assert "propensity" not in plain.to_polars().columns


def test_steps_that_a_log_skips_are_not_observed() -> None:
    world = trace(steps=60)
    world.rewards[::3] = np.nan
    result = incfed.simulate(world, incfed.IncFedUCB(PAID, 0.5, policy=Asking()))
    assert len(Asking.seen) == 60
    assert result.matched[-1] == 40
    assert max(one["steps"] for one in Asking.seen) <= 40
    assert len(result.rounds)


# --------------------------------------------------------------------------------------- broken


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (4, r"got 4, must be from 0 to 3, the index of an arm"),
        (-1, r"got -1, must be from 0 to 3, the index of an arm"),
        (np.int64(7), r"got 7, must be from 0 to 3"),
        (None, r"got None, must be the index of an arm, or the probabilities \[4\] of all arms"),
        (True, r"got True, must be the index"),
        (1.0, r"got 1\.0, must be the index"),
        ("0", r"got '0', must be the index"),
        ([0.5, 0.5], r"got an array of shape \(2,\), must be the index"),
        (np.ones((1, 4)) / 4, r"got an array of shape \(1, 4\), must be the index"),
        ([True, False, False, False], r"got \[True, .*, must be the index"),
        ([0.5, 0.5, 0.5, 0.0], r"got a sum of 1\.5, must be probabilities that are finite"),
        ([0.5, 0.5 + 1e-8, 0.0, 0.0], r"got a sum of 1\.00000001, must be probabilities"),
        ([1.0, 0.5, -0.5, 0.0], r"got -0\.5 for arm 2, must be probabilities"),
        ([0.5, 0.5, math.nan, 0.0], r"got nan for arm 2, must be probabilities"),
        ([math.inf, 0.0, 0.0, 0.0], r"got a sum of inf, must be probabilities"),
    ],
)
def test_a_choice_that_is_none(answer: Any, said: str) -> None:
    class Odd(First):
        def choose(
            self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
        ) -> Any:
            return answer

    with pytest.raises(incfed.InputError, match=rf"^Odd\.choose: {said}"):
        incfed.simulate(WORLD, incfed.Independent(policy=Odd()), steps=5)
    with pytest.raises(incfed.InputError, match=rf"^Odd\.choose: {said}"):
        incfed.LinUCB(2, policy=Odd()).choose(np.ones((4, 2)))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, r"got None, must be \(weight, response\), two numbers"),
        (1.0, r"got 1\.0, must be \(weight, response\)"),
        ((1.0, 2.0, 3.0), r"got \(1\.0, 2\.0, 3\.0\), must be \(weight"),
        ((1.0, "a"), r"got \(1\.0, 'a'\), must be \(weight"),
        ((0.0, 1.0), r"got 0\.0, must be a finite weight above 0"),
        ((-1.0, 1.0), r"got -1\.0, must be a finite weight above 0"),
        ((math.inf, 1.0), r"got inf, must be a finite weight above 0"),
        ((math.nan, 1.0), r"got nan, must be a finite weight above 0"),
        ((1.0, math.nan), r"got nan, must be a finite response"),
        ((1.0, math.inf), r"got inf, must be a finite response"),
    ],
)
def test_an_observation_that_is_none(answer: Any, said: str) -> None:
    class Odd(First):
        def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> Any:
            return answer

    with pytest.raises(incfed.InputError, match=rf"^Odd\.observe: {said}"):
        incfed.simulate(WORLD, incfed.FedLinUCB(policy=Odd()), steps=5)
    with pytest.raises(incfed.InputError, match=rf"^Odd\.observe: {said}"):
        incfed.LinUCB(2, policy=Odd()).learn([1.0, 0.0], 0.5)


def test_its_errors_leave_the_run_as_they_are() -> None:
    class Failing(First):
        def choose(
            self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
        ) -> int:
            raise ZeroDivisionError("mine")

    algorithm = incfed.IncFedUCB(PAID, 0.5, policy=Failing())
    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        incfed.simulate(WORLD, algorithm, steps=5)
    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        incfed.Federation(1, 1, algorithm)[0].choose([[1.0]])


def test_one_that_cannot_be_copied() -> None:
    class Locked(First):
        def __init__(self) -> None:
            self.lock = Lock()

    said = r"^Locked: cannot be copied for each client: TypeError: cannot pickle"
    for run in (
        lambda: incfed.simulate(WORLD, incfed.Independent(policy=Locked()), steps=5),
        lambda: incfed.LinUCB(2, policy=Locked()),
        lambda: incfed.Federation(2, 1, incfed.DisLinUCB(1.0, policy=Locked())),
    ):
        with pytest.raises(incfed.InputError, match=said):
            run()


def test_a_copy_that_is_none() -> None:
    class Lost(First):
        def __deepcopy__(self, memo: object) -> object:
            return 3

    with pytest.raises(incfed.InputError, match=r"^Lost\.__deepcopy__: got 3, must be a copy of"):
        incfed.simulate(WORLD, incfed.Independent(policy=Lost()), steps=5)


def test_one_that_does_not_choose() -> None:
    class Silent(incfed.Policy):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Silent()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("name", "value"),
    [("exploration", 0.5), ("width", "mixture"), ("width_scale", 0.5), ("reads", "stale")],
)
def test_what_belongs_to_ucb_is_refused_beside_it(name: str, value: Any) -> None:
    said = rf"^{name}: got {value!r}, must be left out: policy takes the place of the upper conf"
    for make in ALGORITHMS.values():
        with pytest.raises(incfed.InputError, match=said if name != "reads" else "^reads: got"):
            make(policy=Greedy(), **{name: value})
    if name != "reads":
        with pytest.raises(incfed.InputError, match=said):
            incfed.LinUCB(2, policy=Greedy(), **{name: value})


@pytest.mark.parametrize("policy", [Greedy, PAID, "ucb", 3, lambda model, arms, rng: 0])
def test_what_is_no_policy(policy: Any) -> None:
    makes: list[Callable[..., Any]] = [*ALGORITHMS.values(), partial(incfed.LinUCB, 2)]
    for make in makes:
        with pytest.raises(incfed.InputError, match=r"^policy: got .*, must be a Policy, such as"):
            make(policy=policy)
