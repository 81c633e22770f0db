"""Bootstrapped logs: steps drawn with replacement by the seed, near their places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import incfed
from incfed.environments.base import Events, Stream, World
from incfed.environments.bootstrap import JITTER
from incfed.support.inputs import InputError
from support.logs import Sample

STEPS = 200


def trace() -> incfed.Trace:
    """Its rewards are the numbers of the steps."""
    number = np.arange(float(STEPS))[:, None]
    chance = np.random.default_rng(0)
    arms = chance.standard_normal((STEPS, 1, 2))
    return incfed.Trace(chance.integers(0, 3, STEPS), arms, number, number)


class Own(World):
    """A recorded world of the user's own, that is read from start to end."""

    def __init__(self) -> None:
        self.inner = trace()

    count, dim, arms_per_step, length, chance = 3, 2, 1, STEPS, False

    def open(self, seed: np.random.SeedSequence) -> Stream:
        inner = self.inner.open(seed)

        class OwnStream(Stream):
            items = inner.items

            def take(self, n: int) -> Events:
                return inner.take(n)

        return OwnStream()

    def settings(self) -> dict[str, Any]:
        return {}


def drawn(world: World, steps: int, seed: int, pieces: int = 1) -> Any:
    stream = world.bootstrap(steps).open(np.random.SeedSequence(seed))
    parts = [stream.take(steps // pieces).rewards[:, 0] for _ in range(pieces)]
    return np.concatenate(parts)


def test_steps_are_drawn_with_replacement_near_their_places() -> None:
    rows = drawn(trace(), STEPS, 1)
    assert set(rows) < set(range(STEPS))
    assert len(set(rows)) == pytest.approx(STEPS * (1 - np.exp(-1)), abs=20)
    places = np.sort(rows)  # without jitter
    assert 0 < np.abs(rows - places).max() <= 3 * JITTER * STEPS
    copies = rows[1:] == rows[:-1]
    assert copies.sum() < 10 < (places[1:] == places[:-1]).sum()


def test_the_same_seed_draws_the_same_log() -> None:
    one = drawn(trace(), STEPS, 1)
    np.testing.assert_array_equal(one, drawn(trace(), STEPS, 1, pieces=8))
    np.testing.assert_array_equal(one, drawn(Own(), STEPS, 1))
    assert (one != drawn(trace(), STEPS, 2)).any()
    skipped = trace().bootstrap(STEPS).open(np.random.SeedSequence(1))
    skipped.skip(50)
    np.testing.assert_array_equal(one[50:], skipped.take(150).rewards[:, 0])


def test_longer_and_of_a_part() -> None:
    world = trace().part(0.25, 0.5)
    assert world.bootstrap(500).length == 500
    rows = drawn(world, 500, 3)
    assert set(rows) == set(range(50, 100))


def test_a_log_keeps_events_together(tmp_path: Any) -> None:
    sample = Sample.random(events=60)
    log = incfed.ReplayLog(sample.events, mode="replay", items=sample.table)
    events = log.bootstrap(60).open(np.random.SeedSequence(0)).take(60)
    known = {
        (who, round(reward, 3)) for who, reward in zip(sample.clients, sample.rewards, strict=True)
    }
    for who, rewards in zip(events.clients, events.rewards, strict=True):
        [reward] = set(rewards[~np.isnan(rewards)])
        assert (log.client_names[who], reward) in known


def test_what_cannot_be_bootstrapped() -> None:
    with pytest.raises(InputError, match="bootstrap: got 5, must be left out: runs of this world"):
        incfed.Synthetic().bootstrap(5)
    with pytest.raises(InputError, match="bootstrap: got 5, must be left out"):
        trace().part(0.0, 0.5, turn=True).bootstrap(5)
    with pytest.raises(InputError, match="bootstrap: got 0, must be"):
        trace().bootstrap(0)
