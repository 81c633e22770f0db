"""Worlds without some clients: those never act, and the others act as they did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments.without import Without
from incfed.experiments.config import build_world
from support.movielens import Sample

STEPS = 300


def seeded(seed: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed)


def synthetic() -> incfed.Synthetic:
    return incfed.Synthetic(clients=5, dim=3, arms=4, pool=40, activity=1.0, spread=0.5)


def trace() -> incfed.Trace:
    rng = np.random.default_rng(1)
    return incfed.Trace(rng.integers(5, size=STEPS), rng.normal(size=(STEPS, 3, 2)), np.eye(3)[
        rng.integers(3, size=STEPS)
    ])  # fmt: skip


def log() -> incfed.ReplayLog:
    return incfed.ReplayLog(
        pl.DataFrame({
            "client": [f"shop-{n % 5}" for n in range(STEPS)],
            "features": [[[1.0, 0.0], [0.0, 1.0]]] * STEPS,
            "chosen": [n % 2 for n in range(STEPS)],
            "reward": [n % 3 for n in range(STEPS)],
        }),
        mode="replay",
    )  # fmt: skip


def movielens(folder: Path) -> incfed.World:
    Sample(users=5, movies=400).write(folder / "ml")
    return incfed.MovieLens(folder / "ml", min_events=20, dim=2, arms=5).part(0.5, 1.0)


@pytest.fixture(params=["Synthetic", "Trace", "FittedWorld", "MovieLens"])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Any) -> incfed.World:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if request.param == "Synthetic":
        return synthetic()
    if request.param == "Trace":
        return trace()
    if request.param == "FittedWorld":
        return incfed.FittedWorld(log(), link="linear")
    return movielens(tmp_path)


@pytest.mark.parametrize("leave", [0.4, [1, 3]])
def test_the_others_act_as_they_did(world: incfed.World, leave: Any) -> None:
    if isinstance(world, incfed.FittedWorld) and isinstance(leave, list):
        leave = [f"shop-{n}" for n in leave]
    steps, rest = min(world.length or STEPS, STEPS), Without(world, leave)
    assert (rest.count, rest.leavers) == (3, 2)
    for seed in range(3):
        whole = world.open(seeded(seed)).take(steps)
        staying = rest.staying(seeded(seed))
        if not isinstance(leave, float):
            assert staying.tolist() == [0, 2, 4]
        kept = np.isin(whole.clients, staying)
        assert 0 < kept.sum() == rest.steps(seeded(seed), steps) < steps
        left = rest.open(seeded(seed)).take(int(kept.sum()))
        assert staying[left.clients].tolist() == whole.clients[kept].tolist()
        for ours, theirs in zip(left[1:], whole[1:], strict=True):
            np.testing.assert_array_equal(ours, theirs[kept])
    assert incfed.check_world(rest, steps=int(kept.sum()) // 2) > 3


def test_a_share_of_the_clients_is_drawn_by_the_seed() -> None:
    rest = Without(synthetic(), 0.4)
    drawn = [tuple(rest.staying(seeded(seed))) for seed in range(200)]
    assert len(set(drawn)) == 10  # 3 of 5
    for client in range(5):  # three of five times: 120 +- 7
        assert 95 < sum(client in staying for staying in drawn) < 145
    # Runs in the same world of a log lose the same clients.
    rest = Without(incfed.FittedWorld(log(), link="linear", runs=4), 0.4)
    drawn = [tuple(rest.staying(seeded(seed))) for seed in range(40)]
    assert all(len(set(drawn[n : n + 4])) == 1 for n in range(0, 40, 4))
    assert len(set(drawn)) > 1


@pytest.mark.parametrize(("share", "leavers"), [(0.01, 1), (0.25, 1), (0.5, 2), (0.99, 4)])
def test_somebody_leaves_and_somebody_stays(share: float, leavers: int) -> None:
    assert Without(synthetic(), share).leavers == leavers


@given(st.lists(st.integers(1, 40), max_size=5))
def test_however_the_run_is_divided(pieces: list[int]) -> None:
    rest = synthetic().without([0, 4])
    whole = rest.open(seeded(1)).take(200)
    stream = rest.open(seeded(1))
    found = [stream.take(n) for n in [*pieces, 200 - sum(pieces)]]
    for ours, theirs in zip(whole, zip(*found, strict=True), strict=True):
        np.testing.assert_array_equal(ours, np.concatenate(theirs))


def test_where_nothing_is_random_the_length_is_known() -> None:
    world = trace()
    acts = np.bincount(world.open(seeded(0)).take(STEPS).clients)
    rest = world.without([2])
    assert rest.length == STEPS - acts[2]
    assert incfed.simulate(rest, incfed.Independent()).regret.size == rest.length
    assert (rest.chance, world.without(0.4).chance) == (False, True)
    assert world.without(0.4).length is None
    assert synthetic().without([2]).length is None
    fitted = incfed.FittedWorld(log(), link="linear").without(["shop-2"])
    assert fitted.length is None
    with pytest.raises(incfed.InputError, match=r"steps: got \d+, must be at most the \d+ steps "):
        incfed.simulate(fitted, incfed.Independent(), steps=STEPS)


def test_clients_who_never_act_do_not_stay_alone() -> None:
    silent = incfed.Synthetic(clients=2, dim=2, arms=2, pool=4, activity=[1, 0])
    with pytest.raises(incfed.InputError, match="without: the clients who stay did not act in"):
        incfed.simulate(silent.without([0]), incfed.Independent(), steps=1)


@pytest.mark.parametrize(
    ("leave", "said"),
    [
        (1.5, "without: got 1.5, must be a share above 0 and below 1, or a list of clients"),
        (0, "without: got 0, must be a share"),
        (1, "without: got 1, must be a share"),
        (float("nan"), "without: got nan, must be a share"),
        (True, "without: got True, must be a share"),
        ("shop-1", "without: got 'shop-1', must be a share"),
        (None, "without: got None, must be a share"),
        ([], "without: got [], must be at least one client, and not all 5"),
        ([0, 1, 2, 3, 4], "without: got [0, 1, 2, 3, 4], must be at least one client, and not all"),
        ([5], "without[1]: got 5, must be a client: 0, 1, 2, 3, 4"),
        ([0, "x"], "without[2]: got 'x', must be a client: 0, 1, 2, 3, 4"),
        ([0, 0], "without[2]: got 0, must be another client: this one is named twice"),
    ],
)
def test_bad_input(leave: Any, said: str) -> None:
    with pytest.raises(incfed.InputError) as caught:
        synthetic().without(leave)
    assert str(caught.value).startswith(said)


def test_nobody_leaves_a_world_with_one_client() -> None:
    with pytest.raises(incfed.InputError, match="left out: the world has only one client"):
        incfed.Synthetic(clients=1).without(0.5)


def test_as_a_table(tmp_path: Path) -> None:
    table = {"kind": "Synthetic", "clients": 5, "dim": 3, "without": [1]}
    world = build_world(table, tmp_path).value
    assert (world.count, world.settings()["without"]) == (4, [1])
    with pytest.raises(incfed.InputError, match=r"^world\.without\[1\]: got 7, must be a client"):
        build_world({**table, "without": [7]}, tmp_path)
