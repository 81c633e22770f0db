"""A log says the same in whatever form it is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import incfed
from support.logs import FORMS, Sample, told

ALGORITHM = incfed.IncFedUCB(incfed.PaymentEfficient(0.8), threshold=0.3, costs=1.0)


def write(folder: Path, frame: dict[str, Any], name: str = "log.parquet") -> Path:
    pl.DataFrame(frame, strict=False).write_parquet(folder / name)
    return folder / name


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_what_was_logged(form: str, tmp_path: Path) -> None:
    sample = Sample.random()
    world = sample.open(form, tmp_path)
    names = sorted(set(sample.clients))
    assert world.client_names == names
    assert (world.count, world.dim, world.length) == (len(names), 3, 60)
    assert world.arms_per_step == max(map(len, sample.candidates))
    who, shown, rewards = told(world)
    assert [names[n] for n in who] == sample.clients
    for t in range(60):
        np.testing.assert_array_equal(shown[t], sample.items[sample.candidates[t]])
        known = [None] * len(shown[t])
        known[sample.chosen[t]] = sample.rewards[t]  # type: ignore[call-overload]
        assert rewards[t] == known
    assert not world.notes
    assert (world.report.rows, world.report.kept) == (60, 60)
    assert str(world.report).endswith("60 rows, none dropped")


@pytest.mark.parametrize("form", FORMS[1:])
def test_every_form_gives_the_same_run(form: str, tmp_path: Path) -> None:
    sample = Sample.random(events=200)
    one = incfed.simulate(sample.open("ids", tmp_path), ALGORITHM)
    two = incfed.simulate(sample.open(form, tmp_path), ALGORITHM)
    assert 20 < one.matched[-1] < 180
    np.testing.assert_array_equal(one.matched, two.matched)
    np.testing.assert_array_equal(one.reward, two.reward)
    assert one.rounds.step.tolist() == two.rounds.step.tolist()
    assert np.isnan(one.regret).all()


def test_rows_of_an_event_need_not_stand_together(tmp_path: Path) -> None:
    sample = Sample.random()
    world = sample.open("long, mixed up", tmp_path)
    mixed = pl.read_parquet(tmp_path / "a.parquet")
    order = mixed["event"].unique(maintain_order=True).str.slice(1).cast(int).to_list()
    who, shown, rewards = told(world)
    assert [world.client_names[n] for n in who] == [sample.clients[t] for t in order]
    for t, features, known in zip(order, shown, rewards, strict=True):
        x = sample.items[sample.candidates[t]]
        assert sorted(features.tolist()) == sorted(x.tolist())
        k = known.index(sample.rewards[t])
        np.testing.assert_array_equal(features[k], x[sample.chosen[t]])


def test_zero_pays_nothing_for_what_was_not_shown(tmp_path: Path) -> None:
    sample = Sample.random()
    world = sample.open("ids", tmp_path, mode="zero")
    rewards = [
        [y if k == picked else 0.0 for k in range(len(shown))]
        for shown, picked, y in zip(sample.candidates, sample.chosen, sample.rewards, strict=True)
    ]
    assert told(world)[2] == rewards
    assert incfed.simulate(world, ALGORITHM).matched[-1] == 60


def test_columns_by_other_names_and_rows_in_the_order_of_time(tmp_path: Path) -> None:
    sample = Sample.random(events=4)
    when = ["10", "9", "9", "2.5"]  # as numbers: the text would sort otherwise
    frame = sample.events.rename({"client": "user", "candidates": "slate", "reward": "click"})
    table = sample.table.rename({"item": "sku"}).with_columns(title=pl.lit("a book"))
    table.write_csv(tmp_path / "items.csv")
    joined = pl.col("slate").cast(pl.List(pl.String)).list.join(", ")
    frame.with_columns(joined, at=pl.Series(when), noise=pl.lit("x")).write_csv(
        tmp_path / "log.txt", separator=";"
    )
    table.write_csv(tmp_path / "items.txt", separator=";")
    world = incfed.ReplayLog.from_csv(
        tmp_path / "log.txt", mode="zero", items=tmp_path / "items.txt", delimiter=";",
        separator=",", client="user", candidates="slate", reward="click", time="at", item="sku",
        features=["x2", "x0"],
    )  # fmt: skip
    who, shown, rewards = told(world)
    assert [world.client_names[n] for n in who] == [sample.clients[t] for t in (3, 1, 2, 0)]
    for t, x, paid in zip((3, 1, 2, 0), shown, rewards, strict=True):
        np.testing.assert_array_equal(x, sample.items[sample.candidates[t]][:, [2, 0]])
        assert paid[sample.chosen[t]] == sample.rewards[t]


@pytest.mark.parametrize(
    ("times", "order"),
    [
        (["2024-03-01", "2024-01-01", "2023-12-31"], [2, 1, 0]),
        ([1_700_000_000_000_000_002, 1_700_000_000_000_000_001, 5], [2, 1, 0]),
        ([0.5, -1.0, 0.25], [1, 2, 0]),
    ],
)
@pytest.mark.parametrize("text", [False, True])
def test_time_of_any_kind(times: list[Any], order: list[int], text: bool, tmp_path: Path) -> None:
    features = [[[float(n)]] for n in range(3)]
    frame = {"client": [0, 1, 2], "features": features, "chosen": [0] * 3, "reward": [1.0] * 3}
    at = [str(one) for one in times] if text else times
    world = incfed.ReplayLog(write(tmp_path, {**frame, "t": at}), mode="zero", time="t")
    assert told(world)[0] == order


@pytest.mark.parametrize(
    ("clients", "names"),
    [
        ([10, 9, 10], [9, 10]),
        (["10", "9", "10"], [9, 10]),  # all are whole numbers: sorted as such
        (["10", "9", "x"], ["10", "9", "x"]),
        (["07", "7", "10"], ["07", "10", "7"]),  # not the same, so not numbers
        ([1.0, 3.0, None], [1, 3]),  # as pandas keeps whole numbers beside a gap
        ([0.5, 0.25, 0.5], ["0.25", "0.5"]),
        ([2**64 - 1, 1, 2], ["1", "18446744073709551615", "2"]),
        (["a b", " a b ", "'a b'"], ["a b"]),
    ],
)
@pytest.mark.filterwarnings("ignore::incfed.BadRows")
def test_clients_are_numbered_in_sorted_order(
    clients: list[Any], names: list[Any], tmp_path: Path
) -> None:
    features, ones = [[[1.0]]] * 3, [1.0] * 3
    kind = pl.UInt64 if clients[0] == 2**64 - 1 else None
    frame = {"client": pl.Series(clients, dtype=kind), "features": features}
    world = incfed.ReplayLog(
        write(tmp_path, {**frame, "chosen": [0] * 3, "reward": ones}), mode="zero"
    )
    assert world.client_names == names
    assert world.count == len(names)


def test_item_features_as_lists_and_arrays(tmp_path: Path) -> None:
    x = [[1.0, 2.0], [3.0, 4.0]]
    shown = [[0, 1], [1, 0]]
    frame = {"client": [0, 0], "chosen": [1, 1], "reward": [True, False]}
    log = write(tmp_path, {**frame, "candidates": pl.Series(shown, dtype=pl.Array(int, 2))})
    for kind in (pl.List(pl.Float32), pl.Array(pl.Float64, 2)):
        table = {"item": ["0", "1"], "vector": pl.Series(x, dtype=kind)}
        world = incfed.ReplayLog(log, mode="zero", items=write(tmp_path, table, "items.parquet"))
        _, features, rewards = told(world)
        assert [one.tolist() for one in features] == [x, x[::-1]]
        assert rewards == [[0.0, 1.0], [0.0, 0.0]]


def test_the_front_door(tmp_path: Path) -> None:
    sample = Sample.random()
    sample.open("ids", tmp_path)
    (tmp_path / "log.parquet").rename(tmp_path / "log[1].data")
    (tmp_path / "items.parquet").rename(tmp_path / "items")
    world = incfed.ReplayLog.from_parquet(
        tmp_path / "log[1].data", mode="replay", items=tmp_path / "items"
    )
    assert world.settings() == {
        "kind": "ReplayLog",
        "mode": "replay",
        "file": "log[1].data",
        "clients": 7,
        "dim": 3,
        "arms": 5,
        "length": 60,
        "items": 12,
        "log": {"rows": 60, "dropped": {}},
        "item_table": {"rows": 12, "dropped": {}},
    }


def test_the_place_of_a_candidate_in_the_file_gives_nothing_away(tmp_path: Path) -> None:
    """All look the same, the chosen one comes first, and some events are short: a fair share of
    the ties goes to it, the same at every reading and however the run is cut."""
    events = 3000
    sizes = np.where(np.arange(events) % 3 == 0, 2, 5)
    features = [[[1.0, 0.0]] * size for size in sizes]
    log = {"client": [0] * events, "features": features, "chosen": [0] * events, "reward": 1.0}
    world = incfed.ReplayLog(write(tmp_path, log), mode="replay")
    matched = incfed.simulate(world, incfed.Independent(), seed=1).matched
    fair = (1 / sizes).sum()
    assert abs(matched[-1] - fair) < 4 * np.sqrt(events / 4)
    run = incfed.Simulation(world, incfed.Independent(), seed=1)
    for n in (1, 700, 2299):
        run.advance(n)
    np.testing.assert_array_equal(run.result().matched, matched)
    other = incfed.simulate(world, incfed.Independent(), seed=2).matched
    assert (other != matched).any()


def test_candidates_are_shuffled_and_none_is_lost(tmp_path: Path) -> None:
    world = Sample.random().open("ids", tmp_path)
    _, shown, rewards = told(world)
    stream = world.open(np.random.SeedSequence(3))
    taken = stream.take(world.length)
    moved = 0
    for t, (features, known) in enumerate(zip(shown, rewards, strict=True)):
        size = len(features)
        arms, paid = taken.arms[t], taken.rewards[t]
        mixed = stream.items[arms[:size]]
        assert sorted(mixed.tolist()) == sorted(features.tolist())
        assert (arms[size:] == arms[size - 1]).all()
        moved += bool((mixed != features).any())
        (k,) = np.flatnonzero(~np.isnan(paid[:size]))
        picked = next(n for n, y in enumerate(known) if y is not None)
        np.testing.assert_array_equal(mixed[k], features[picked])
    assert moved > 30
