"""What the kernels trust has to be checked before it reaches them: they do not look at bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import incfed
from incfed.environments import Events, Stream
from incfed.kernels.client import STEEP
from incfed.kernels.store import DENSE
from incfed.mechanisms.rehearsal import make_round


class Mine(incfed.World):
    """A world of somebody's own, with one thing wrong."""

    count, dim, arms_per_step = 3, 2, 4

    def __init__(self, items: Any = None, **wrong: Any) -> None:
        self.items = np.ones((5, 2)) if items is None else items
        self.wrong = wrong

    def open(self, seed: np.random.SeedSequence) -> Stream:
        world = self

        class Opened(Stream):
            items = world.items

            def take(self, n: int) -> Events:
                right = {
                    "clients": np.zeros(n, np.int64),
                    "arms": np.zeros((n, 4), np.int64),
                    "rewards": np.zeros((n, 4)),
                    "expected": np.zeros((n, 4)),
                }
                return Events(**{**right, **world.wrong})

        return Opened()

    def settings(self) -> dict[str, Any]:
        return {"kind": "Mine"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clients": np.full(9, 3)}, "clients: got 3, must be from 0 to 2"),
        ({"clients": np.full(9, -1)}, "clients: got -1, must be from 0 to 2"),
        ({"arms": np.full((9, 4), 5)}, "arms: got 5, must be from 0 to 4"),
        ({"arms": np.zeros((9, 3), np.int64)}, "arms: got .* must be int64 of shape"),
        ({"arms": np.zeros((4, 9), np.int64).T}, "arms: got 'strided'"),
        ({"rewards": np.zeros((9, 4), np.float32)}, "rewards: got .*float32"),
        ({"expected": None}, "expected: got .*NoneType"),
        ({"items": np.ones((5, 3))}, "items: got .* must be 2 features wide"),
        ({"items": np.full((5, 2), np.nan)}, r"items\[0, 0\]: got nan"),
    ],
)
def test_a_world_of_ones_own_is_checked(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(incfed.InputError, match=message):
        incfed.simulate(Mine(**wrong), incfed.Independent(), steps=9)


def test_a_right_one_runs() -> None:
    assert incfed.simulate(Mine(), incfed.Independent(), steps=9).reward[-1] == 0.0


class Late(incfed.Mechanism):
    """Fails in its third round."""

    def decide(self, round: incfed.Round) -> incfed.Decision:
        if round.number == 2:
            raise ZeroDivisionError
        return round.settle(round.everyone)


def test_a_simulation_that_broke_off_says_so() -> None:
    run = incfed.Simulation(incfed.Synthetic(clients=5), incfed.IncFedUCB(Late(), threshold=0.1))
    with pytest.raises(ZeroDivisionError):
        run.advance(100)
    for use in (run.result, lambda: run.advance(1)):
        with pytest.raises(RuntimeError, match="stopped in the middle"):
            use()


@pytest.fixture
def round() -> incfed.Round:
    chance = np.random.default_rng(5)
    uploads = [chance.standard_normal((2, 3)) for _ in range(4)]
    return make_round(np.zeros((3, 3)), uploads, np.full(4, 2.0), 0)


@pytest.mark.parametrize("wrong", [np.array([0, 3]), np.ones(5, bool), [True] * 4, None])
def test_only_a_mask_is_a_set(round: incfed.Round, wrong: Any) -> None:
    S = round.coalition(round.nobody)
    for ask in (
        round.value, round.incentives, round.contributions, round.willing, round.settle,
        round.coalition, S.best, S.contributions, S.welcome,
    ):  # fmt: skip
        with pytest.raises(incfed.InputError, match="must be a boolean array of length 4"):
            ask(wrong)


def test_only_an_outsider_can_join(round: incfed.Round) -> None:
    S = round.coalition(round.nobody)
    S.add(2)
    for wrong in (-1, 4, 2):
        with pytest.raises(incfed.InputError, match="the index"):
            S.add(wrong)
    assert S.best(~round.everyone) == -1


def test_prices_are_right_whoever_was_ranked_before(round: incfed.Round) -> None:
    S = round.coalition(round.nobody)
    S.add(0)
    with_three = round.nobody
    with_three[[0, 3]] = True
    assert S.price(3) == pytest.approx(round.settle(with_three).payments[3])
    assert S.meets(0.999 * np.exp(round.value(with_three) - round.full_value), plus=3)
    assert not S.meets(1.001 * np.exp(round.value(with_three) - round.full_value), plus=3)


def test_what_a_round_hands_out_is_not_its_own(round: incfed.Round) -> None:
    before = round.needed.copy()
    for given in (round.needed, round.everyone, round.nobody):
        given[:] = 0
    np.testing.assert_array_equal(round.needed, before)
    assert round.everyone.all()


@pytest.mark.parametrize("scale", [30.0, 1000.0])
@pytest.mark.parametrize("rank", [3, 8])
def test_features_of_any_size(scale: float, rank: int) -> None:
    """At beta 1 everybody is in, however the determinants are rounded."""
    for seed in range(6):
        chance = np.random.default_rng(seed)
        arms = chance.standard_normal((150, 4, rank)) @ chance.standard_normal((rank, 8)) * scale
        trace = incfed.Trace(chance.integers(0, 6, 150), arms, chance.standard_normal((150, 4)))
        algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(), threshold=20.0, costs=50.0)
        for record in incfed.simulate(trace, algorithm).rounds:
            assert record.ratio > 1 - 1e-6


@pytest.mark.parametrize("ridge", [1e-10, 1e-6, 0.1])
def test_a_steep_step_makes_a_client_dense(ridge: float) -> None:
    """Widths taken as differences would lose the digits that x' V^-1 x = 1 / ridge has too many."""
    trace = incfed.Trace([0, 0, 0], np.ones((3, 1, 8)) / np.sqrt(8), np.ones((3, 1)))
    run = incfed.Simulation(trace, incfed.Independent(ridge=ridge))
    run.advance(1)
    assert bool(run._run.store.table[0, DENSE]) == (1 / ridge > STEEP)


class Writes(incfed.Mechanism):
    """Takes what it is given for its own."""

    def __init__(self, name: str) -> None:
        self.name = name

    def decide(self, round: incfed.Round) -> incfed.Decision:
        getattr(round, self.name)[:] = 0
        return round.settle(round.everyone)


@pytest.mark.parametrize("name", ["clients", "costs"])
def test_a_mechanism_that_writes_into_the_round_is_stopped(name: str) -> None:
    algorithm = incfed.IncFedUCB(Writes(name), threshold=0.1, costs=2.0)
    with pytest.raises(incfed.MechanismError, match="changed the round"):
        incfed.simulate(incfed.Synthetic(clients=5), algorithm, steps=200)


def test_small_integers_do_not_overflow() -> None:
    eights: Any = {"clients": np.uint8(200), "dim": np.uint8(20)}
    small = incfed.Synthetic(**eights, arms=3, pool=200)
    result = incfed.simulate(small, incfed.Centralized(), steps=10)
    assert result.communication[-1] == 10 * 201 * 420
    as_plain = incfed.thresholds.theory(steps=100_000, clients=50, dim=25, beta=0.5, ridge=0.1)
    numpys: Any = {"steps": np.int32(100_000), "clients": np.int8(50), "dim": np.int8(25)}
    assert incfed.thresholds.theory(**numpys, beta=0.5, ridge=0.1) == as_plain
