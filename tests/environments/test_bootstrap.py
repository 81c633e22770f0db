"""Bootstrapped logs: steps drawn by the seed, near their places, and repeated only if asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments.base import Events, Stream, World
from incfed.environments.bootstrap import JITTER, Bootstrap
from incfed.errors import InputError
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


def repeated(world: World, steps: int, resample: str = "events") -> World:
    """A bootstrapped log with repeats, which warns."""
    with pytest.warns(incfed.RepeatedEvents, match="learning alone looks better than it is"):
        return world.bootstrap(steps, resample, repeats=True)


def drawn(world: World, steps: int, seed: int, pieces: int = 1) -> Any:
    """The numbers of the steps that are drawn, with repeats."""
    stream = repeated(world, steps).open(np.random.SeedSequence(seed))
    parts = [stream.take(steps // pieces).rewards[:, 0] for _ in range(pieces)]
    return np.concatenate(parts)


@given(
    clients=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    share=st.floats(0.0, 1.0),
    resample=st.sampled_from(["events", "clients"]),
    seed=st.integers(0, 99),
)
def test_no_client_sees_a_step_twice(
    clients: list[int], share: float, resample: str, seed: int
) -> None:
    """Rewards are the numbers of the steps."""
    number = np.arange(float(len(clients)))[:, None]
    recorded = incfed.Trace(clients, np.ones((len(clients), 1, 1)), number)
    steps = max(round(share * len(clients)), 1)
    events = recorded.bootstrap(steps, resample).open(np.random.SeedSequence(seed)).take(steps)
    seen = list(zip(events.clients.tolist(), events.rewards[:, 0].astype(int), strict=True))
    assert len(set(seen)) == len(seen) == steps
    if resample == "events":
        assert all(clients[step] == who for who, step in seen)
    for who in set(events.clients.tolist()):  # all of one client of the log
        assert len({clients[step] for client, step in seen if client == who}) == 1


def test_without_repeats_steps_stay_near_their_places_too() -> None:
    stream = trace().bootstrap(STEPS // 2).open(np.random.SeedSequence(1))
    rows = stream.take(STEPS // 2).rewards[:, 0]
    assert 0 < np.abs(rows - np.sort(rows)).max() <= 4 * JITTER * STEPS
    whole = trace().bootstrap(STEPS).open(np.random.SeedSequence(1)).take(STEPS).rewards[:, 0]
    assert set(whole) == set(range(STEPS))


def test_several_seeds_may_draw_the_same_steps_in_other_orders() -> None:
    """Seeds 0 to 3 and seeds 4 to 7, half of the steps each."""
    half = Bootstrap(trace(), STEPS // 2, orders=4)
    rows = [
        half.open(np.random.SeedSequence(seed)).take(STEPS // 2).rewards[:, 0].tolist()
        for seed in range(8)
    ]
    assert len({tuple(one) for one in rows}) == 8
    assert len({frozenset(one) for one in rows}) == 2
    assert set(rows[0]) == set(rows[3]) != set(rows[4])


def test_more_steps_than_recorded_ask_for_repeats() -> None:
    with pytest.warns(incfed.RepeatedEvents, match=r"at most 200 steps, or FittedWorld\(log, len"):
        longer = trace().bootstrap(STEPS + 1)
    assert longer.repeats
    assert not trace().bootstrap(STEPS).repeats
    assert not trace().bootstrap(STEPS).notes
    [note] = longer.notes
    assert note.startswith("bootstrap: events are drawn several times")


def test_settings_say_whether_events_are_repeated() -> None:
    assert "repeats" not in repeated(trace(), 5).settings()  # as in results of earlier versions
    found = trace().bootstrap(5).settings()
    assert (found["repeats"], found["recorded"], found["length"]) == (False, STEPS, 5)


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
    skipped = repeated(trace(), STEPS).open(np.random.SeedSequence(1))
    skipped.skip(50)
    np.testing.assert_array_equal(one[50:], skipped.take(150).rewards[:, 0])


def test_longer_and_of_a_part() -> None:
    world = trace().part(0.25, 0.5)
    assert repeated(world, 500).length == 500
    rows = drawn(world, 500, 3)
    assert set(rows) == set(range(50, 100))


def test_clients_are_drawn_and_keep_their_events() -> None:
    """Each client acts in steps of one that was drawn for it, and all those steps are as likely."""
    recorded = trace()
    steps_of = {who: set(np.flatnonzero(recorded.clients == who)) for who in range(3)}
    shares = []
    for seed in range(60):
        drawn = repeated(recorded, 2000, "clients")
        events = drawn.open(np.random.SeedSequence(seed)).take(2000)
        numbers = events.rewards[:, 0].astype(int)
        sources = {}
        for who in range(3):
            own = set(numbers[events.clients == who])
            sources[who] = [one for one, steps in steps_of.items() if own <= steps]
            assert len(sources[who]) == 1  # the steps of one client, and no other
            assert len(own) > 0.9 * len(steps_of[sources[who][0]])  # ten times each, on average
        size = {who: len(steps_of[one]) for who, [one] in sources.items()}
        share = np.mean(events.clients == 0)
        assert share == pytest.approx(size[0] / sum(size.values()), abs=0.05)
        shares.append([one for [one] in sources.values()])
    assert {tuple(one) for one in shares} >= {(0, 0, 0), (0, 1, 2)}  # with replacement
    assert np.bincount(np.ravel(shares)) == pytest.approx([60, 60, 60], abs=25)


def test_drawn_clients_stay_near_their_times_and_places() -> None:
    again = trace().bootstrap(STEPS, "clients")
    stream = again.open(np.random.SeedSequence(1))
    rows = stream.take(STEPS).rewards[:, 0]
    assert 0 < np.abs(rows - np.sort(rows)).max() <= 3 * JITTER * STEPS
    assert again.settings()["bootstrap"] == "clients"
    assert again.count == 3
    pieces = again.open(np.random.SeedSequence(1))
    whole = again.open(np.random.SeedSequence(1)).take(STEPS)
    for start in range(0, STEPS, 50):
        np.testing.assert_array_equal(pieces.take(50).clients, whole.clients[start : start + 50])
    own = Own().bootstrap(STEPS, "clients").open(np.random.SeedSequence(1)).take(STEPS)
    np.testing.assert_array_equal(own.clients, whole.clients)
    np.testing.assert_array_equal(own.rewards, whole.rewards)


def test_clients_that_never_act_are_not_drawn() -> None:
    few = incfed.Trace([2, 2, 7], np.ones((3, 1, 1)), [[0.0], [1.0], [2.0]], count=9)
    for seed in range(20):
        events = repeated(few, 30, "clients").open(np.random.SeedSequence(seed)).take(30)
        assert set(events.clients) <= {2, 7}


def test_intervals_for_other_clients_are_wider_where_clients_differ() -> None:
    """The mean reward of 40 clients with 50 steps each: clients differ by 1, the steps of one by 1.
    Between logs of other clients it varies by sqrt(1 / 40 + 1 / 2000) = 0.160, and between logs of
    the same ones by sqrt(1 / 2000) = 0.022."""
    chance = np.random.default_rng(0)
    who = np.tile(np.arange(40), 50)
    rewards = chance.standard_normal(40)[who] + chance.standard_normal(2000)
    log = incfed.Trace(who, np.ones((2000, 1, 1)), rewards[:, None])

    def spread(resample: str) -> float:
        drawn = repeated(log, 2000, resample)
        means = [
            drawn.open(np.random.SeedSequence(seed)).take(2000).rewards.mean() for seed in range(80)
        ]
        return float(np.std(means, ddof=1))

    assert spread("clients") == pytest.approx(0.160, rel=0.25)
    assert spread("events") < 0.04


def test_a_log_keeps_events_together(tmp_path: Any) -> None:
    sample = Sample.random(events=60)
    log = incfed.ReplayLog(sample.events, mode="replay", items=sample.table)
    events = repeated(log, 60).open(np.random.SeedSequence(0)).take(60)
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
    with pytest.raises(InputError, match=r"resample: got 'users', must be .*events.*clients"):
        trace().bootstrap(5, "users")
    with pytest.raises(InputError, match="repeats: got 1, must be true or false"):
        trace().bootstrap(5, repeats=1)  # type: ignore[arg-type]
