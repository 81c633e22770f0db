"""The baselines are what they say: special cases that can be had another way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.values import Number
from support.worlds import settings_of_a_run, traces

CURVES = ("regret", "reward", "communication", "payment")


def learner(options: dict[str, Any]) -> dict[str, Any]:
    """Of the settings of a run, those of every algorithm."""
    return {k: v for k, v in options.items() if k not in ("threshold", "clocks")}


@given(traces(), settings_of_a_run())
def test_dis_lin_ucb_is_inc_fed_ucb_without_costs(
    trace: incfed.Trace, options: dict[str, Any]
) -> None:
    free = incfed.simulate(trace, incfed.DisLinUCB(options["threshold"], **learner(options)))
    paid = incfed.simulate(trace, incfed.IncFedUCB(incfed.PayEveryone(), costs=0.0, **options))
    for name in CURVES:
        np.testing.assert_array_equal(getattr(free, name), getattr(paid, name))
    np.testing.assert_array_equal(free.rounds.participants, paid.rounds.participants)
    assert not free.payment.any()
    assert (free.rounds.shared == free.rounds.pending).all()
    d = trace.dim
    assert (free.rounds.communication == 2 * trace.count * (d * d + d)).all()


@given(traces(), settings_of_a_run())
def test_independent_clients_are_as_many_runs_of_one(
    trace: incfed.Trace, options: dict[str, Any]
) -> None:
    algorithm = incfed.Independent(**learner(options))
    together = incfed.simulate(trace, algorithm)
    assert len(together.rounds) == 0
    assert not together.communication.any()
    assert not together.payment.any()
    for name in ("reward", "regret"):
        a_step = np.diff(getattr(together, name), prepend=0.0)
        for client in np.unique(trace.clients):
            own = trace.clients == client
            assert trace.expected is not None
            alone = incfed.Trace(
                np.zeros(own.sum(), int),
                trace.arms[own],
                trace.rewards[own],
                trace.expected[own],
                items=trace.items,
            )
            curve = getattr(incfed.simulate(alone, algorithm), name)
            np.testing.assert_allclose(np.cumsum(a_step[own]), curve, rtol=1e-9, atol=1e-9)


@given(traces(), settings_of_a_run())
def test_a_centralized_learner_is_one_client_with_all_the_data(
    trace: incfed.Trace, options: dict[str, Any]
) -> None:
    settings = {**learner(options), "reads": "fresh"}
    central = incfed.simulate(trace, incfed.Centralized(**settings))
    one = incfed.Trace(
        np.zeros(trace.length, int), trace.arms, trace.rewards, trace.expected, items=trace.items
    )
    alone = incfed.simulate(one, incfed.Independent(**settings))
    np.testing.assert_array_equal(central.reward, alone.reward)
    np.testing.assert_array_equal(central.regret, alone.regret)
    d, N = trace.dim, trace.count
    steps = np.arange(1, trace.length + 1)
    np.testing.assert_array_equal(central.communication, steps * (N + 1) * (d * d + d))
    assert not central.payment.any()
    assert len(central.rounds) == 0


def test_sharing_every_step_is_as_good_as_a_centralized_learner() -> None:
    world = incfed.Synthetic(clients=8, dim=6, arms=5, pool=60)
    shared = incfed.simulate(world, incfed.DisLinUCB(0.0), steps=800, seed=1)
    central = incfed.simulate(world, incfed.Centralized(), steps=800, seed=1)
    assert len(shared.rounds) == 800
    np.testing.assert_allclose(shared.reward, central.reward, rtol=1e-9)
    np.testing.assert_allclose(shared.regret, central.regret, rtol=1e-9)


def test_who_knows_more_regrets_less() -> None:
    world = incfed.Synthetic(clients=20, dim=8, arms=10, pool=200)
    final = [
        np.mean([incfed.simulate(world, a, steps=2000, seed=s).regret[-1] for s in range(5)])
        for a in (incfed.Centralized(), incfed.DisLinUCB(1.0), incfed.Independent())
    ]
    assert final[0] < final[1] < final[2]
    assert final[2] > 3 * final[0]


@pytest.mark.parametrize("threshold", [float("inf"), 1e12])
def test_a_threshold_out_of_reach_is_independence(threshold: float) -> None:
    world = incfed.Synthetic(clients=5, dim=4, arms=4, pool=30)
    never = incfed.simulate(world, incfed.DisLinUCB(threshold), steps=400)
    alone = incfed.simulate(world, incfed.Independent(), steps=400)
    for name in CURVES:
        np.testing.assert_array_equal(getattr(never, name), getattr(alone, name))


def test_costs_one_for_all_or_one_each() -> None:
    world = incfed.Synthetic(clients=4, dim=3, arms=3, pool=20)
    prices: list[Any] = [2, 2.0, [2, 2, 2, 2], (2.0,) * 4, np.full(4, 2.0), np.float32(2)]
    runs = [
        incfed.simulate(
            world, incfed.IncFedUCB(incfed.PayEveryone(), threshold=0.2, costs=p), steps=300
        )
        for p in prices
    ]
    assert runs[0].payment[-1] > 0
    for run in runs[1:]:
        np.testing.assert_array_equal(run.payment, runs[0].payment)
    dear = incfed.IncFedUCB(incfed.PayEveryone(), threshold=0.2, costs=[0, 0, 500.0, 0])
    rounds = incfed.simulate(world, dear, steps=300).rounds
    assert set(rounds.participants[rounds.payments > 0].tolist()) == {2}


PER_CLIENT: dict[str, Callable[[Any], Any]] = {
    "costs": lambda given: incfed.IncFedUCB(incfed.PayEveryone(), 1.0, costs=given).costs,
    "availability": lambda given: (
        incfed.IncFedUCB(incfed.PayEveryone(), 1.0, availability=given).availability
    ),
    "trust": lambda given: incfed.DisLinUCB(1.0, trust=given).trust,
    "mean": lambda given: incfed.DrawnCosts(given, 0.1).mean,
}


@pytest.mark.parametrize("field", PER_CLIENT)
@pytest.mark.parametrize("form", [np.array, list, tuple])
def test_numbers_of_many_clients_are_checked_at_once(
    field: str, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be a million of them: no call for each."""
    numbers, calls, take = [0.5, 1.0, 0.0] * 1000, Counter[type](), Number.take

    def counted(number: Number, value: Any) -> Any:
        calls[type(value)] += 1
        return take(number, value)

    monkeypatch.setattr(Number, "take", counted)
    found = PER_CLIENT[field](form(numbers))
    assert found == tuple(numbers)
    assert set(map(type, found)) == {float}
    assert calls.total() < 30  # of the other settings


