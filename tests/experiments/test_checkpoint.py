"""The file of finished cells: nothing lost that was written, nothing trusted that is not whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.errors import InputError
from incfed.experiments.cells import Record
from incfed.experiments.checkpoint import HEAD, NAME, CellsFile, read_cells
from incfed.experiments.engine import Local, Session, run_cells
from support.past import copied, refused, sentence
from support.sweeps import cells, figures

numbers = st.floats(allow_nan=True, allow_infinity=True)
words = st.text(max_size=8)
records = st.builds(
    Record,
    point=st.dictionaries(words, st.none() | st.integers() | words | st.lists(st.integers())),
    seed=st.integers(0),
    fingerprint=words,
    figures=st.dictionaries(words, numbers),
    curve=st.dictionaries(words, st.lists(numbers)),
)


def same(one: float, two: float) -> bool:
    return repr(one) == repr(two)  # which tells -0.0 from 0.0, and is the same for every NaN


@given(records)
def test_a_record_comes_back_bit_for_bit_from_a_line(record: Record) -> None:
    line = record.to_json()
    assert "\n" not in line
    json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    back = Record.from_json(line)
    assert (back.point, back.seed) == (record.point, record.seed)
    assert back.fingerprint == record.fingerprint
    assert back.figures.keys() == record.figures.keys()
    assert all(same(back.figures[key], value) for key, value in record.figures.items())
    for key, values in record.curve.items():
        assert len(back.curve[key]) == len(values)
        assert all(map(same, back.curve[key], values))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of four cells."""
    folder = tmp_path_factory.mktemp("cells")
    run_cells(cells(folder, seeds=2), executor=Local(1), checkpoint=CellsFile(folder / NAME))
    return folder / NAME


@pytest.mark.parametrize("cut", [1, 2, 40, 3000])
def test_a_line_that_was_cut_off_is_run_again(whole: Path, tmp_path: Path, cut: int) -> None:
    text = whole.read_bytes()
    last = text.rindex(b"\n", 0, -1) + 1
    assert len(text) - last > 3000
    (tmp_path / NAME).write_bytes(text[:-cut])
    done = run_cells(
        cells(whole.parent, seeds=2), executor=Local(1), checkpoint=CellsFile(tmp_path / NAME)
    )
    assert (done.kept, done.complete) == (3, True)
    assert (tmp_path / NAME).read_bytes() == text  # the last cell again, in its place


def test_a_long_rest_is_cut_off_whole(whole: Path, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(whole.read_bytes() + b"x" * 100_000)
    done = run_cells(
        cells(whole.parent, seeds=2), executor=Local(1), checkpoint=CellsFile(tmp_path / NAME)
    )
    assert done.kept == 4
    assert (tmp_path / NAME).read_bytes() == whole.read_bytes()


def test_a_line_that_is_spoilt_is_run_again(whole: Path, tmp_path: Path) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    for bad in (b"\0" * 50 + b"\n", b'{"seed": 1}\n', b"[1]\n", b"\n", b"\xff\xfe\n"):
        (tmp_path / NAME).write_bytes(b"".join([*lines[:2], bad, *lines[3:]]))
        done = run_cells(
            cells(whole.parent, seeds=2), executor=Local(1), checkpoint=CellsFile(tmp_path / NAME)
        )
        assert (done.kept, done.complete) == (3, True), bad
        assert figures(read_cells(tmp_path / NAME), sort=True) == figures(
            read_cells(whole), sort=True
        )


@pytest.mark.parametrize("text", ["mine\n", "mine", '{"format": "other", "version": 2}\n'])
@pytest.mark.parametrize("fresh", [True, False])
def test_what_is_no_such_file_is_left_alone(tmp_path: Path, text: str, fresh: bool) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(InputError, match=r"cells\.jsonl: is not a file of finished runs"):
        run_cells(
            cells(tmp_path), executor=Local(1), checkpoint=CellsFile(tmp_path / NAME), fresh=fresh
        )
    assert (tmp_path / NAME).read_text() == text


@pytest.mark.parametrize("fresh", [True, False])
def test_sweeps_of_earlier_versions_are_refused_and_left_alone(tmp_path: Path, fresh: bool) -> None:
    folder = copied("experiments/data/sweep-0.2.0", tmp_path / "swept")
    said = sentence(folder / NAME)
    with refused(folder, said):
        read_cells(folder / NAME)
    with refused(folder, f"output: {said}; choose another folder"):
        run_cells(
            cells(tmp_path), executor=Local(1), checkpoint=CellsFile(folder / NAME), fresh=fresh
        )


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(json.dumps({**HEAD, "version": 99, "incfed": "9.9.0"}) + "\n")
    with refused(tmp_path, sentence(tmp_path / NAME, "incfed 9.9.0")):
        read_cells(tmp_path / NAME)


def test_an_empty_file_is_begun(tmp_path: Path) -> None:
    """What a machine that lost its power may leave."""
    (tmp_path / NAME).touch()
    with CellsFile(tmp_path / NAME).open():
        assert json.loads((tmp_path / NAME).read_text()) == HEAD


def test_a_full_disk_is_said_plainly(whole: Path) -> None:
    [record, *_] = read_cells(whole)
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no full disk to try")
    file = CellsFile(whole)
    with file.open():
        os.close(file._file)
        file._file = os.open(full, os.O_WRONLY)
        with pytest.raises(InputError, match=r"cannot write .*cells\.jsonl: No space left"):
            file.add(record)


def test_a_folder_of_somebody_else_s_and_one_in_use(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "cells.parquet").write_text("theirs")
    with pytest.raises(InputError, match=r"output: got .*cells\.parquet from another source"):
        run_cells(cells(tmp_path), checkpoint=CellsFile(tmp_path / "theirs" / NAME))
    fcntl = pytest.importorskip("fcntl", reason="this system has no such locks")
    with (tmp_path / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="no other run is writing to"):
            run_cells(cells(tmp_path), checkpoint=CellsFile(tmp_path / NAME))


@pytest.mark.parametrize(
    ("place", "kept"), [("before", 1), ("half", 1), ("written", 2), ("flush", 2), ("after", 2)]
)
def test_ctrl_c_at_any_moment_counts_what_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, kept: int
) -> None:
    """It strikes at the second record; what was cut off is not in the way of the next."""
    path, write, fsync, add = tmp_path / "out" / NAME, os.write, os.fsync, CellsFile.add

    def interrupted_write(file: int, line: bytes) -> int:
        if place == "before":
            raise KeyboardInterrupt
        count = write(file, line[:-40] if place == "half" else line)
        if place in ("half", "written"):
            raise KeyboardInterrupt
        return count

    def interrupted_fsync(file: int) -> None:
        if place == "flush":
            raise KeyboardInterrupt
        fsync(file)

    def interrupted_add(file: CellsFile, record: Record) -> None:
        add(file, record)
        raise KeyboardInterrupt

    some = cells(tmp_path, seeds=2)
    with Session(checkpoint=CellsFile(path), executor=Local(1)) as session:
        session.run(session.check(some[:1]))
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", interrupted_write)
            patched.setattr(os, "fsync", interrupted_fsync)
            patched.setattr(CellsFile, "add", interrupted_add)
            done = session.run(session.check(some))
        assert done.interrupted
        assert len(done.records) == len(read_cells(path)) == kept
        assert session.run(session.check(some)).kept == kept
    whole = run_cells(some, executor=Local(1))
    assert figures(read_cells(path), sort=True) == figures(whole.records, sort=True)
