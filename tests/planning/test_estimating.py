"""Bounds: what the proof says, written out; and no run ever exceeds them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.planning.estimating import Estimate, bounds, rounds_bound


def test_rounds_by_hand() -> None:
    """d = 1, lambda = 1, T = 100: R = ceil(ln 101) = 5. With beta = 1 and D_c = 20, alpha = 20
    gives 5 + ceil(5 / 1) = 10, and 2 sqrt(T R / D_c) = 10 says that no other is better."""
    assert rounds_bound(steps=100, dim=1, beta=1.0, threshold=20.0, ridge=1.0) == 10


def test_traffic_and_money_by_hand() -> None:
    """Ten rounds, as above; 2 N (d^2 + d) = 12 scalars each; nobody is paid more than 2, and no
    more often than all clients in all rounds, or than there are steps to share."""
    known = {"beta": 1.0, "cost": 2.0, "threshold": 20.0, "ridge": 1.0}
    few = bounds(clients=3, steps=100, dim=1, **known)
    assert (few.rounds, few.communication, few.payment) == (10, 120, 60)
    assert bounds(clients=50, steps=100, dim=1, **known).payment == 200


@given(
    st.integers(2, 10_000), st.integers(1, 30), st.floats(0.01, 1), st.floats(0.01, 100),
    st.floats(0.01, 1),
)  # fmt: skip
def test_the_bound_on_rounds_is_one_of_the_proof(
    steps: int, dim: int, beta: float, threshold: float, ridge: float
) -> None:
    """Never below the least that any alpha could give, and found by some alpha or trivial."""
    most = rounds_bound(steps=steps, dim=dim, beta=beta, threshold=threshold, ridge=ridge)
    growth = math.ceil(dim * math.log(1 + steps / (ridge * dim)))
    tried = [steps]
    for alpha in range(1, min(steps, 3000) + 1):
        gain = threshold / alpha + math.log(beta)
        if gain > 0:
            tried.append(math.ceil(steps / alpha) + math.ceil(growth / gain))
    assert most <= min(tried)
    if most < steps:
        assert most >= 2 * math.sqrt(steps * growth / threshold) - 1e-6  # alpha log beta <= 0


@settings(max_examples=60)
@given(
    st.integers(1, 6), st.integers(2, 150), st.integers(1, 4), st.floats(0, 1),
    st.floats(0, 5), st.floats(0.01, 20), st.floats(0.05, 2), st.integers(0, 99),
)  # fmt: skip
def test_no_run_exceeds_a_bound(
    clients: int,
    steps: int,
    dim: int,
    beta: float,
    cost: float,
    threshold: float,
    ridge: float,
    seed: int,
) -> None:
    known = {"beta": beta, "cost": cost, "threshold": threshold, "ridge": ridge}
    most = bounds(clients=clients, steps=steps, dim=dim, **known)
    world = incfed.Synthetic(clients=clients, dim=dim, arms=3, pool=20)
    algorithm = incfed.IncFedUCB(
        incfed.PaymentEfficient(beta), threshold=threshold, costs=cost, ridge=ridge
    )
    result = incfed.simulate(world, algorithm, steps=steps, seed=seed)
    assert len(result.rounds) <= most.rounds
    assert result.communication[-1] <= most.communication
    assert result.payment[-1] <= most.payment * (1 + 1e-12)


def test_which_beta_the_theorem_covers() -> None:
    def covered(beta: float) -> bool:
        size = {"clients": 50, "steps": 5000, "dim": 25}
        return bounds(**size, beta=beta, cost=1, threshold=1, ridge=0.1).covered

    assert covered(0.981)  # e^(-1/50) = 0.9802
    assert not covered(0.98)


def test_bounds_are_shown_where_they_say_something() -> None:
    """Of a short run in many dimensions the proofs know nothing that is not plain."""
    simulated = {"rounds": 9.0, "communication": 90.0, "payment": 4.0, "regret": 2.5}

    def made(steps: int, clients: int = 5, beta: float = 1.0) -> Estimate:
        known = {"clients": clients, "steps": steps, "dim": 1, "beta": beta, "cost": 2.0,
                 "threshold": 20.0, "ridge": 1.0}  # fmt: skip
        return Estimate(**known, bounds=bounds(**known), simulated=simulated)  # type: ignore[arg-type]

    short = made(steps=10, beta=0.0)
    assert short.bounds.rounds == 10
    assert short.telling() == {}
    assert [bound for *_, bound in short.rows()] == [""] * 4
    assert "at most" not in str(short)
    assert "The proofs say nothing about a run of this length" in str(short)
    some = made(steps=100)  # ten rounds, as above
    assert some.telling() == {"rounds": 10, "communication": 200.0, "payment": 100.0}
    assert str(some).splitlines()[0].split() == ["simulated", "at", "most"]
    many = made(steps=100, clients=50)  # 500 uploads in 100 steps
    assert set(many.telling()) == {"rounds", "communication"}
    assert "For the payment it is no better than every step paid for." in str(many)
    assert "c1" not in str(many)


def test_an_estimate_has_bounds_and_one_run() -> None:
    made = incfed.estimate(clients=5, steps=300, dim=3, beta=0.7, cost=2.0)
    threshold = incfed.thresholds.theory(steps=300, clients=5, dim=3, beta=0.7, ridge=0.1)
    assert made.threshold == threshold
    run = incfed.simulate(
        incfed.Synthetic(clients=5, dim=3),
        incfed.IncFedUCB(incfed.PaymentEfficient(0.7), threshold=threshold, costs=2.0),
        steps=300,
    )
    assert made.simulated["regret"] == run.regret[-1]
    assert made.simulated["payment"] == run.payment[-1]
    assert "it does not cover this beta" in str(made)
    with pytest.raises(incfed.InputError, match="cost: got -1"):
        incfed.estimate(cost=-1)