@pytest.mark.parametrize("field", PER_CLIENT)
@pytest.mark.parametrize("bad", [-1, -1e-300, np.nan, -np.inf, "x", None, 10**400, [1.0], 1j])
def test_a_bad_number_of_one_client_is_refused(field: str, bad: Any) -> None:
    for form in (list, tuple, lambda values: np.array(values, dtype=object)):
        for values in ([0.5, 1, 0.5, bad, 0.0, bad], [bad]):
            with pytest.raises(incfed.InputError, match=rf"^{field}\b"):
                PER_CLIENT[field](form(values))


@pytest.mark.parametrize("field", PER_CLIENT)
def test_the_first_bad_number_is_named(field: str) -> None:
    for form in (list, tuple, np.array):
        with pytest.raises(incfed.InputError, match=rf"^{field}\[3\]: got -1.*, must be a number "):
            PER_CLIENT[field](form([0.5, 1.0, 0.0, -1.0, 0.5, -2.0]))


def test_booleans_and_small_floats_among_trusts() -> None:
    """numpy would take them for numbers like any other."""
    bad: Any
    for bad in (True, np.True_, np.float32(np.nan)):
        with pytest.raises(incfed.InputError, match=r"trust\[1\]: got"):
            incfed.DisLinUCB(1.0, trust=[0.5, bad])
    assert incfed.DisLinUCB(1.0, trust=[0.5, np.inf, 3]).trust == (0.5, np.inf, 3.0)


