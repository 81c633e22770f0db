"""Recorded worlds: two ways to hand in the arms, what the arrays mean; files, also those that are
not what they should be, and disks that are full."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments import Events
from incfed.errors import InputError

ALGORITHM = incfed.IncFedUCB(incfed.PaymentEfficient(0.7), threshold=0.3, costs=1.0)


def arrays(steps: int = 60, seed: int = 0) -> dict[str, Any]:
    """A trace by ids into a table of items."""
    chance = np.random.default_rng(seed)
    items = chance.standard_normal((9, 3))
    ids = chance.integers(0, 9, (steps, 4))
    expected = items[ids] @ np.array([1.0, -1.0, 0.5])
    return {
        "clients": chance.integers(0, 5, steps),
        "arms": ids,
        "items": items,
        "rewards": expected + 0.1 * chance.standard_normal((steps, 4)),
        "expected": expected,
    }


def same_numbers(one: incfed.Result, two: incfed.Result) -> None:
    for name in ("regret", "reward", "communication", "payment"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.rounds.participants, two.rounds.participants)
    np.testing.assert_array_equal(one.rounds.payments, two.rounds.payments)


def same_trace(one: incfed.Trace, two: incfed.Trace) -> None:
    assert one.count == two.count
    for name in ("clients", "arms", "items", "rewards", "expected"):
        mine, theirs = getattr(one, name), getattr(two, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


def test_features_or_ids_make_no_difference() -> None:
    given_as = arrays()
    by_id = incfed.Trace(**given_as)
    features = given_as["items"][given_as["arms"]]
    by_value = incfed.Trace(**{**given_as, "arms": features, "items": None})
    assert (by_id.count, by_id.dim, by_id.arms_per_step, by_id.length) == (5, 3, 4, 60)
    assert (by_value.count, by_value.dim, by_value.arms_per_step, by_value.length) == (5, 3, 4, 60)
    np.testing.assert_array_equal(by_value.items[by_value.arms], features)
    result = incfed.simulate(by_id, ALGORITHM)
    assert len(result.rounds) > 5
    same_numbers(result, incfed.simulate(by_value, ALGORITHM))


def test_lists_and_other_kinds_of_numbers_will_do() -> None:
    given_as = arrays()
    lists = {name: value.tolist() for name, value in given_as.items()}
    same_trace(incfed.Trace(**lists), incfed.Trace(**given_as))
    small = {**given_as, "clients": given_as["clients"].astype(np.uint8)}
    small["arms"] = given_as["arms"].astype(np.int16)
    small["items"] = np.asfortranarray(given_as["items"])
    same_trace(incfed.Trace(**small), incfed.Trace(**given_as))


def test_rewards_may_be_booleans() -> None:
    given_as = arrays()
    clicks = given_as["rewards"] > 0.0
    numbers = incfed.Trace(**{**given_as, "rewards": clicks * 1, "expected": clicks * 1.0})
    for booleans in (clicks, clicks.tolist()):
        made = incfed.Trace(**{**given_as, "rewards": booleans, "expected": booleans})
        same_trace(made, numbers)
    for name in ("clients", "arms", "items"):
        with pytest.raises(incfed.InputError, match=f"{name}: got 'an array of bool'"):
            incfed.Trace(**{**given_as, name: given_as[name] > 0})


def test_a_trace_keeps_its_own_copy() -> None:
    given_as = arrays()
    trace = incfed.Trace(**given_as)
    before = incfed.simulate(trace, ALGORITHM)
    for value in given_as.values():
        value[:] = 0
    same_numbers(incfed.simulate(trace, ALGORITHM), before)


def test_without_expected_rewards_regret_is_unknown() -> None:
    given_as = arrays()
    known = incfed.simulate(incfed.Trace(**given_as), ALGORITHM)
    unknown = incfed.simulate(incfed.Trace(**{**given_as, "expected": None}), ALGORITHM)
    assert np.isnan(unknown.regret).all()
    np.testing.assert_array_equal(unknown.reward, known.reward)
    np.testing.assert_array_equal(unknown.payment, known.payment)
    assert np.isnan(unknown.summary()["regret"])


def test_regret_is_measured_against_the_best_expected() -> None:
    trace = incfed.Trace([0, 0], [[[1.0], [2.0]]] * 2, [[5.0, 3.0]] * 2, [[0.25, 0.0]] * 2)
    result = incfed.simulate(trace, incfed.Independent(exploration=1.0))
    # Nothing known: the longer arm, which pays 3; V = 4, theta = 6 / 4.1: the longer arm again.
    assert result.reward.tolist() == [3.0, 6.0]
    assert result.regret.tolist() == [0.25, 0.5]


def test_more_clients_than_were_seen() -> None:
    given_as = arrays()
    few, many = incfed.Trace(**given_as), incfed.Trace(**given_as, count=8)
    assert (few.count, many.count) == (5, 8)
    one, two = incfed.simulate(few, ALGORITHM), incfed.simulate(many, ALGORITHM)
    np.testing.assert_array_equal(one.reward, two.reward)
    np.testing.assert_array_equal(one.rounds.idle + 3, two.rounds.idle)
    # Each of the three moves d^2 + d up and d^2 + d down in every round.
    np.testing.assert_array_equal(
        one.rounds.communication + 3 * 2 * (9 + 3), two.rounds.communication
    )
    assert two.settings["clients"] == 8


def test_part_of_a_trace() -> None:
    trace = incfed.Trace(**arrays())
    whole, part = incfed.simulate(trace, ALGORITHM), incfed.simulate(trace, ALGORITHM, steps=25)
    assert len(part.reward) == 25
    np.testing.assert_array_equal(part.reward, whole.reward[:25])
    np.testing.assert_array_equal(part.payment, whole.payment[:25])


def test_the_seed_changes_nothing_in_a_recorded_world() -> None:
    trace = incfed.Trace(**arrays())
    same_numbers(
        incfed.simulate(trace, ALGORITHM, seed=1), incfed.simulate(trace, ALGORITHM, seed=2)
    )


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(lambda n: sum(n) <= 60))
def test_the_same_steps_however_they_are_cut(pieces: list[int]) -> None:
    trace = incfed.Trace(**arrays())
    whole, cut = (trace.open(np.random.SeedSequence(0)) for _ in range(2))
    parts = [cut.take(n) for n in pieces]
    joined = Events(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    for mine, theirs in zip(joined, whole.take(sum(pieces)), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("form", ["ids", "features"])
def test_saved_and_loaded(tmp_path: Path, form: str, expected: bool) -> None:
    given_as = arrays()
    if form == "features":
        given_as["arms"] = given_as["items"][given_as["arms"]]
        del given_as["items"]
    if not expected:
        del given_as["expected"]
    trace = incfed.Trace(**given_as, count=7)
    path = tmp_path / "log.npz"
    for _ in range(2):  # over an older file too
        trace.save(path)
        assert [p.name for p in tmp_path.iterdir()] == ["log.npz"]
    loaded = incfed.Trace.load(str(path))
    same_trace(trace, loaded)
    assert loaded.recurring == trace.recurring == (form == "ids")
    same_numbers(incfed.simulate(trace, ALGORITHM), incfed.simulate(loaded, ALGORITHM))
    assert trace.settings() == loaded.settings()


def test_a_file_written_by_somebody_else(tmp_path: Path) -> None:
    given_as = arrays()
    features = given_as.pop("items")[given_as["arms"]]
    np.savez(tmp_path / "log.npz", **{**given_as, "arms": features})
    same_trace(
        incfed.Trace.load(tmp_path / "log.npz"), incfed.Trace(**{**given_as, "arms": features})
    )


def saved(folder: Path) -> Path:
    path = folder / "log.npz"
    incfed.Trace(**arrays()).save(path)
    return path


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.npz"
    with pytest.raises(InputError, match=r"path: got '.*none\.npz', must be an existing .npz file"):
        incfed.Trace.load(path)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"not a zip at all", b"\x93NUMPY", b"a,b\n1,2\n"]
)
def test_a_file_of_another_kind(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"path: got .*, must be a readable \.npz file"):
        incfed.Trace.load(path)


def test_a_single_array(tmp_path: Path) -> None:
    with (tmp_path / "log.npz").open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(InputError, match="holds one array without a name"):
        incfed.Trace.load(tmp_path / "log.npz")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"readable \.npz file"):
        incfed.Trace.load(tmp_path)


@given(st.data())
def test_a_truncated_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = saved(tmp_path_factory.mktemp("cut"))
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(InputError, match=r"readable \.npz file"):
        incfed.Trace.load(path)


@given(st.data())
def test_a_damaged_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = saved(tmp_path_factory.mktemp("damaged"))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        loaded = incfed.Trace.load(path)
    except InputError:
        return
    same_trace(loaded, incfed.Trace(**arrays()))  # the damage was to something nobody reads


def test_a_table_of_contents_that_hides_an_array(tmp_path: Path) -> None:
    path = saved(tmp_path)
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"count.npy") - 46  # in the table; of its 46 bytes, 32 and 33 tell
    content[entry + 33] = 1  # how long a comment to skip: now 256 bytes
    path.write_bytes(content)
    with pytest.raises(InputError, match="it lists 5 of its 6 arrays"):
        incfed.Trace.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": np.zeros(2)}, r"arrays in .*log\.npz: got \[.*'extra'.*\], must be a file of"),
        ({"clients": None}, r"arrays in .*log\.npz: got \['arms', .*\], must be a file of"),
        ({"count": np.array([5, 6])}, r"count: got \[5, 6\], must be a whole number"),
        ({"count": np.array(2.5)}, r"count: got 2\.5, must be a whole number"),
        ({"rewards": np.full((60, 4), np.nan)}, r"rewards\[0, 0\]: got nan"),
        ({"rewards": np.full((60, 4), "x")}, r"rewards: got 'an array of <U1'"),
        ({"clients": np.zeros(59, int)}, r"clients: got 'an array of shape \(59,\)'"),
        ({"clients": np.array([None] * 60)}, r"readable \.npz file \(Object arrays"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    content = {name: value for name, value in {**arrays(), **change}.items() if value is not None}
    np.savez(tmp_path / "log.npz", **content)
    with pytest.raises(InputError, match=message):
        incfed.Trace.load(tmp_path / "log.npz")


@pytest.mark.parametrize("name", ["log", "log.txt", "log.npz.gz"])
def test_a_name_that_load_would_not_know(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"path: got .*, must be a name that ends in \.npz"):
        incfed.Trace(**arrays()).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["a_file/log.npz", "a_folder.npz"])
def test_a_place_that_cannot_be_written(tmp_path: Path, where: str) -> None:
    (tmp_path / "a_file").write_text("kept")
    (tmp_path / "a_folder.npz").mkdir()
    with pytest.raises(InputError, match=rf"cannot write .*{where}: \w"):
        incfed.Trace(**arrays()).save(tmp_path / where)
    assert {p.name for p in tmp_path.iterdir()} == {"a_file", "a_folder.npz"}
    assert (tmp_path / "a_file").read_text() == "kept"


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    incfed.Trace(**arrays()).save(tmp_path / "missing" / "log.npz")
    same_trace(incfed.Trace.load(tmp_path / "missing" / "log.npz"), incfed.Trace(**arrays()))


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)

    def half(file: Any, **_: Any) -> None:
        file.write(b"PK half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        incfed.Trace(**arrays(seed=1)).save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["log.npz"]
    same_trace(incfed.Trace.load(path), incfed.Trace(**arrays()))
