"""Parts of recorded worlds: no step lost, none twice, and the same steps as in the whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments.base import Events, Stream, World
from incfed.environments.part import Part
from incfed.experiments.config import build_world
from support.movielens import Sample

STEPS = 23


class Counting(World):
    """Step t is that of client t, and has no seek of its own."""

    count, dim, arms_per_step, length = STEPS, 1, 1, STEPS

    def __init__(self, chance: bool = False) -> None:
        self._chance = chance

    @property
    def chance(self) -> bool:
        return self._chance

    def open(self, seed: np.random.SeedSequence) -> Stream:
        return _Counting()

    def settings(self) -> dict[str, object]:
        return {"kind": "Counting"}


class _Counting(Stream):
    items = np.ones((1, 1))
    following = 0

    def take(self, n: int) -> Events:
        who = np.arange(self.following, self.following + n)
        self.following += n
        one = np.ones((n, 1))
        return Events(who, np.zeros((n, 1), np.int64), one, one)


def steps(world: World, seed: int, pieces: list[int]) -> list[int]:
    stream = world.open(np.random.SeedSequence(seed))
    found: list[int] = []
    assert world.length is not None
    for n in pieces:
        found += stream.take(min(n, world.length - len(found))).clients.tolist()
    return [*found, *stream.take(world.length - len(found)).clients.tolist()]


@given(
    st.floats(0, 1), st.floats(0, 1), st.booleans(), st.integers(0, 99), st.lists(st.integers(0, 9))
)
def test_a_part_is_those_steps_however_it_is_cut(
    first: float, last: float, turn: bool, seed: int, pieces: list[int]
) -> None:
    begin, end = round(first * STEPS), round(last * STEPS)
    if begin >= end or first >= 1:
        with pytest.raises(incfed.InputError, match=r"^part"):
            Counting().part(first, last, turn=turn)
        return
    part = Counting().part(first, last, turn=turn)
    found = steps(part, seed, pieces)
    assert part.length == end - begin
    assert sorted(found) == list(range(begin, end))
    gaps = Counter(np.diff(found).tolist())
    assert gaps.pop(1, 0) >= len(found) - 2  # in order, but for one turn
    assert turn or not gaps


def test_seeds_turn_a_log_that_leaves_nothing_to_chance() -> None:
    turned = Counting().part(0.0, 1.0, turn=True)
    assert turned.chance
    assert len({steps(turned, seed, [])[0] for seed in range(50)}) > 10
    assert not Counting().part(0.0, 1.0).chance


def test_what_cannot_be_cut_or_turned() -> None:
    with pytest.raises(incfed.InputError, match=r"part: got .* no fixed length"):
        incfed.Synthetic().part(0.0, 0.5)
    with pytest.raises(incfed.InputError, match="turn: got True, must be left out"):
        Counting(chance=True).part(0.0, 0.5, turn=True)


def trace(length: int = 40) -> incfed.Trace:
    chance = np.random.default_rng(5)
    arms = chance.standard_normal((length, 3, 2))
    return incfed.Trace(chance.integers(0, 4, length), arms, chance.random((length, 3)), count=4)


def test_a_part_of_a_trace_runs_like_a_trace_of_those_steps() -> None:
    whole = trace()
    half = slice(20, 40)
    alone = incfed.Trace(
        whole.clients[half],
        whole.items.reshape(40, 3, 2)[half],
        whole.rewards[half],
        count=4,
    )
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(0.5), threshold=0.1, costs=1.0)
    one = incfed.simulate(whole.part(0.5, 1.0), algorithm)
    two = incfed.simulate(alone, algorithm)
    assert one.reward.tolist() == two.reward.tolist()
    assert one.payment.tolist() == two.payment.tolist()


def test_parts_of_movielens_share_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Sample(users=4, movies=2500).write(tmp_path / "ml")
    world = incfed.MovieLens(tmp_path / "ml", min_events=20, dim=4, arms=5)

    def events(one: incfed.MovieLens) -> list[tuple[int, int]]:
        owner = np.repeat(np.arange(one.count), np.diff(one.ratings.start))
        return list(zip(owner.tolist(), one.ratings.events.tolist(), strict=True))

    first, rest = world.part(0.0, 0.3), world.part(0.3, 1.0)
    assert first.length + rest.length == world.length
    assert not set(events(first)) & set(events(rest))
    assert set(events(first)) | set(events(rest)) == set(events(world))
    shares = np.diff(first.ratings.start) / np.diff(world.ratings.start)
    assert shares == pytest.approx(0.3, abs=0.05)  # of everybody's
    assert first.settings()["part"] == [0.0, 0.3]
    assert "part" not in world.settings()
    result = incfed.simulate(first, incfed.Independent(), seed=3)
    assert result.regret.size == first.length
    with pytest.raises(incfed.InputError, match="turn"):
        world.part(0.0, 0.5, turn=True)


def test_a_table_may_ask_for_a_part(tmp_path: Path) -> None:
    trace().save(tmp_path / "log.npz")
    table = {"kind": "Trace", "file": "log.npz", "part": [0.25, 1.0], "turn": True}
    built = build_world(table, tmp_path).value
    assert isinstance(built, Part)
    assert built.length == 30
    assert built.settings()["part"] == [0.25, 1.0]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"part": 0.5}, "world.part: got 0.5, must be two shares"),
        ({"part": [0.5, 2.0]}, r"world.part\[1\]: got 2.0, must be a number from 0 to 1"),
        ({"part": [0.5, 0.5]}, "world.part: got .* the first below the last"),
        ({"turn": 1}, "world.turn: got 1, must be true or false"),
    ]
    for wrong, said in cases:
        with pytest.raises(incfed.InputError, match=said):
            build_world({**table, **wrong}, tmp_path)