def test_settings_name_every_option() -> None:
    learning: dict[str, Any] = {
        "ridge": 0.2,
        "noise": 0.3,
        "delta": 0.4,
        "exploration": 0.5,
        "reads": "stale",
        "width": "mixture",
        "width_scale": 1.0,
        "policy": None,
    }
    assert incfed.Independent(**learning).settings() == {"kind": "Independent", **learning}
    assert incfed.Centralized(**learning).settings() == {"kind": "Centralized", **learning}
    assert incfed.DisLinUCB(3.0, **learning).settings() == {
        "kind": "DisLinUCB",
        "threshold": 3.0,
        "trust": math.inf,
        **learning,
    }


def test_settings_name_what_is_left_at_its_default() -> None:
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), threshold=1.0)
    settings = algorithm.settings()
    assert settings.keys() == {"kind", *(field.name for field in fields(algorithm))}
    unsaid = {name: settings[name] for name in ("trigger", "download", "availability", "limits")}
    assert unsaid == {"trigger": None, "download": "everyone", "availability": 1.0, "limits": None}


@st.composite
def beliefs(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "ridge": draw(st.floats(0.01, 10)),
        "noise": draw(st.floats(0, 5)),
        "delta": draw(st.floats(0.01, 0.99)),
    }


@given(beliefs())
def test_the_confidence_of_eq_2(belief: dict[str, Any]) -> None:
    # One dimension. A step of reward r on arm 1 makes V = 1 and theta = r / (1 + lambda). Then the
    # arms 1 and -1.5 have scores theta + alpha w and -1.5 theta + 1.5 alpha w, with
    # w = 1 / sqrt(1 + lambda): they meet at alpha w = 5 theta, and so at one r.
    ridge, noise, delta = belief["ridge"], belief["noise"], belief["delta"]
    gained = np.log((1 + ridge) / ridge) + 2 * np.log(1 / delta)
    alpha = noise * np.sqrt(gained) + np.sqrt(ridge)
    meeting = alpha * np.sqrt(1 + ridge) / 5
    for factor, picked in ((0.99, 1), (1.01, 0)):
        trace = incfed.Trace(
            clients=[0, 0],
            arms=[[[1.0], [1.0]], [[1.0], [-1.5]]],
            rewards=[[factor * meeting] * 2, [0.0, 1.0]],
        )
        result = incfed.simulate(trace, incfed.Independent(**belief))
        assert np.diff(result.reward)[0] == pytest.approx(picked, abs=1e-9)


SMALL = incfed.Synthetic(clients=3, dim=2, arms=3, pool=9)


@pytest.mark.parametrize("name", ["high", "low", "theory"])
def test_a_threshold_by_name_is_its_formula(name: str) -> None:
    size = {"steps": 60, "clients": 3, "dim": 2}
    more = {"beta": 0.7, "ridge": 0.3} if name == "theory" else {}
    value = getattr(incfed.thresholds, name)(**size, **more)
    by_name, by_number = (
        incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=one, ridge=0.3, costs=1.0)
        for one in (name, value)
    )
    expected = incfed.simulate(SMALL, by_number, steps=60)
    assert incfed.simulate(SMALL, by_name, steps=60) == expected  # its settings, too
    assert incfed.compare(SMALL, {"a": by_name}, steps=60, seeds=1)["a"] == [expected]
    everyone = incfed.simulate(SMALL, incfed.DisLinUCB(name, ridge=0.3), steps=60)
    value = value if name != "theory" else incfed.thresholds.theory(**size, beta=1.0, ridge=0.3)
    assert everyone == incfed.simulate(SMALL, incfed.DisLinUCB(value, ridge=0.3), steps=60)


def test_a_threshold_by_name_needs_the_length_of_the_run() -> None:
    high = incfed.IncFedUCB(incfed.PaymentFree(), threshold="high")
    for use in (
        lambda: incfed.Simulation(SMALL, high),
        lambda: incfed.Federation(3, 2, high),
        lambda: incfed.Federation(3, 2, incfed.DisLinUCB("high")),
    ):
        with pytest.raises(
            incfed.InputError, match=r"threshold: got 'high', must be a number here"
        ):
            use()
    with pytest.raises(incfed.InputError, match=r"got 'hihg' \(did you mean 'high'\?\)"):
        incfed.DisLinUCB("hihg")
    theory = incfed.IncFedUCB(incfed.PaymentFree(), threshold="theory")
    with pytest.raises(incfed.InputError, match="the mechanism has none"):
        incfed.simulate(SMALL, theory, steps=60)
