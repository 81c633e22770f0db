"""Trace files that are not what they should be, and disks that are full."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.support.inputs import InputError
from support.traces import arrays, same_trace


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
