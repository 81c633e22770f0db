"""Tiny folders shaped like MovieLens releases, in each of its formats; no test by itself.

Made up from a seed: nothing of MovieLens is in them, so they may be written anywhere.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GENRES = ["Action", "Comedy", "Drama", "Film-Noir", "Sci-Fi", "War"]
WORDS = ["robot", "island", "sad", "twist ending", "the", "café", "based on a book", "1930s"]
FORMATS = ["csv", "ml-1m", "ml-100k"]


class Sample:
    """Movies, tags and ratings, as written."""

    def __init__(self, seed: int = 0, users: int = 6, movies: int = 60) -> None:
        chance = np.random.default_rng(seed)
        ids = np.sort(chance.choice(np.arange(1, 10 * movies), movies, replace=False)).tolist()
        self.movies: list[tuple[int, str, list[str]]] = []
        for id in ids:
            genres = chance.choice(GENRES, chance.integers(1, 4), replace=False).tolist()
            words = chance.choice(WORDS, 2, replace=False).tolist()
            title = f"{words[0].title()}: {words[1]}, Part {id % 7} ({1930 + id % 80})"
            self.movies.append((id, title, genres))
        self.tags = [
            (id, str(chance.choice(WORDS)))
            for id in ids
            for _ in range(chance.integers(0, 6))
        ]  # fmt: skip
        self.ratings: list[tuple[int, int, float, int]] = []
        for user in chance.choice(np.arange(1, 5 * users), users, replace=False).tolist():
            seen = chance.choice(ids, chance.integers(5, movies // 2), replace=False).tolist()
            stars = chance.integers(1, 6, len(seen)).tolist()
            self.ratings += [(user, m, float(s), 9) for m, s in zip(seen, stars, strict=True)]
        chance.shuffle(self.ratings)  # no release is so untidy, but u.data is not in order
        self.ratings = [(int(u), int(m), float(s), int(t)) for u, m, s, t in self.ratings]

    def write(self, folder: Path, format: str = "csv") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        {"csv": self._csv, "ml-1m": self._ml_1m, "ml-100k": self._ml_100k}[format](folder)
        return folder

    def _csv(self, folder: Path) -> None:
        movies = [(id, title, "|".join(genres)) for id, title, genres in self.movies]
        tables: dict[str, tuple[list[str], list[Any]]] = {
            "movies": (["movieId", "title", "genres"], movies),
            "tags": (["userId", "movieId", "tag", "timestamp"], [(1, *t, 8) for t in self.tags]),
            "ratings": (["userId", "movieId", "rating", "timestamp"], self.ratings),
        }
        for name, (header, rows) in tables.items():
            with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([header, *rows])

    def _ml_1m(self, folder: Path) -> None:
        movies = [f"{id}::{title}::{'|'.join(genres)}\n" for id, title, genres in self.movies]
        ratings = [f"{u}::{m}::{s:.0f}::{t}\n" for u, m, s, t in self.ratings]
        (folder / "movies.dat").write_text("".join(movies), encoding="latin-1")
        (folder / "ratings.dat").write_text("".join(ratings), encoding="latin-1")

    def _ml_100k(self, folder: Path) -> None:
        genres = ["unknown", *GENRES]
        lines = []
        for id, title, own in self.movies:
            flags = "|".join("1" if genre in own else "0" for genre in genres)
            lines.append(f"{id}|{title}|01-Jan-1995||http://example.org/{id}|{flags}\n")
        known = "".join(f"{genre}|{n}\n" for n, genre in enumerate(genres)) + "\n"
        ratings = [f"{u}\t{m}\t{s:.0f}\t{t}\n" for u, m, s, t in self.ratings]
        (folder / "u.item").write_text("".join(lines), encoding="latin-1")
        (folder / "u.genre").write_text(known, encoding="latin-1")
        (folder / "u.data").write_text("".join(ratings), encoding="latin-1")

    def events(self, min_events: int) -> dict[int, list[int]]:
        """By user: the movies of its events, in the order of the file."""
        found: dict[int, list[int]] = {}
        for user, movie, stars, _ in self.ratings:
            if stars >= 1 and movie in {id for id, _, _ in self.movies}:
                found.setdefault(user, []).append(movie)
        return {user: found[user] for user in sorted(found) if len(found[user]) > min_events}

    def rated(self, user: int) -> set[int]:
        return {movie for who, movie, _, _ in self.ratings if who == user}


def real(name: str) -> Path:
    """A folder of real data, which may not be committed: the test skips where it is missing."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("INCFED_MOVIELENS", beside)) / name
    if not folder.is_dir():
        pytest.skip(f"MovieLens data is not at hand: no {folder} (INCFED_MOVIELENS says where)")
    return folder
