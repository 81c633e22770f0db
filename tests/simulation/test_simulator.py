"""The same seed gives the same numbers, however the run is cut into pieces."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments import Events
from incfed.environments.synthetic import SyntheticStream
from incfed.simulation import simulator
from support.worlds import MECHANISMS, Kind, mechanisms, settings_of_a_run

WORLD = incfed.Synthetic(clients=6, dim=5, arms=4, pool=30)
CURVES = ("regret", "reward", "communication", "payment")
COLUMNS = (
    "step", "trigger", "pending", "idle", "communication", "ratio", "offsets", "participants",
    "payments",
)  # fmt: skip
ALGORITHMS: list[Any] = [
    incfed.IncFedUCB(incfed.PaymentEfficient(0.8), threshold=0.5, costs=2.0),
    incfed.IncFedUCB(
        incfed.PaymentFree(), threshold=0.2, costs=0.1, reads="stale", clocks="participants"
    ),
    incfed.DisLinUCB(0.5),
    incfed.Independent(),
    incfed.Centralized(),
]


def identical(one: incfed.Result, two: incfed.Result) -> None:
    """Bit for bit."""
    for name in CURVES:
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    for name in COLUMNS:
        assert getattr(one.rounds, name).tobytes() == getattr(two.rounds, name).tobytes(), name
    for name in ("steps", "matched", "reward", "regret", "shared", "paid"):
        assert getattr(one.clients, name).tobytes() == getattr(two.clients, name).tobytes(), name
    assert one.settings == two.settings


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_seed_the_same_numbers(algorithm: Any) -> None:
    one = incfed.simulate(WORLD, algorithm, steps=700, seed=3)
    identical(one, incfed.simulate(WORLD, algorithm, steps=700, seed=3))
    other = incfed.simulate(WORLD, algorithm, steps=700, seed=4)
    assert not np.array_equal(one.reward, other.reward)


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
    mechanisms(),
    settings_of_a_run(),
    st.sampled_from([0.0, 0.5, 5.0]),
)
def test_pieces_change_nothing(
    pieces: list[int], mechanism: Kind, options: dict[str, Any], costs: float
) -> None:
    kind, knobs = mechanism
    algorithm = incfed.IncFedUCB(MECHANISMS[kind](**knobs), costs=costs, **options)
    whole, cut = (incfed.Simulation(WORLD, algorithm, seed=1) for _ in range(2))
    whole.advance(sum(pieces))
    for n in pieces:
        cut.advance(n)
    identical(whole.result(), cut.result())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("chunk", [1, 7, 4000])
def test_so_does_the_simulator_s_own_cutting(
    algorithm: Any, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for factors to be made afresh after 256 own updates, in the middle of a piece.
    before = incfed.simulate(WORLD, algorithm, steps=2500, seed=2)
    monkeypatch.setattr(simulator, "CHUNK", chunk)
    identical(before, incfed.simulate(WORLD, algorithm, steps=2500, seed=2))


def test_a_run_can_be_looked_at_and_go_on() -> None:
    algorithm = ALGORITHMS[0]
    run = incfed.Simulation(WORLD, algorithm, seed=5)
    assert len(run.result().reward) == 0
    assert len(run.result().rounds) == 0
    run.advance(300)
    identical(run.result(), incfed.simulate(WORLD, algorithm, steps=300, seed=5))
    run.advance(400)
    assert run.steps == 700
    identical(run.result(), incfed.simulate(WORLD, algorithm, steps=700, seed=5))


def test_no_seed_is_global() -> None:
    algorithm = ALGORITHMS[0]
    expected = incfed.simulate(WORLD, algorithm, steps=300)
    np.random.seed(1)  # noqa: NPY002
    name, keys, place, *rest = np.random.get_state()  # noqa: NPY002
    identical(incfed.simulate(WORLD, algorithm, steps=300), expected)
    incfed.check_mechanism(incfed.PaymentFree(), rounds=5)
    now, keys_now, place_now, *rest_now = np.random.get_state()  # noqa: NPY002
    assert (name, place, rest) == (now, place_now, rest_now)
    assert np.array_equal(keys, keys_now)


def test_every_algorithm_sees_the_same_clients_arms_and_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Events] = []
    take = SyntheticStream.take

    def taken(self: SyntheticStream, n: int) -> Events:
        events = take(self, n)
        seen.append(deepcopy(events))
        return events

    monkeypatch.setattr(SyntheticStream, "take", taken)
    for algorithm in ALGORITHMS:
        incfed.simulate(WORLD, algorithm, steps=500, seed=9)
    assert len(seen) == len(ALGORITHMS)
    for events in seen[1:]:
        for mine, theirs in zip(events, seen[0], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_progress_is_told() -> None:
    told: list[int] = []
    incfed.simulate(WORLD, ALGORITHMS[3], steps=2500, progress=told.append)
    assert told == sorted(told)
    assert len(told) > 1
    assert told[-1] == 2500


def test_settings_say_what_was_run() -> None:
    result = incfed.simulate(WORLD, ALGORITHMS[0], steps=20, seed=7)
    assert result.settings == {
        "world": WORLD.settings(),
        "algorithm": {
            "kind": "IncFedUCB",
            "mechanism": incfed.PaymentEfficient(0.8).settings(),
            "threshold": 0.5,
            "costs": 2.0,
            "clocks": "all",
            "ridge": 0.1,
            "noise": 0.1,
            "delta": 0.1,
            "exploration": None,
            "reads": "fresh",
            "width": "paper",
            "width_scale": 1.0,
            "policy": None,
            "trust": "inf",
            "trigger": None,
            "download": "everyone",
            "budget": "inf",
            "availability": 1.0,
            "reports": [],
            "money_digits": None,
            "limits": None,
            "share_from": 1,
            "privacy": None,
        },
        "seed": 7,
        "steps": 20,
        "clients": 6,
        "dim": 5,
        "incfed": incfed.__version__,
        "traits": {"alone": False, "chance": True},
    }


def test_curves_and_rounds_tell_the_same_story() -> None:
    result = incfed.simulate(WORLD, ALGORITHMS[0], steps=700)
    rounds = result.rounds
    assert len(rounds) > 5
    for curve, column in (
        (result.communication, rounds.communication),
        (result.payment, rounds.payment),
    ):
        a_step = np.diff(curve, prepend=0.0)
        np.testing.assert_allclose(a_step[rounds.step], column, rtol=1e-9, atol=1e-9)
        assert not np.delete(a_step, rounds.step).any()
    # docs/paper.md, reading 11: N d^2 up, d a participant, N (d^2 + d) down
    participants = rounds.shared + rounds.idle
    assert rounds.communication.tolist() == (6 * 25 + 5 * participants + 6 * 30).tolist()
    assert (rounds.pending + rounds.idle == 6).all()
    assert (np.diff(result.regret) >= 0).all()
