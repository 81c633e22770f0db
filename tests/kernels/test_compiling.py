"""Compiled code is kept where that is possible, thrown away when a kernel changes, and never a
reason for a run to fail."""

from __future__ import annotations

import errno
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching

from incfed.kernels import compiling

SOURCE = """\
from incfed.kernels.compiling import compiled

@compiled
def twice(x):
    return x + x
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own for everything numba might write."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    (tmp_path / "small.py").write_text(SOURCE)
    return tmp_path


def twice(home: Path) -> Any:
    """The function as a new process would have it."""
    spec = importlib.util.spec_from_file_location("small", home / "small.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.twice


def kept(home: Path, ending: str) -> list[Path]:
    return sorted((home / "cache").rglob(f"*.{ending}"))


def hits(function: Any) -> int:
    return sum(function.stats.cache_hits.values())


def test_the_second_start_finds_what_the_first_one_compiled(home: Path) -> None:
    first = twice(home)
    assert first(2.0) == 4.0
    assert hits(first) == 0
    assert len(kept(home, "nbc")) == 1
    second = twice(home)
    assert second(3.0) == 6.0
    assert hits(second) == 1


def test_a_change_anywhere_in_the_room_is_a_new_start(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert twice(home)(2.0) == 4.0
    room = home / "room"
    room.mkdir()
    (room / "one.py").write_text("1")
    (room / "two.py").write_text("2")
    monkeypatch.setattr(compiling, "_ROOM", room)
    stamps = [compiling._room_stamp()]
    (room / "two.py").write_text("22")  # another size
    stamps.append(compiling._room_stamp())
    os.utime(room / "one.py", (time.time(), 12345.0))  # another time
    stamps.append(compiling._room_stamp())
    (room / "three.py").write_text("3")  # another file
    stamps.append(compiling._room_stamp())
    assert len(set(stamps)) == 4
    assert compiling._room_stamp() == stamps[-1]
    monkeypatch.setattr(compiling, "_STAMP", stamps[0])
    changed = twice(home)
    assert changed(2.0) == 4.0
    assert hits(changed) == 0
    again = twice(home)
    assert again(2.0) == 4.0
    assert hits(again) == 1


def test_the_stamp_is_of_the_kernels() -> None:
    names = {name for name, *_ in compiling._STAMP}
    here = Path(compiling.__file__).parent
    assert names == {path.name for path in here.glob("*.py")}
    assert {"factor.py", "store.py", "step.py"} <= names


def test_nowhere_to_write(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What holds for root too: a folder cannot be made where a file is.
    (home / "file").write_text("")
    (home / "__pycache__").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(home / "file" / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "file" / "user"))
    function = twice(home)
    assert function(2.0) == 4.0
    assert function(2) == 4
    assert isinstance(function._cache, caching.NullCache)
    assert {path.name for path in home.iterdir()} == {"small.py", "file", "__pycache__"}


def test_another_place_if_the_first_cannot_be_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").write_text("")
    (home / "__pycache__").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(home / "file" / "cache"))
    assert twice(home)(2.0) == 4.0
    assert len(list((home / "user").rglob("*.nbc"))) == 1


def test_a_disk_that_fills_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def full(*_: Any) -> None:
        tries.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    function = twice(home)
    assert function(2.0) == 4.0
    assert function(2) == 4
    assert len(tries) == 1, "once is enough"


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def replaced(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [cut_off, emptied, replaced])
def test_a_damaged_cache(home: Path, damage: Callable[[Path], None], ending: str) -> None:
    assert twice(home)(2.0) == 4.0
    (path,) = kept(home, ending)
    damage(path)
    function = twice(home)
    assert function(2.0) == 4.0
    assert hits(function) == 0
    if damage is not replaced:  # and it is mended
        mended = twice(home)
        assert mended(2.0) == 4.0
        assert hits(mended) == 1


def test_arithmetic_is_not_reordered() -> None:
    @compiling.compiled
    def lost(a: float, b: float) -> float:
        return (a + b) - a

    @compiling.compiled
    def ratio(a: float, b: float) -> float:
        return a / b

    assert lost(1e16, 1.0) == 0.0
    assert ratio(1.0, 0.0) == np.inf
    assert np.isnan(ratio(0.0, 0.0))
