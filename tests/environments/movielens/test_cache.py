"""The cache of MovieLens: by content, and harmless whatever is wrong with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.environments.movielens import world as movielens
from incfed.support import cache
from support.movielens import Sample

KEPT = ["movielens-features", "movielens-ratings"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "incfed"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done that the cache could have saved."""
    done: list[str] = []
    for name in ("read_ratings", "learn_features"):
        real = getattr(movielens, name)

        def spy(*given: Any, real: Any = real, name: str = name) -> Any:
            done.append(name)
            return real(*given)

        monkeypatch.setattr(movielens, name, spy)
    return done


BOTH = ["read_ratings", "learn_features"]


def load(folder: Path, **options: int) -> incfed.MovieLens:
    return incfed.MovieLens(folder, **{"min_events": 8, "dim": 3, "arms": 3, **options})


def same(one: incfed.MovieLens, other: incfed.MovieLens) -> bool:
    pairs = zip([*one.ratings, one.items], [*other.ratings, other.items], strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def names(home: Path) -> list[str]:
    return sorted(path.name.rsplit("-", 1)[0] for path in home.iterdir())


def test_kept_by_content(tmp_path: Path, home: Path, work: list[str]) -> None:
    folder = Sample().write(tmp_path / "ml")
    first = load(folder)
    assert work == BOTH
    assert names(home) == KEPT
    elsewhere = tmp_path / "moved"
    shutil.copytree(folder, elsewhere)
    for path in elsewhere.iterdir():
        os.utime(path, (1, 1))
    assert same(first, load(elsewhere))
    assert work == BOTH  # neither the place nor the date counts
    load(folder, arms=4)
    assert work == BOTH
    load(folder, dim=2)
    assert work == [*BOTH, "learn_features"]
    load(folder, min_events=9)
    assert work == [*BOTH, "learn_features", "read_ratings"]


def test_a_changed_file_of_the_same_size_and_date(
    tmp_path: Path, home: Path, work: list[str]
) -> None:
    folder = Sample().write(tmp_path / "ml")
    ratings, tags = folder / "ratings.csv", folder / "tags.csv"
    first = load(folder)
    before = ratings.stat()
    ratings.write_bytes(ratings.read_bytes().replace(b",5.0,", b",0.5,", 1))
    os.utime(ratings, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ratings.stat().st_size == before.st_size
    second = load(folder)
    assert work == [*BOTH, "read_ratings"]
    assert second.length == first.length - 1
    assert second.data != first.data
    assert second.settings() != first.settings()
    tags.write_bytes(tags.read_bytes().replace(b"robot", b"rebel"))
    load(folder)
    assert work == [*BOTH, "read_ratings", *BOTH]  # ratings are read with the movies at hand


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "text", "other", "folder"])
def test_damaged_files_are_made_again(
    tmp_path: Path, home: Path, work: list[str], kind: str, damage: str
) -> None:
    folder = Sample().write(tmp_path / "ml")
    first = load(folder)
    [path] = home.glob(f"{kind}-*.npz")
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "bit":
        with np.load(path) as arrays:
            name = max(arrays, key=lambda name: arrays[name].nbytes)
            data = arrays[name].tobytes()
        place = whole.index(data) + len(data) // 2
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    elif damage == "other":
        np.savez(path, items=np.zeros((2, 2), np.int32), users=np.zeros(3))
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes({"empty": b"", "text": b"not an archive"}[damage])
    del work[:]
    assert same(first, load(folder))
    assert work == ["learn_features" if "features" in kind else "read_ratings"]
    assert not list(home.glob(".*"))
    if damage != "folder":
        assert path.read_bytes() == whole or same(first, load(folder))
        assert len(work) == 1


def test_nowhere_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: list[str]) -> None:
    folder = Sample().write(tmp_path / "ml")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "movies.csv"))  # a file, not a folder
    assert same(load(folder), load(folder))
    assert work == BOTH * 2
    assert sorted(path.name for path in folder.iterdir()) == [
        "movies.csv",
        "ratings.csv",
        "tags.csv",
    ]


def test_a_full_disk_leaves_nothing(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    load(Sample().write(tmp_path / "ml"))
    assert list(home.iterdir()) == []


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "incfed"
    monkeypatch.delenv("XDG_CACHE_HOME")
    usual = cache.cache_folder()
    for ignored in ("relative/path", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert cache.cache_folder() == usual
    monkeypatch.setattr(cache, "user_cache_path", lambda *_, **__: Path("~/.cache/incfed"))
    assert cache.cache_folder() is None  # nobody's home
    assert cache.cached("x", (), lambda found: True, lambda: {"a": np.ones(1)})["a"] == 1.0
