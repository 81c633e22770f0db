"""Policies of the user's own: what they see, what their clients learn, and broken ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.experiments import Recipe, build
from incfed.experiments.sweeps import build_sweep
from reference.mechanisms import FloatArray
from support.worlds import MECHANISMS, Kind, costs, mechanisms, settings_of_a_run, traces

PAID = incfed.PayEveryone()
WORLD = incfed.Synthetic(clients=6, dim=5, arms=4, pool=30)
CURVES = ("regret", "reward", "communication", "packed", "payment", "matched")
Make = Callable[..., incfed.Algorithm]
ALGORITHMS: dict[str, Make] = {
    "IncFedUCB": lambda **more: incfed.IncFedUCB(incfed.PaymentEfficient(0.7), 0.8, 10.0, **more),
    "Independent": incfed.Independent,
    "Centralized": incfed.Centralized,
    "DisLinUCB": lambda **more: incfed.DisLinUCB(0.8, **more),
    "AsyncLinUCB": lambda **more: incfed.AsyncLinUCB(1.5, 2.0, costs=1.0, **more),
    "FedLinUCB": lambda **more: incfed.FedLinUCB(0.5, costs=0.1, **more),
}


class Paper(incfed.Policy):
    """Eq. 2."""

    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        scores = model.predict(arms) + model.alpha * model.widths(arms)
        return int(np.argmax(scores >= scores.max() - 1e-9))


class Greedy(incfed.Policy):
    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return int(model.predict(arms).argmax())


@dataclass
class Softmax(incfed.Policy):
    scale: float = 3.0

    def choose(
        self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        weights: FloatArray = np.exp(self.scale * np.clip(model.predict(arms), -9.0, 9.0))
        return np.asarray(weights / weights.sum())


class First(incfed.Policy):
    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return 0


class Weighted(First):
    """Weights that depend on how often a client has observed."""

    def __init__(self, highest: float = 1.0) -> None:
        self.highest, self.count = highest, 0

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        self.count += 1
        return self.highest / (1 + self.count % 3), 0.5 * y


class Asking(Softmax):
    """Notes what it sees; every copy in the same list."""

    seen: list[dict[str, Any]]

    def __init__(self, weight: Callable[[int], float] | None = None) -> None:
        super().__init__(scale=5.0)
        self.weight, self.count = weight, 0
        type(self).seen = []

    def choose(
        self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        self.count += 1
        self.seen.append(
            {
                "count": self.count, "steps": model.steps, "dim": model.dim, "ridge": model.ridge,
                "logdet": model.logdet, "alpha": model.alpha, "V": model.V, "b": model.b,
                "theta": model.theta, "predict": model.predict(arms), "widths": model.widths(arms),
                "random": rng.random(),
            }
        )  # fmt: skip
        return super().choose(model, arms, rng)

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        return (1.0 if self.weight is None else self.weight(model.steps)), y


def same(one: incfed.Result, two: incfed.Result) -> None:
    """To 1e-9, and the same rounds."""
    for name in CURVES:
        found, expected = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)
    for name in ("step", "trigger", "participants"):
        np.testing.assert_array_equal(getattr(one.rounds, name), getattr(two.rounds, name), name)


def seen_alike(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> None:
    assert len(one) == len(two)
    for here, there in zip(one, two, strict=True):
        for name, value in here.items():
            np.testing.assert_allclose(value, there[name], rtol=1e-9, atol=1e-9, err_msg=name)


def trace(clients: int = 6, steps: int = 300) -> incfed.Trace:
    chance = np.random.default_rng(7)
    theta = chance.standard_normal(4)
    arms = chance.standard_normal((steps, 5, 4))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ (theta / np.linalg.norm(theta)) + 0.1 * chance.standard_normal((steps, 1))
    return incfed.Trace(chance.integers(0, clients, steps), arms, rewards, count=clients)


def drive(
    world: incfed.Trace, algorithm: incfed.Algorithm, kept: Path | None = None
) -> incfed.Federation:
    """`kept`: saved there, and loaded again, in the middle."""
    federation = incfed.Federation(world.count, world.dim, algorithm)
    for t, who in enumerate(world.clients.tolist()):
        if kept is not None and t == len(world.clients) // 2:
            federation.save(kept)
            federation = incfed.Federation.load(kept, algorithm=algorithm)
        arms = world.items[world.arms[t]]
        k = federation[who].choose(arms)
        federation[who].learn(arms[k], world.rewards[t, k])
    return federation


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


# --------------------------------------------------------------------- the same as the built-in one

SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "clocks as printed": {"clocks": "participants"},
    "one for one": {"download": "one-for-one"},
    "batches, one for one": {"share_from": 3, "download": "one-for-one"},
    "away": {"availability": 0.6},
    "little trust": {"trust": 3.0},
    "trust of each": {"trust": [0.0, 1.0, 4.0, 9.0, math.inf, 2.0]},
    "trust that is found": {"trust": "auto"},
    "a budget and cents": {"budget": 100.0, "money_digits": 2, "costs": 7.003},
    "strategic": {"reports": incfed.BestResponse()},
    "holding back": {"reports": incfed.Withholding(steps=3)},
    "other numbers": {"ridge": 0.7, "noise": 0.3, "delta": 0.5},
    "news": {"threshold": None, "trigger": incfed.News(2.0)},
    "patient": {"threshold": None, "trigger": incfed.Patient(1.0)},
    "patient, of growth": {"threshold": None, "trigger": incfed.Patient(1.0, "growth")},
    "a ratio": {"threshold": None, "trigger": incfed.GrowthRatio(1.8)},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_paper_s_policy_written_anew_gives_the_same_run(name: str) -> None:
    rules: Any = {"threshold": 0.8, "costs": 5.0, **SETTINGS[name]}
    mechanism = incfed.PaymentEfficient(0.7)
    expected = incfed.simulate(WORLD, incfed.IncFedUCB(mechanism, **rules), steps=600, seed=5)
    own = incfed.IncFedUCB(mechanism, policy=Paper(), **rules)
    found = incfed.simulate(WORLD, own, steps=600, seed=5)
    same(found, expected)
    assert len(expected.rounds) > 3
    assert expected.propensity is None
    assert np.isnan(found.propensity).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_with_every_algorithm(name: str) -> None:
    for world in (WORLD, trace()):
        steps = 500 if world is WORLD else None
        expected = incfed.simulate(world, ALGORITHMS[name](), steps=steps)
        same(incfed.simulate(world, ALGORITHMS[name](policy=Paper()), steps=steps), expected)


def test_also_with_noise() -> None:
    rules: Any = {"privacy": incfed.Privacy(epsilon=4, reward_bound=2), "costs": 5.0}
    expected = incfed.simulate(trace(), incfed.IncFedUCB(PAID, 0.8, **rules))
    same(incfed.simulate(trace(), incfed.IncFedUCB(PAID, 0.8, policy=Paper(), **rules)), expected)


def test_beside_a_trigger_of_its_own() -> None:
    class Called(incfed.Trigger):
        def calls(self, client: incfed.ActingClient) -> bool:
            return client.steps * client.growth > 0.8

    expected = incfed.simulate(WORLD, incfed.IncFedUCB(PAID, 0.8), steps=300)
    own = incfed.IncFedUCB(PAID, trigger=Called(), policy=Paper())
    same(incfed.simulate(WORLD, own, steps=300), expected)


@settings(max_examples=40)
@given(traces(unknown=st.sampled_from([0.0, 0.3])), mechanisms(), st.data())
def test_in_any_world(world: incfed.Trace, mechanism: Kind, data: st.DataObject) -> None:
    options: dict[str, Any] = data.draw(settings_of_a_run())
    del options["exploration"], options["reads"]
    trust = st.sampled_from([math.inf, 2.0, "auto", [2.0 * i for i in range(world.count)]])
    options |= {
        "trust": data.draw(trust),
        "costs": data.draw(costs(world.count)),
        "download": data.draw(st.sampled_from(["everyone", "one-for-one"])),
        "availability": data.draw(st.sampled_from([1.0, 1.0, 0.5])),
    }
    who = MECHANISMS[mechanism[0]](**mechanism[1])
    expected = incfed.simulate(world, incfed.IncFedUCB(who, **options))
    same(incfed.simulate(world, incfed.IncFedUCB(who, policy=Paper(), **options)), expected)


def test_however_a_run_is_divided() -> None:
    rules = incfed.IncFedUCB(PAID, 0.5, policy=Asking(lambda steps: 1 / (1 + steps % 5)))
    whole = incfed.simulate(WORLD, rules, steps=300)
    run = incfed.Simulation(WORLD, rules)
    for n in (1, 0, 7, 92, 1, 199):
        run.advance(n)
    assert run.result() == whole


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


@pytest.mark.parametrize("name", ["the paper's", "news", "patient", "patient, of growth"])
def test_also_in_a_federation_that_is_driven(name: str) -> None:
    """Weights above 1 too, which open rounds earlier than the rows alone would."""
    rules: Any = {"threshold": 0.8, "costs": 5.0, **SETTINGS[name]}
    own = incfed.IncFedUCB(incfed.PaymentEfficient(0.7), policy=Weighted(9.0), **rules)
    found, expected = drive(trace(), own).result(), incfed.simulate(trace(), own)
    np.testing.assert_array_equal(found.rounds.step, expected.rounds.step)
    np.testing.assert_allclose(found.reward, expected.reward)
    np.testing.assert_array_equal(found.packed, expected.packed)


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


class Fixed(incfed.Policy):
    def __init__(self, *chances: float) -> None:
        self.chances = chances

    def choose(
        self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        return np.array(self.chances)


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


# ----------------------------------------------------------------------------------- Federation


CASES: dict[str, dict[str, Any]] = {
    "the paper's": {"costs": 5.0},
    "one for one": {"download": "one-for-one", "costs": [0.5, 30.0, 5.0, 5.0, 100.0, 1.0]},
    "batches": {"share_from": 4, "costs": 2.0},
    "little trust": {"trust": 3.0, "costs": 2.0},
    "trust that is found": {"trust": "auto", "costs": 2.0},
    "noise": {"privacy": incfed.Privacy(epsilon=4, reward_bound=2)},
    "patient": {"threshold": None, "trigger": incfed.Patient(1.0)},
    "patient, of growth": {"threshold": None, "trigger": incfed.Patient(1.0, "growth")},
}


class Kept(Asking):
    """One whose attributes can be saved."""

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        return 1 / (1 + model.steps % 4), y


@pytest.mark.parametrize("name", CASES)
def test_a_federation_that_is_driven_asks_the_same(name: str, tmp_path: Path) -> None:
    """Also one that is saved and loaded on the way."""
    world, seen, rewards = trace(), [], []
    rules: Any = {"threshold": 0.5, "mechanism": incfed.PaymentEfficient(0.5), **CASES[name]}
    runs: list[Callable[..., Any]] = [
        incfed.simulate,
        lambda world, rules: drive(world, rules).result(),
        lambda world, rules: drive(world, rules, tmp_path / "kept").result(),
    ]
    for run in runs:
        result = run(world, incfed.IncFedUCB(policy=Kept(), **rules))
        assert len(result.rounds) > 3
        seen.append(Kept.seen)
        rewards.append(result.reward)
    for n in (1, 2):
        seen_alike(seen[0], seen[n])
        np.testing.assert_allclose(rewards[0], rewards[n])


class Keeping(First):
    def __init__(self) -> None:
        self.whole, self.real, self.text, self.flag = 1, math.inf, "é", True
        self.nothing, self.small = None, np.float32(0.1)
        self.array, self.words = np.array([[1.5, np.nan]]), np.array(["a", "bc"])

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        self.whole += 1
        self.late = np.arange(self.whole)
        return 1.0, y


def test_a_saved_federation_keeps_numbers_texts_and_arrays(tmp_path: Path) -> None:
    rules = incfed.IncFedUCB(PAID, 0.5, policy=Keeping())
    federation = incfed.Federation(2, 1, rules)
    federation[1].learn([1.0], 0.5)
    federation.save(tmp_path / "kept")
    with pytest.raises(incfed.InputError, match=r"^algorithm: is missing, must be given"):
        incfed.Federation.load(tmp_path / "kept")
    again = incfed.Federation.load(tmp_path / "kept", algorithm=rules)
    for one, two in zip(federation, again, strict=True):
        before, after = (member._learner.policy.policy for member in (one, two))  # type: ignore[union-attr]
        assert vars(before).keys() == vars(after).keys()
        for name, value in vars(before).items():
            found = getattr(after, name)
            assert type(found) is type(value)
            np.testing.assert_equal(found, value)
            assert getattr(found, "dtype", None) == getattr(value, "dtype", None)
    assert not hasattr(again[0]._learner.policy.policy, "late")  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [[1.0], {"a": 1}, (1, 2), Lock, np.array([None])])
def test_other_attributes_are_refused_by_name(value: object, tmp_path: Path) -> None:
    policy: Any = First()
    federation = incfed.Federation(1, 1, incfed.IncFedUCB(PAID, 0.5, policy=policy))
    federation[0]._learner.policy.policy.history = value  # type: ignore[union-attr]
    said = r"^First\.history: got .*, must be a number, a text or an array: anything else is not"
    with pytest.raises(incfed.InputError, match=said):
        federation.save(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_saved_federation_keeps_what_own_triggers_do(tmp_path: Path) -> None:
    class Every(incfed.Trigger):
        def __init__(self) -> None:
            self.count = 0

        def calls(self, client: incfed.ActingClient) -> bool:
            self.count += 1
            return self.count % 7 == 0

    rules = incfed.IncFedUCB(PAID, trigger=Every())
    whole = drive(trace(), rules).rounds.step.tolist()
    assert drive(trace(), rules, tmp_path / "kept").rounds.step.tolist() == whole


# -------------------------------------------------------------------------- a copy for each client


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_client_of_every_run_has_its_own(name: str) -> None:
    policy = Asking()
    algorithm = ALGORITHMS[name](policy=policy)
    for _ in range(2):
        Asking.seen, counts = [], dict.fromkeys(range(6), 0)
        incfed.simulate(trace(), algorithm)
        for client, seen in zip(trace().clients.tolist(), Asking.seen, strict=True):
            counts[client] += 1
            assert seen["count"] == counts[client]
    assert policy.count == 0
    policy.count = 5
    Asking.seen = []
    run = incfed.Simulation(trace(), algorithm)
    policy.count = 9  # runs stay with it as it was given
    run.advance(1)
    assert Asking.seen[0]["count"] == 6


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


# ------------------------------------------------------------------------------- where it is named

CODE = """
from dataclasses import dataclass
import numpy as np
import incfed

