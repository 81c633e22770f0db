"""Steps in which somebody picked what nobody knows the reward of: they count for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments import Events
from incfed.errors import InputError
from incfed.results import Rounds
from support.results import made_up, sample
from support.worlds import MECHANISMS, Kind, mechanisms, settings_of_a_run, traces

NAN = float("nan")


def hand_made(expected: bool) -> incfed.Trace:
    """The longest arm is picked first by a client that knows nothing: arm 1, arm 0, arm 1."""
    arms = np.array([[[1.0], [2.0]], [[3.0], [1.0]], [[1.0], [2.0]]])
    means = arms[..., 0] if expected else None
    trace = incfed.Trace([0, 1, 1], arms, [[7.0, 4.0], [9.0, 8.0], [1.0, 5.0]], means)
    trace.rewards[1, 0] = NAN
    return trace


@pytest.mark.parametrize("expected", [True, False])
def test_by_hand(expected: bool) -> None:
    result = incfed.simulate(hand_made(expected), incfed.Independent())
    assert result.reward.tolist() == [4.0, 4.0, 9.0]
    assert result.matched.tolist() == [1.0, 1.0, 2.0]
    assert result.summary()["matched"] == 2
    np.testing.assert_array_equal(result.regret, [0.0] * 3 if expected else [NAN] * 3)


def test_nothing_is_sent_about_a_skipped_step() -> None:
    # d^2 + d = 2 scalars up, and down to each of two clients
    result = incfed.simulate(hand_made(expected=True), incfed.Centralized())
    assert result.communication.tolist() == [6.0, 6.0, 12.0]


@given(
    traces(steps=(1, 80), unknown=st.sampled_from([0.3, 0.8])),
    mechanisms(),
    settings_of_a_run(),
    st.sampled_from([0.0, 0.5, 5.0]),
)
def test_as_if_the_skipped_steps_were_not_in_the_trace(
    trace: incfed.Trace, mechanism: Kind, options: dict[str, Any], costs: float
) -> None:
    kind, knobs = mechanism
    algorithm = incfed.IncFedUCB(MECHANISMS[kind](**knobs), costs=costs, **options)
    whole = incfed.simulate(trace, algorithm)
    matched = np.diff(whole.matched, prepend=0.0) == 1.0
    shown: dict[str, Any] = {"arms": trace.items[trace.arms]}
    if trace.recurring:
        shown = {"arms": trace.arms, "items": trace.items}
    shown["arms"] = shown["arms"][matched]
    if not matched.any():
        assert not whole.reward.any()
        assert not len(whole.rounds)
        return
    rewards = np.nan_to_num(trace.rewards[matched])
    short = incfed.Trace(trace.clients[matched], rewards=rewards, count=trace.count, **shown)
    rest = incfed.simulate(short, algorithm)
    assert rest.matched[-1] == matched.sum()
    for name in ("reward", "communication", "payment"):
        np.testing.assert_allclose(getattr(whole, name)[matched], getattr(rest, name), rtol=1e-9)
    assert whole.rounds.step.tolist() == np.flatnonzero(matched)[rest.rounds.step].tolist()
    assert whole.rounds.participants.tolist() == rest.rounds.participants.tolist()


def test_worlds_of_ones_own_may_not_know_either() -> None:
    class Stream(incfed.environments.Stream):
        items = np.eye(2)

        def take(self, n: int) -> Events:
            arms, unknown = np.zeros((n, 2), np.int64), np.full((n, 2), NAN)
            return Events(np.zeros(n, np.int64), arms, unknown, unknown)

    class Blind(incfed.World):
        count, dim, arms_per_step = 1, 2, 2

        def open(self, seed: np.random.SeedSequence) -> Stream:
            return Stream()

        def settings(self) -> dict[str, Any]:
            return {"kind": "Blind"}

    result = incfed.simulate(Blind(), incfed.DisLinUCB(threshold=0.0), steps=30)
    assert result.matched[-1] == result.reward[-1] == len(result.rounds) == 0
    assert Blind().notes == ()


def test_saved_and_loaded(tmp_path: Path) -> None:
    result = incfed.simulate(hand_made(expected=False), incfed.Independent())
    result.save(tmp_path / "some")
    assert incfed.load(tmp_path / "some") == result
    assert result.to_polars().columns[-1] == result.to_pandas().columns[-1] == "matched"
    # Where every step counts a result looks, in memory and on disk, as it always did.
    sample().save(tmp_path / "all")
    loaded = incfed.load(tmp_path / "all")
    assert loaded == sample()
    assert loaded.matched.tolist() == list(range(1, 11))
    assert "matched" not in loaded.to_polars().columns


def test_a_count_of_another_length_is_refused() -> None:
    curve = np.ones(3)
    with pytest.raises(InputError, match="matched: 2 steps; allowed are the 3 of regret"):
        made_up(curve, curve, curve, curve, Rounds.collect([]), {}, matched=np.ones(2))
