"""Everything that cannot be used is refused before any work: field, value, what is allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import incfed
from incfed import ranges
from incfed.errors import InputError

FREE = incfed.PayEveryone()


def trace(**changes: Any) -> incfed.Trace:
    good: dict[str, Any] = {
        "clients": [0, 1, 1],
        "arms": np.ones((3, 2, 4)),
        "rewards": np.ones((3, 2)),
        "expected": np.ones((3, 2)),
    }
    return incfed.Trace(**{**good, **changes})


def by_id(arms: Any, items: Any) -> incfed.Trace:
    return incfed.Trace([0, 1, 1], arms, np.ones((3, 2)), items=items)


def with_entry(shape: tuple[int, ...], value: float) -> Any:
    array = np.ones(shape)
    array.flat[-1] = value
    return array


def inc_fed_ucb(**changes: Any) -> incfed.IncFedUCB:
    return incfed.IncFedUCB(**{"mechanism": FREE, "threshold": 1.0, **changes})


def efficient(beta: Any = 0.5, **changes: Any) -> incfed.PaymentEfficient:
    return incfed.PaymentEfficient(beta, **changes)


def high(**changes: Any) -> float:
    return incfed.thresholds.high(**{"steps": 10, "clients": 2, "dim": 2, **changes})


def theory(**changes: Any) -> float:
    setting = {"steps": 10, "clients": 2, "dim": 2, "beta": 0.5, "ridge": 1.0}
    return incfed.thresholds.theory(**{**setting, **changes})


def run(algorithm: Any = None, world: Any = None, **changes: Any) -> incfed.Result:
    world = incfed.Synthetic(clients=3, dim=2, arms=2, pool=4) if world is None else world
    algorithm = incfed.Independent() if algorithm is None else algorithm
    return incfed.simulate(world, algorithm, **changes)


def advance(n: Any) -> None:
    incfed.Simulation(trace(), incfed.Independent()).advance(n)


MESSAGES: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    # shapes
    (trace, {"clients": [0, 1]}, r"clients: got 'an array of shape \(2,\)', must be \(3,\), to"),
    (trace, {"clients": [[0, 1, 1]]}, r"clients: got 'an array of shape \(1, 3\)', must be whole"),
    (trace, {"clients": 0}, r"clients: got 0, must be whole numbers in 1 dimension"),
    (trace, {"arms": np.ones((3, 3, 4))}, r"arms: got 'an array of shape \(3, 3\)', must be \(3,"),
    (
        trace,
        {"arms": np.ones((3, 2))},
        r"arms: got .*\(3, 2\)', must be numbers in 3 dimensions, or",
    ),
    (trace, {"arms": np.ones((3, 2, 0))}, r"arms: got 'an array of shape \(3, 2, 0\)', must be d"),
    (trace, {"rewards": np.ones(3)}, r"rewards: got 'an array of shape \(3,\)', .* 2 dimensions"),
    (
        trace,
        {"rewards": np.ones((2, 2))},
        r"clients: got .*\(3,\)', must be \(2,\), to match rewards",
    ),
    (trace, {"expected": np.ones((3, 1))}, r"expected: got 'an array of shape \(3, 1\)', must be"),
    (by_id, {"arms": [[0, 1]] * 2, "items": np.eye(4)}, r"arms: got .*\(2, 2\)', must be \(3, 2\)"),
    (by_id, {"arms": [[0, 1]] * 3, "items": np.ones(4)}, r"items: got .*\(4,\)', .* 2 dimensions"),
    (
        by_id,
        {"arms": [[0, 1]] * 3, "items": np.ones((4, 0))},
        r"items: got .*, must be d >= 1 wide",
    ),
    (inc_fed_ucb, {"costs": [[1.0]]}, r"costs: got 'an array of shape \(1, 1\)', must be a number"),
    # nothing at all
    (
        trace,
        {
            "clients": np.empty(0, int),
            "arms": np.empty((0, 2, 4)),
            "rewards": np.empty((0, 2)),
            "expected": None,
        },
        r"rewards: got 'an array of shape \(0, 2\)', must be T x K, at least one step and one arm",
    ),
    (
        trace,
        {"arms": np.empty((3, 0, 4)), "rewards": np.empty((3, 0)), "expected": None},
        r"rewards: got 'an array of shape \(3, 0\)', must be T x K, at least one step and one arm",
    ),
    (incfed.Synthetic, {"arms": 0}, r"arms: got 0, must be a whole number of at least 1"),
    (incfed.Synthetic, {"clients": 0}, r"clients: got 0, must be a whole number from 1 to 10,0"),
    (incfed.Synthetic, {"clients": 10**15}, r"clients: got 1000000000000000, must be .* from 1 to"),
    (incfed.Synthetic, {"dim": 0}, r"dim: got 0, must be a whole number from 1 to 10,000"),
    (incfed.Synthetic, {"pool": -1}, r"pool: got -1, must be a whole number from 1 to 10,000,000"),
    (incfed.Synthetic, {"arms": 9, "pool": 8}, r"arms: got 9, must be at most the pool \(8\)"),
    # not finite
    (trace, {"arms": with_entry((3, 2, 4), math.nan)}, r"arms\[2, 1, 3\]: got nan, must be a fin"),
    (trace, {"arms": with_entry((3, 2, 4), math.inf)}, r"arms\[2, 1, 3\]: got inf, must be a fin"),
    (trace, {"rewards": with_entry((3, 2), math.nan)}, r"rewards\[2, 1\]: got nan, must be a fin"),
    (trace, {"rewards": with_entry((3, 2), -math.inf)}, r"rewards\[2, 1\]: got -inf, must be a"),
    (trace, {"expected": with_entry((3, 2), math.nan)}, r"expected\[2, 1\]: got nan, must be a"),
    (
        by_id,
        {"arms": [[0, 1]] * 3, "items": with_entry((4, 2), math.nan)},
        r"items\[3, 1\]: got nan, must be a finite number",
    ),
    (inc_fed_ucb, {"costs": math.nan}, r"costs: got nan, must be a number from 0 to 1e"),
    (inc_fed_ucb, {"costs": math.inf}, r"costs: got inf, must be a number from 0 to 1e"),
    (inc_fed_ucb, {"costs": [1, math.nan]}, r"costs\[1\]: got nan, must be a finite number"),
    (inc_fed_ucb, {"threshold": math.nan}, r"threshold: got nan, must be a number \(or inf\) of"),
    (inc_fed_ucb, {"noise": math.inf}, r"noise: got inf, must be a number from 0 to 1e\+12"),
    (
        inc_fed_ucb,
        {"exploration": math.inf},
        r"exploration: got inf, must be a number from 0 to 1e\+12",
    ),
    (efficient, {"beta": math.nan}, r"beta: got nan, must be a number from 0 to 1"),
    (incfed.Synthetic, {"noise": math.nan}, r"noise: got nan, must be a number from 0 to 1e\+12"),
    # out of range
    (inc_fed_ucb, {"costs": -0.5}, r"costs: got -0\.5, must be a number from 0 to 1e"),
    (inc_fed_ucb, {"costs": [1, -2]}, r"costs\[1\]: got -2, must be a number from 0 to 1e"),
    (efficient, {"beta": 1.0001}, r"beta: got 1\.0001, must be a number from 0 to 1"),
    (efficient, {"beta": -0.1}, r"beta: got -0\.1, must be a number from 0 to 1"),
    (inc_fed_ucb, {"ridge": 0}, r"ridge: got 0, must be a number from 1e-12 to 1e\+12"),
    (inc_fed_ucb, {"ridge": -0.1}, r"ridge: got -0\.1, must be a number from 1e-12 to 1e\+12"),
    (inc_fed_ucb, {"delta": 0}, r"delta: got 0, must be a number from 1e-100 to 1 \(1 excl"),
    (inc_fed_ucb, {"delta": 1.0}, r"delta: got 1\.0, must be a number from 1e-100 to 1 \(1 excl"),
    (inc_fed_ucb, {"noise": -1}, r"noise: got -1, must be a number from 0 to 1e\+12"),
    (inc_fed_ucb, {"exploration": -1}, r"exploration: got -1, must be a number from 0 to 1e\+12"),
    (inc_fed_ucb, {"threshold": -1}, r"threshold: got -1, must be a number \(or inf\) of at"),
    (incfed.DisLinUCB, {"threshold": -1}, r"threshold: got -1, must be a number \(or inf\) of at"),
    (
        incfed.DisLinUCB,
        {"threshold": 1, "ridge": 0},
        r"ridge: got 0, must be a number from 1e-12 to 1e\+12",
    ),
    (incfed.Independent, {"delta": 2}, r"delta: got 2, must be a number from 1e-100 to 1 \(1 excl"),
    (
        incfed.Centralized,
        {"ridge": math.nan},
        r"ridge: got nan, must be a number from 1e-12 to 1e\+12",
    ),
    (incfed.Synthetic, {"spread": -0.1}, r"spread: got -0.1, must be a number from 0 to 1e\+12"),
    (incfed.Synthetic, {"spread": math.nan}, r"spread: got nan, must be a number from 0 to 1e\+12"),
    (incfed.Synthetic, {"spread": "wide"}, r"spread: got 'wide', must be a number from 0 to"),
    (incfed.Synthetic, {"dim": 1, "spread": 1}, r"spread: got 1.0, must be another number if dim"),
    (incfed.Synthetic, {"activity": -1}, r"activity: got -1, must be a number of at least 0"),
    (
        incfed.Synthetic,
        {"clients": 2, "activity": [1, -1]},
        r"activity: got \[1\.0, -1\.0\], must be 2 weights of at least 0",
    ),
    (incfed.Synthetic, {"clients": 2, "activity": [0, 0]}, r"activity: got .*, must be 2 weights"),
    (incfed.Synthetic, {"clients": 2, "activity": [1]}, r"activity: got \[1\.0\], must be 2 wei"),
    (high, {"steps": 1}, r"steps: got 1, must be a whole number from 2 to"),
    (high, {"clients": 0}, r"clients: got 0, must be a whole number of at least 1"),
    (theory, {"beta": 0}, r"beta: got 0, must be a number from 0 to 1 \(0 excluded\)"),
    (theory, {"ridge": 0}, r"ridge: got 0, must be a number from 1e-12 to 1e\+12"),
    *(
        (made, {name: value}, rf"{name}: got {re.escape(repr(value))}, must be a number from ")
        for made, name, value in (
            (inc_fed_ucb, "ridge", 1e308),
            (inc_fed_ucb, "ridge", 1e-300),
            (inc_fed_ucb, "noise", 1e308),
            (inc_fed_ucb, "delta", 5e-324),
            (inc_fed_ucb, "exploration", 1e300),
            (inc_fed_ucb, "costs", 1e101),
            (incfed.Synthetic, "noise", 1e308),
            (theory, "ridge", 1e300),
        )
    ),
    (inc_fed_ucb, {"costs": [1, 1e101]}, r"costs\[1\]: got 1e\+101, must be a number from 0 to 1e"),
    (
        trace,
        {"arms": with_entry((3, 2, 4), -1e101)},
        r"arms\[2, 1, 3\]: got -1e\+101, must be a nu",
    ),
    (trace, {"rewards": with_entry((3, 2), 1e101)}, r"rewards\[2, 1\]: got 1e\+101, must be a nu"),
    # ids
    (trace, {"clients": [0, -1, 1]}, r"clients: got -1, must be ids from 0 to 9,999,999"),
    (trace, {"clients": [0, 1.0, 1]}, r"clients: got 'an array of float64', must be whole numbers"),
    (trace, {"clients": [0, 10**7, 1]}, r"clients: got 10000000, must be ids from 0 to 9,999,999"),
    (trace, {"count": 10**7 + 1}, r"count: got 10000001, must be a whole number from 1 to 10,000"),
    (trace, {"count": 1}, r"count: got 1, must be at least 2: clients holds the id 1"),
    (trace, {"count": 0}, r"count: got 0, must be a whole number from 1 to 10,000,000"),
    (by_id, {"arms": [[0, 4]] * 3, "items": np.eye(4)}, r"arms: got 4, must be rows of items, 0 t"),
    (by_id, {"arms": [[0, -1]] * 3, "items": np.eye(4)}, r"arms: got -1, must be rows of items"),
    (by_id, {"arms": [[0, 0.5]] * 3, "items": np.eye(4)}, r"arms: got .*float64', must be whole"),
    # not of the kind
    (
        inc_fed_ucb,
        {"costs": "abc"},
        r"costs: got 'abc', must be a number of at least 0, or one per client",
    ),
    (
        inc_fed_ucb,
        {"costs": None},
        r"costs: got None, must be a number of at least 0, or one per client",
    ),
    (inc_fed_ucb, {"costs": True}, r"costs: got True, must be a number from 0 to 1e"),
    (inc_fed_ucb, {"costs": ["1"]}, r"costs: got 'an array of <U1', must be a number of at"),
    (inc_fed_ucb, {"ridge": "0.1"}, r"ridge: got '0\.1', must be a number from 1e-12 to 1e\+12"),
    (inc_fed_ucb, {"ridge": True}, r"ridge: got True, must be a number from 1e-12 to 1e\+12"),
    (inc_fed_ucb, {"reads": "Stale"}, r"reads: got 'Stale', must be one of 'fresh', 'stale'"),
    (inc_fed_ucb, {"clocks": "none"}, r"clocks: got 'none', must be one of 'all', 'participants'"),
    (inc_fed_ucb, {"mechanism": None}, r"mechanism: got None, must be a Mechanism"),
    (inc_fed_ucb, {"mechanism": incfed.PayEveryone}, r"mechanism: got <class .*, must be a Mech"),
    (efficient, {"beta": "0.5"}, r"beta: got '0\.5', must be a number from 0 to 1"),
    (efficient, {"beta": True}, r"beta: got True, must be a number from 0 to 1"),
    (efficient, {"order": "up"}, r"order: got 'up', must be one of 'descending', 'ascending'"),
    (efficient, {"payment_free": 1}, r"payment_free: got 1, must be true or false"),
    (efficient, {"iterative": None}, r"iterative: got None, must be true or false"),
    (efficient, {"absorb": "no"}, r"absorb: got 'no', must be true or false"),
    (incfed.Synthetic, {"clients": 2.0}, r"clients: got 2\.0, must be a whole number from 1"),
    (incfed.Synthetic, {"dim": True}, r"dim: got True, must be a whole number from 1 to 10,000"),
    (
        incfed.Synthetic,
        {"activity": "zipf"},
        r"activity: got 'zipf', must be a number of at least 0, or",
    ),
    (incfed.Synthetic, {"activity": True}, r"activity: got True, must be a number of at least 0"),
    (trace, {"rewards": [["a", "b"]] * 3}, r"rewards: got 'an array of <U1', must be finite"),
    (high, {"dim": 2.0}, r"dim: got 2\.0, must be a whole number of at least 1"),
    # what to run
    (run, {"steps": None}, r"steps: got None, must be given: this world has no fixed length"),
    (run, {"steps": 0}, r"steps: got 0, must be a whole number from 1 to"),
    (run, {"steps": -5}, r"steps: got -5, must be a whole number from 1 to"),
    (run, {"steps": 10.0}, r"steps: got 10\.0, must be a whole number from 1 to"),
    (run, {"steps": True}, r"steps: got True, must be a whole number from 1 to"),
    (run, {"world": trace(), "steps": 4}, r"steps: got 4, must be at most 3, the length of the"),
    (run, {"steps": 5, "seed": -1}, r"seed: got -1, must be a whole number of at least 0"),
    (run, {"steps": 5, "seed": 1.5}, r"seed: got 1\.5, must be a whole number of at least 0"),
    (run, {"steps": 5, "seed": None}, r"seed: got None, must be a whole number of at least 0"),
    (run, {"steps": 5, "world": "Synthetic"}, r"world: got 'Synthetic', must be a World"),
    (run, {"steps": 5, "world": incfed.Synthetic}, r"world: got <class .*, must be a World"),
    (run, {"steps": 5, "algorithm": "IncFedUCB"}, r"algorithm: got 'IncFedUCB', must be an Algo"),
    (run, {"steps": 5, "algorithm": FREE}, r"algorithm: got PayEveryone\(\), must be an Algorithm"),
    (
        run,
        {"steps": 5, "algorithm": inc_fed_ucb(costs=[1.0, 2.0])},
        r"costs: got '2 costs', must be one number, or 3 \(one each\)",
    ),
    (advance, {"n": 4}, r"n: got 4, must be a whole number from 0 to 3"),
    (advance, {"n": -1}, r"n: got -1, must be a whole number from 0 to 3"),
    (advance, {"n": 1.0}, r"n: got 1\.0, must be a whole number from 0 to 3"),
    (incfed.check_mechanism, {"mechanism": FREE, "rounds": -1}, r"rounds: got -1, must be a whole"),
    (incfed.check_mechanism, {"mechanism": FREE, "seed": -1}, r"seed: got -1, must be a whole"),
]


@pytest.mark.parametrize(("make", "changes", "message"), MESSAGES)
def test_refused(make: Callable[..., Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        make(**changes)


@pytest.mark.parametrize("make", [trace, inc_fed_ucb, efficient, high, theory])
def test_without_a_mistake_nothing_is_refused(make: Callable[..., Any]) -> None:
    make()


def test_the_limits_themselves_are_allowed() -> None:
    run(inc_fed_ucb(threshold=0, costs=0, noise=0, exploration=0), steps=3)
    run(inc_fed_ucb(threshold=math.inf, costs=(0, 1, 2)), steps=np.int64(3), seed=np.int32(0))
    run(inc_fed_ucb(mechanism=efficient(0)), world=trace(count=2), steps=3)
    run(inc_fed_ucb(mechanism=efficient(1)), world=by_id([[0, 3]] * 3, np.eye(4)))
    run(world=incfed.Synthetic(clients=1, dim=1, arms=1, pool=1, noise=0, activity=0), steps=3)


EXTREMES = {
    "ridge": ranges.RIDGE,
    "noise": ranges.NOISE,
    "delta": ranges.DELTA,
    "exploration": ranges.EXPLORATION,
    "width_scale": ranges.WIDTH_SCALE,
    "trust": ranges.TRUST,
    "costs": ranges.COST,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("mechanism", [incfed.PaymentEfficient(0.7), incfed.PaymentFree()])
def test_nothing_overflows_at_the_ends_of_the_ranges(mechanism: incfed.Mechanism, end: int) -> None:
    """Each setting at its end, the others as usual; then all of them, and arms of the largest."""
    usual = {"threshold": 0.1, "costs": 10.0}
    cases: list[dict[str, Any]] = [{"ridge": 1e-6}, {"ridge": 1e6}]
    trusts: tuple[Any, ...] = (1e-300, 1.0, 1e100, "auto")
    for name, number in EXTREMES.items():
        value = number.high if end else number.low
        cases.append({name: math.nextafter(value, 0.0) if end and number.below else value})
    together = {name: value for case in cases[2:] for name, value in case.items()}
    del together["width_scale"]  # exploration takes the place of the formula
    cases += [together, *({**together, "trust": trust} for trust in trusts)]
    cases += [{"trust": trust} for trust in trusts]
    chance = np.random.default_rng(0)
    arms, rewards = chance.normal(size=(200, 4, 5)), chance.normal(size=(200, 4))
    far = ranges.LARGEST / 10 if end else 1.0
    world = incfed.Trace(
        chance.integers(0, 4, 200), arms * far, rewards * far, expected=rewards * far
    )
    for case in cases:
        made = incfed.IncFedUCB(mechanism, **{**usual, **case})
        found = incfed.simulate(world, made).summary()
        for name in ("regret", "reward", "payment"):
            assert math.isfinite(found[name]), (case, name)