@dataclass
class Mine(incfed.Policy):
    scale: float = 1.0

    def choose(self, model, arms, rng):
        weights = np.exp(self.scale * model.predict(arms))
        return weights / weights.sum()

class Wrong(incfed.Mechanism):
    def decide(self, round):
        return round.settle(round.everyone)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(CODE)
    return tmp_path


def tables(policy: object, **more: Any) -> dict[str, Any]:
    return {
        "run": {"steps": 60},
        "world": {"kind": "Synthetic", "clients": 3, "dim": 2, "arms": 3, "pool": 20},
        "algorithm": [{"kind": "Independent", "policy": policy}],
        **more,
    }


def test_in_a_config(folder: Path) -> None:
    own = {"kind": "own.py:Mine", "scale": 0.5}
    [entry] = build(Recipe(tables(own), folder)).entries.values()
    assert entry.value.policy.scale == 0.5
    assert [Path(name).name for name in entry.sources] == ["own.py"]
    [entry] = build(Recipe(tables("own.py:Mine"), folder)).entries.values()
    result = incfed.simulate(WORLD, entry.value, steps=20)
    assert result.settings["algorithm"]["policy"] == {"kind": "Mine", "scale": 1.0}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"kind": "own.py:Mine", "scael": 1}, r"policy\.scael: got 1, but there is no such"),
        ("own.py:Nine", r"policy\.kind: own\.py has no Nine .did you mean 'Mine'"),
        ("own.py:Wrong", r"policy\.kind: .* must be a class derived from incfed\.Policy"),
        ("Mine", r"policy\.kind: got 'Mine', must be such as 'my_file\.py:MyClass'"),
        ({}, r"policy\.kind: is missing, must be such as 'my_file\.py:MyClass'"),
        (3, r"policy: got 3, must be a table, such as \{ kind = \"my_file\.py:Mine\" \}"),
    ],
)
def test_mistakes_in_a_config(folder: Path, policy: object, said: str) -> None:
    with pytest.raises(incfed.InputError, match=rf"algorithm\[1\]\.{said}"):
        build(Recipe(tables(policy), folder))


def test_in_a_sweep(folder: Path) -> None:
    over: Any = {"algorithm.policy.scale": [0.5, 5.0]}
    sweep = build_sweep(Recipe(tables("own.py:Mine", sweep=over), folder))
    assert {cell.algorithm["policy"]["scale"] for cell in sweep.cells} == {0.5, 5.0}


def test_in_a_comparison() -> None:
    both = {"own": incfed.DisLinUCB(1.0, policy=Paper()), "built-in": incfed.DisLinUCB(1.0)}
    found = incfed.compare(WORLD, both, steps=200, seeds=2)
    for one, two in zip(*found.runs.values(), strict=True):
        same(one, two)
    assert found.to_polars().height
