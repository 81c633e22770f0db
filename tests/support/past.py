"""Files that version 0.2.0 wrote, which is no longer read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from incfed.errors import InputError

TESTS = Path(__file__).parents[1]


def copied(data: str, target: Path) -> Path:
    """A copy of the file or folder `data` below tests/."""
    source = TESTS / data
    return Path(shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target))


def contents(place: Path) -> dict[str, bytes]:
    """Every file in a folder, byte for byte."""
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    return {str(file): file.read_bytes() for file in files}


def sentence(file: Path | str, version: str = "incfed 0.2.0") -> str:
    return f"{file}: has the format of {version}, which reads it; this version does not"


@contextmanager
def refused(place: Path, said: str) -> Iterator[None]:
    """An InputError that says so, after which `place` is as it was."""
    before = contents(place)
    with pytest.raises(InputError) as error:
        yield
    assert str(error.value) == said
    assert contents(place) == before
