"""Policies of the user's own in every algorithm, and in federations that are driven and saved."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from reference.mechanisms import FloatArray
from support.policies import (
    ALGORITHMS,
    PAID,
    SETTINGS,
    WORLD,
    Asking,
    First,
    Kept,
    Paper,
    Weighted,
    drive,
    same,
    seen_alike,
    trace,
)
from support.worlds import MECHANISMS, Kind, costs, mechanisms, settings_of_a_run, traces

# --------------------------------------------------------------------- the same as the built-in one


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


@pytest.mark.parametrize("name", ["the paper's", "news", "patient", "patient, of growth"])
def test_also_in_a_federation_that_is_driven(name: str) -> None:
    """Weights above 1 too, which open rounds earlier than the rows alone would."""
    rules: Any = {"threshold": 0.8, "costs": 5.0, **SETTINGS[name]}
    own = incfed.IncFedUCB(incfed.PaymentEfficient(0.7), policy=Weighted(9.0), **rules)
    found, expected = drive(trace(), own).result(), incfed.simulate(trace(), own)
    np.testing.assert_array_equal(found.rounds.step, expected.rounds.step)
    np.testing.assert_allclose(found.reward, expected.reward)
    np.testing.assert_array_equal(found.packed, expected.packed)


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
        self.early = 0
        self.nothing, self.small = None, np.float32(0.1)
        self.array, self.words = np.array([[1.5, np.nan]]), np.array(["a", "bc"])

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        self.whole += 1
        vars(self).pop("early", None)
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
