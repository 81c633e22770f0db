"""The text of each movie: its tags, including repeats, and genres. Releases without tags (ml-1m,
ml-100k) use the words of the title: genres alone have fewer than 25 dimensions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import InputError
from ...types import Ints
from .release import Release
from .tables import ReleaseFile

if TYPE_CHECKING:
    import polars as pl


class Movies(NamedTuple):
    ids: Ints
    texts: list[str]


def read_movies(release: Release) -> Movies:
    """All movies, in the order of their file."""
    readers = {"csv": _csv, "ml-1m": _ml_1m, "ml-100k": _ml_100k}
    table, movies = readers[release.format](release.folder)
    if len(movies.ids) == 0:
        raise InputError(f"{table.path}: has no movies")
    if len(np.unique(movies.ids)) < len(movies.ids):
        raise _twice(table)
    return movies


def _csv(folder: Path) -> tuple[ReleaseFile, Movies]:
    import polars as pl

    tags = _whole(ReleaseFile(folder / "tags.csv", ("movieId", "tag")))
    table = ReleaseFile(folder / "movies.csv", ("movieId", "title", "genres"))
    movies = _whole(table)
    words = tags.group_by("movieId").agg(pl.col("tag").sort_by("row").str.join(" "))
    texts = (
        movies.join(words, on="movieId", how="left")
        .sort("row")
        .select(pl.concat_str("tag", "genres", separator=" ", ignore_nulls=True))
    )
    return table, Movies(movies["movieId"].to_numpy(), texts.to_series().to_list())


def _whole(table: ReleaseFile) -> pl.DataFrame:
    """A small table read into memory, without empty lines."""
    import polars as pl

    try:
        frame = table.scan().collect()
    except pl.exceptions.PolarsError as reason:
        raise table.fault(reason) from None
    frame = frame.filter(~pl.all_horizontal(pl.exclude("row").is_null()))
    if frame["movieId"].null_count():
        raise table.fault("movieId is missing")
    if frame[:, -1].null_count() and (error := table.search()):  # empty, or a truncated line?
        raise error
    return frame


def _ml_1m(folder: Path) -> tuple[ReleaseFile, Movies]:
    table = ReleaseFile(folder / "movies.dat", ("movieId", "title", "genres"), "::", header=False)
    return table, _by_hand(table, lambda row: " ".join(row[1:]))


def _ml_100k(folder: Path) -> tuple[ReleaseFile, Movies]:
    known = ReleaseFile(folder / "u.genre", ("genre", "number"), "|", header=False)
    genres = [row[0] for _, row in known.rows()]
    columns = ("movieId", "title", "released", "released on video", "address", *genres)
    table = ReleaseFile(folder / "u.item", columns, "|", header=False)

    def text(row: list[str]) -> str:
        marked = [genre for genre, mark in zip(genres, row[5:], strict=True) if mark == "1"]
        return " ".join([row[1], *marked])

    return table, _by_hand(table, text)


def _by_hand(table: ReleaseFile, text: Callable[[list[str]], str]) -> Movies:
    """Read line by line: titles may contain colons, which polars would take for separators."""
    ids, texts, names = [], [], table.names()
    for number, row in table.rows():
        if said := table.wrong(names, row):
            raise table.at(number, said)
        ids.append(int(row[0]))
        texts.append(text(row))
    return Movies(np.array(ids, np.int64), texts)


def _twice(table: ReleaseFile) -> InputError:
    place, seen = table.names().index("movieId"), dict[str, int]()
    for number, row in table.rows():
        before = seen.setdefault(str(int(row[place])), number)
        if before != number:
            return table.at(number, f"movieId: got {row[place]}, which line {before} has already")
    return InputError(f"{table.path}: a movieId appears twice")
