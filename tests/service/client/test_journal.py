"""A client's folder when the disk is damaged, full, or fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.service.client import durable_learner, journal, state_folder
from incfed.service.client.journal import Answered, Freeze, Journal, Step
from support.client_state import DIM, news, reopen, rows, same


@pytest.mark.parametrize("cut", [1, 7, 40, 100])
def test_a_torn_end_is_dropped(cut: int, tmp_path: Path) -> None:
    one = reopen(tmp_path)
    for x in rows(5):
        one.learn(x, 1.0)
    one._journal.close()
    path = one._journal.path
    data = path.read_bytes()
    path.write_bytes(data[:-cut] + b"\x00" * (cut // 2))
    two = reopen(tmp_path)
    assert two.steps == 5 - -(-cut // (len(data) // 5))
    two.close()


def test_damage_before_something_that_was_sent_is_not_overlooked(tmp_path: Path) -> None:
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    one.freeze(1, lambda stake: 1.0)
    one._journal.close()
    data = bytearray(one._journal.path.read_bytes())
    data[20] ^= 1
    one._journal.path.write_bytes(data)
    with pytest.raises(incfed.InputError, match=r"state: got .*journal-\d+.* undamaged"):
        reopen(tmp_path)


def test_a_damaged_snapshot_is_refused(tmp_path: Path) -> None:
    reopen(tmp_path).close()
    path = tmp_path / "snapshot"
    path.write_bytes(path.read_bytes().replace(b'"epoch": 0', b'"epoch": 7'))
    with pytest.raises(incfed.InputError, match="checksum"):
        reopen(tmp_path)


def test_records_of_another_generation_are_none(tmp_path: Path) -> None:
    first = Journal(tmp_path, 1, DIM)
    first.step(np.ones(DIM), 2.0)
    first.freeze(Freeze(3, 1, 4.0))
    first.answer(Answered(3, 1, True))
    first.close()
    found = journal.read(tmp_path, 1, DIM)
    assert found is not None
    assert isinstance(found[0], Step)
    assert (found[0].x.tolist(), found[0].y) == ([1.0] * DIM, 2.0)
    assert found[1:] == [Freeze(3, 1, 4.0), Answered(3, 1, True)]
    (tmp_path / "journal-1").rename(tmp_path / "journal-2")
    assert journal.read(tmp_path, 2, DIM) == []
    assert journal.read(tmp_path, 3, DIM) is None


@pytest.mark.parametrize("part", [0, 11])
def test_a_full_disk(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that cannot be written down did not happen; the next one can."""
    one, write = reopen(tmp_path), os.write
    one.learn(rows(1)[0], 1.0)

    def full(fd: int, data: bytes) -> int:
        if not part:
            raise OSError(errno.ENOSPC, "full")
        return write(fd, data[:part])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for _ in range(2):
            with pytest.raises(OSError, match=r"full|space"):
                one.learn(rows(1)[0], 1.0)
    assert one.learner.pending.steps == one.steps == 1
    one.learn(rows(1)[0], 1.0)
    one._journal.close()
    two = reopen(tmp_path)
    assert two.steps == 2
    two.close()


def fail(*args: object) -> None:
    raise OSError(errno.EIO, "no")


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_nothing_is_sent_after_the_disk_failed_until_it_is_written_anew(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    one.freeze(1, lambda stake: 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, where, fail)
        with pytest.raises(OSError, match="no"):
            one.take_in(news(1, 1), True)
        one.learn(rows(1)[0], 1.0)
        with pytest.raises(OSError, match="no"):
            one.freeze(2, lambda stake: 1.0)
    assert one.learner.frozen is None
    on_disk = state_folder.load(tmp_path)
    assert on_disk is not None
    assert on_disk.epoch == 0
    one.freeze(2, lambda stake: 1.0)
    on_disk = state_folder.load(tmp_path)
    assert on_disk is not None
    assert on_disk.epoch == 1
    one._journal.close()
    two = reopen(tmp_path)
    same(one, two)
    assert len(list(tmp_path.glob("journal-*"))) == 1
    two.close()


def test_a_crash_with_a_new_journal_and_the_old_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of both journals are there; what was taken in is to be downloaded again."""
    one, x = reopen(tmp_path), rows(4)
    one.learn(x[0], 1.0)
    one.freeze(1, lambda stake: 1.0)
    one.learn(x[1], 1.0)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        one.take_in(news(1, 1), True)
    one.learn(x[2], 1.0)
    one._journal.close()
    monkeypatch.undo()
    two = reopen(tmp_path)
    assert two.learner.frozen is not None
    assert (two.learner.frozen[1].steps, two.learner.fresh.steps) == (1, 2)
    two.take_in(news(1, 1), True)
    assert (two.steps, two.pending, two.earned) == (3, 2, 2.0)
    two.close()


def test_after_a_failed_fsync_the_journal_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="no"):
            one.flush()
    generation = one._journal.generation
    one.freeze(1, lambda stake: 1.0)
    assert one._journal.generation == generation + 1
    one.close()


def test_a_journal_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_learner, "LARGEST_JOURNAL", 500)
    one = reopen(tmp_path)
    for x in rows(20):
        one.learn(x, 1.0)
        one.rotate_if_large()
    assert sum(path.stat().st_size for path in tmp_path.glob("journal-*")) < 600
    one._journal.close()
    two = reopen(tmp_path)
    same(one, two)
    two.close()


def test_a_closed_journal_writes_nowhere(tmp_path: Path) -> None:
    """Its file number may be another file's by now."""
    durable = reopen(tmp_path)
    durable.learn(rows(1)[0], 1.0)
    durable.close()
    with (tmp_path / "other").open("wb") as other:
        for _ in range(2):
            with pytest.raises(OSError, match="could not be written"):
                durable.learn(rows(1)[0], 1.0)
        other.flush()
    assert (tmp_path / "other").read_bytes() == b""
    assert reopen(tmp_path).steps == 1
