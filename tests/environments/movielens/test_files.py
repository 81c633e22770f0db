"""Reading MovieLens folders: the formats agree, and what is wrong is named by file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.environments.movielens_events import read_ratings
from incfed.environments.movielens_files import recognise
from incfed.environments.movielens_texts import read_movies
from support.movielens import FORMATS, Sample, real


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def load(folder: Path, **options: int) -> incfed.MovieLens:
    return incfed.MovieLens(folder, **{"min_events": 8, "dim": 3, "arms": 3, **options})


@pytest.mark.parametrize("format", FORMATS)
def test_texts(tmp_path: Path, format: str) -> None:
    sample = Sample(3)
    sample.tags[0] = (sample.movies[0][0], 'say "hi", twice')
    sample.tags.append((123_456, "of a movie that is not there"))
    movies = read_movies(recognise(sample.write(tmp_path, format)))
    assert movies.ids.tolist() == [id for id, _, _ in sample.movies]
    for (id, title, genres), text in zip(sample.movies, movies.texts, strict=True):
        tags = [tag for movie, tag in sample.tags if movie == id]
        about = tags if format == "csv" else [title]
        assert sorted(text.replace("|", " ").split()) == sorted(" ".join(about + genres).split())


def test_all_formats_hold_the_same_ratings(tmp_path: Path) -> None:
    sample = Sample(1)
    read = []
    for format in FORMATS:
        release = recognise(sample.write(tmp_path / format, format))
        assert release.format == format
        read.append(read_ratings(release.ratings, read_movies(release).ids, 8))
    for other in read[1:]:
        for one, same in zip(read[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_as_windows_writes_it(tmp_path: Path) -> None:
    """Another order of columns, further ones, a byte order mark, CRLF, empty lines."""
    plain, odd = Sample().write(tmp_path / "plain"), Sample().write(tmp_path / "odd")
    for name in ("movies.csv", "tags.csv", "ratings.csv"):
        header, *lines = (odd / name).read_text(encoding="utf-8").splitlines()
        lines[2:2] = [""]
        text = "\r\n".join(f"x,{line}" if line else "" for line in [header, *lines, ""])
        (odd / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    one, other = load(plain), load(odd)
    np.testing.assert_array_equal(one.items, other.items)
    for a, b in zip(one.ratings, other.ratings, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.data != other.data


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("ratings.csv", b"rating,", b"stars,", "line 1: the column rating is missing: got userId"),
        ("ratings.csv", b"timestamp", b"rating", "line 1: the column rating is there more than"),
        ("ratings.csv", b"\n", b"\n1,7,good,9\n", "line 2: rating: got 'good', must be a number"),
        ("ratings.csv", b"\n", b"\n1,seven,4.0,9\n", "line 2: movieId: got 'seven', must be a"),
        ("ratings.csv", b"\n", b"\n1,7,4.0\n", "line 2: got 3 fields, must be 4: userId, movieId"),
        ("ratings.csv", b"\n", b"\n1,7,4.0,9,9\n", "line 2: got 5 fields, must be 4"),
        ("ratings.csv", b"\n", b"\n1,7,4.0,\n", "line 2: timestamp: got '', must be a whole"),
        ("ratings.csv", b"\n", b"\n,7,4.0,9\n", "line 2: userId: got '', must be a whole number"),
        ("ratings.csv", b"\n", b"\n1,7,nan,9\n", "line 2: rating: got 'nan', must be a number"),
        ("ratings.csv", b"\n", b"\n1,7,50,9\n", "line 2: rating: got 50, must be from 0 to 5"),
        ("ratings.csv", b"\n", b'\n1,"7,4.0,9\n', "line 2: .* must be CSV"),
        ("ratings.csv", b"\n", b"\n1,\xff,4.0,9\n", "line 2: must be text in UTF-8"),
        ("movies.csv", b"\n", b"\nseven,Seven,Drama\n", "line 2: movieId: got 'seven', must be a"),
        ("movies.csv", b"\n", b"\n7\n", "line 2: got 1 field, must be 3: movieId, title, genres"),
        ("movies.csv", b"\n", b"\n7,a,b,c\n", "line 2: got 4 fields, must be 3"),
        ("movies.csv", b"\n", b"\n9999,A,B\n9999,A,B\n", "line 3: movieId: got 9999, which line 2"),
        ("movies.csv", b"movieId", b"id", "line 1: the column movieId is missing: got id"),
        ("tags.csv", b"\n", b"\n1,x,y,1\n", "line 2: movieId: got 'x', must be a whole number"),
        ("movies.csv", b"\n", b"\n7,\xff,Drama\n", "line 2: must be text in UTF-8"),
        ("movies.csv", b"\n", b"\n7,\n", "line 2: got 2 fields, must be 3"),
        ("tags.csv", b"movieId", b"\xff", "line 1: must be text in UTF-8"),
        ("tags.csv", b"tag,", b"word,", "line 1: the column tag is missing"),
    ],
)  # fmt: skip
def test_bad_csv(tmp_path: Path, file: str, old: bytes, new: bytes, message: str) -> None:
    path = Sample().write(tmp_path) / file
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(incfed.InputError, match=f"{file}, {message}"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("format", "file", "line", "message"),
    [
        ("ml-1m", "ratings.dat", "1:7::4::9", r"line 1: got 3 fields, must be 4"),
        ("ml-1m", "ratings.dat", "1::7::x::9", "line 1: rating: got 'x'"),
        ("ml-1m", "movies.dat", "7::Seven", "line 1: got 2 fields, must be 3"),
        ("ml-1m", "movies.dat", "x::Seven::Drama", "line 1: movieId: got 'x'"),
        ("ml-100k", "u.data", "1 7\t4\t9", "line 1: got 3 fields, must be 4"),
        ("ml-100k", "u.item", "7|Seven|||", "line 1: got 5 fields, must be 12: movieId, title"),
    ],
)
def test_bad_lines_of_the_older_formats(
    tmp_path: Path, format: str, file: str, line: str, message: str
) -> None:
    path = Sample().write(tmp_path, format) / file
    path.write_text(f"{line}\n{path.read_text(encoding='latin-1')}", encoding="latin-1")
    with pytest.raises(incfed.InputError, match=f"{file}, {message}"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("ratings.csv", "", "ratings.csv, line 1: the column userId is missing: got nothing"),
        ("ratings.csv", "userId,movieId,rating\n", "ratings.csv: has no ratings of 1 star"),
        ("ratings.csv", "userId,movieId,rating\n1,2,0.5\n", "ratings.csv: has no ratings of 1"),
        ("movies.csv", "movieId,title,genres\n", "movies.csv: has no movies"),
    ],
)
def test_empty_files(tmp_path: Path, file: str, text: str, message: str) -> None:
    (Sample().write(tmp_path) / file).write_text(text)
    with pytest.raises(incfed.InputError, match=message):
        load(tmp_path)


def test_a_bad_line_far_down(tmp_path: Path) -> None:
    path = Sample().write(tmp_path) / "ratings.csv"
    with path.open("a") as file:
        file.write("1,7,4.0,9\n" * 200_000 + "1,7,4.o,9\n")
    lines = len(path.read_text().splitlines())
    with pytest.raises(incfed.InputError, match=f"line {lines}: rating: got '4.o'"):
        load(tmp_path)


def test_folders_that_are_none(tmp_path: Path) -> None:
    folder = Sample().write(tmp_path / "data" / "ml-20m")
    with pytest.raises(incfed.InputError, match=r"did you mean '.*ml-20m'\?"):
        load(tmp_path / "data")
    with pytest.raises(incfed.InputError, match="there is no such folder"):
        load(tmp_path / "none")
    with pytest.raises(incfed.InputError, match="this is a file; unpack it"):
        load(folder / "movies.csv")
    with pytest.raises(incfed.InputError, match="folder: got 5, must be the path of a folder"):
        load(5)  # type: ignore[arg-type]
    (folder / "tags.csv").unlink()
    with pytest.raises(incfed.InputError, match=r"complete: tags\.csv missing"):
        load(folder)
    older = Sample().write(tmp_path / "ml-10m", "ml-1m")
    (older / "tags.dat").touch()
    with pytest.raises(incfed.InputError, match="ml-10m"):
        load(older)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_events": 29}, "min_events: got 29, must be below 29, the most that a user of"),
        ({"min_events": -1}, "min_events: got -1"),
        ({"arms": 1}, "arms: got 1, must be a whole number of at least 2"),
        ({"arms": 50}, r"arms: got 50, must be at most \d+: a client rated 29 of the \d+ movies"),
        ({"dim": 0}, "dim: got 0"),
        ({"dim": 30}, r"dim: got 30, must be at most \d+: there are 60 movies and \d+ words"),
    ],
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises(incfed.InputError, match=message):
        load(Sample().write(tmp_path), **options)


def test_more_than(tmp_path: Path) -> None:
    """A user with exactly min_events is not among them."""
    sample = Sample()
    counts = sorted(map(len, sample.events(0).values()))
    folder = sample.write(tmp_path)
    assert load(folder, min_events=counts[2]).count == sum(n > counts[2] for n in counts)
    assert load(folder, min_events=counts[2] - 1).count == sum(n >= counts[2] for n in counts)


def test_a_release_as_published() -> None:
    """Figures of its README: 100,836 ratings, 9,742 movies, 610 users."""
    folder = real("ml-latest-small-2018-09")
    world = incfed.MovieLens(folder, min_events=0)
    assert world.count == 610
    assert len(world.ratings.rated) <= 100_836
    assert len(read_movies(recognise(folder)).ids) == 9_742
