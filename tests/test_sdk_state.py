"""A client's folder: what is in it after a crash, damage, a full disk; and whose it is."""

from __future__ import annotations

import errno
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from fake_coordinator import Fake
from incfed.protocol.messages import Download
from incfed.protocol.packing import pack_matrix
from incfed.service import journal as journals
from incfed.service import keeper as keepers
from incfed.service import snapshot
from incfed.service.journal import Answered, Freeze, Journal, Step
from incfed.service.keeper import Keeper, blank
from incfed.service.terms import Terms
from reference_mechanisms import FloatArray

DIM = 3


def terms(dim: int = DIM, who: int = 0, **changed: Any) -> Terms:
    return Terms.read(Fake(who + 1, dim, **changed).handle(who, "GET", "/v1/federation", None)[1])


def reopen(folder: Path) -> Keeper:
    start = snapshot.load(folder)
    return Keeper(folder, blank(terms()) if start is None else start)


def rows(n: int) -> FloatArray:
    return np.random.default_rng(n).standard_normal((n, DIM)) / 5


def news(epoch: int, *shared: int) -> Download:
    return Download(
        epoch, epoch - 1, pack_matrix(np.eye(DIM)), np.ones(DIM), dict.fromkeys(shared, 2.0)
    )


def same(one: Keeper, other: Keeper) -> None:
    """Bit for bit, but for the factor."""
    a, b = one.learner, other.learner
    assert (a.epoch, a.clock) == (b.epoch, b.clock)
    assert (one.steps, one.earned) == (other.steps, other.earned)
    assert (one.cost, one.answers) == (other.cost, other.answers)
    assert (a.frozen is None) == (b.frozen is None)
    heaps = [(a.fresh, b.fresh)]
    if a.frozen and b.frozen:
        assert a.frozen[0] == b.frozen[0]
        heaps.append((a.frozen[1], b.frozen[1]))
    for mine, yours in heaps:
        assert mine.steps == yours.steps
        assert mine.V.tobytes() == yours.V.tobytes()
        assert mine.b.tobytes() == yours.b.tobytes()
        assert np.array(mine.rows).tobytes() == np.array(yours.rows).tobytes()
    assert a.V.tobytes() == b.V.tobytes()
    assert a.logdet == pytest.approx(b.logdet, abs=1e-9)


@settings(max_examples=80)
@given(st.text("lfatnr", max_size=25))
def test_any_life_is_there_again_after_a_crash(acts: str) -> None:
    """l: learn, f: freeze, a: answer, t: shared, n: not shared, r: rotate."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        one, round, x, chance = reopen(Path(name)), 0, rows(30), np.random.default_rng(0)
        for t, act in enumerate(acts):
            told = one.learner.frozen
            if act == "l":
                one.learn(x[t], 0.5)
            elif act == "f":
                round = told[0] if told else round + 1
                one.freeze(round, lambda *stake: 1.5)
            elif act == "a" and told:
                one.answer(round, 1 + t % 2, lambda: bool(chance.integers(2)))
            elif act == "r":
                one.rotate()
            elif act in "tn":
                one.take_in(
                    news(one.learner.epoch + 1, *([round] if act == "t" and told else [])), True
                )
            one._journal.close()
            other = reopen(Path(name))
            same(one, other)
            one = other
        one.close()


def test_the_cost_is_asked_once_and_kept(tmp_path: Path) -> None:
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    first = one.freeze(4, lambda *stake: 1.25)
    one.learn(rows(1)[0], 1.0)
    one._journal.close()
    two = reopen(tmp_path)
    again = two.freeze(4, lambda *stake: 99.0)
    assert again[:4] == first[:4] == (4, 0, 1, 1.25)
    assert again.dV.numbers.tobytes() == first.dV.numbers.tobytes()
    assert two.pending == 2
    two.close()


def test_steps_learned_while_the_owner_thinks_are_not_frozen(tmp_path: Path) -> None:
    one, x = reopen(tmp_path), rows(3)
    one.learn(x[0], 1.0)

    def think(round: int, steps: int, value: float) -> float:
        one.learn(x[1], 1.0)
        return float(steps)

    assert one.freeze(1, think)[2:4] == (1, 1.0)
    one.learn(x[2], 1.0)
    one._journal.close()
    two = reopen(tmp_path)
    assert two.learner.frozen is not None
    assert (two.learner.frozen[1].steps, two.learner.fresh.steps) == (1, 2)
    two.close()


def test_an_answer_is_durable_before_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what a round is told: the last thing that happened to the file was an fsync."""
    events: list[str] = []

    def noted(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: (events.append(name), act(*given))[1]  # type: ignore[func-returns-value]

    monkeypatch.setattr(os, "write", noted("write", os.write))
    monkeypatch.setattr(os, "fsync", noted("sync", os.fsync))
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    assert events[-1] == "write", "a step waits for no disk"
    one.freeze(1, lambda *stake: 1.0)
    assert events[-2:] == ["write", "sync"]
    assert one.answer(1, 1, lambda: True)
    assert events[-2:] == ["write", "sync"]
    one.close()


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
    one.freeze(1, lambda *stake: 1.0)
    one._journal.close()
    data = bytearray(one._journal.path.read_bytes())
    data[20] ^= 1
    one._journal.path.write_bytes(data)
    with pytest.raises(incfed.InputError, match=r"state: got .*journal-\d+.* damaged"):
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
    found = journals.read(tmp_path, 1, DIM)
    assert found is not None
    assert isinstance(found[0], Step)
    assert (found[0].x.tolist(), found[0].y) == ([1.0] * DIM, 2.0)
    assert found[1:] == [Freeze(3, 1, 4.0), Answered(3, 1, True)]
    (tmp_path / "journal-1").rename(tmp_path / "journal-2")
    assert journals.read(tmp_path, 2, DIM) == []
    assert journals.read(tmp_path, 3, DIM) is None


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
    one.freeze(1, lambda *stake: 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, where, fail)
        with pytest.raises(OSError, match="no"):
            one.take_in(news(1, 1), True)
        one.learn(rows(1)[0], 1.0)
        with pytest.raises(OSError, match="no"):
            one.freeze(2, lambda *stake: 1.0)
    assert one.learner.frozen is None
    on_disk = snapshot.load(tmp_path)
    assert on_disk is not None
    assert on_disk.epoch == 0
    one.freeze(2, lambda *stake: 1.0)
    on_disk = snapshot.load(tmp_path)
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
    one.freeze(1, lambda *stake: 1.0)
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
    one.freeze(1, lambda *stake: 1.0)
    assert one._journal.generation == generation + 1
    one.close()


def test_a_journal_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepers, "LONGEST", 500)
    one = reopen(tmp_path)
    for x in rows(20):
        one.learn(x, 1.0)
        one.tidy()
    assert sum(path.stat().st_size for path in tmp_path.glob("journal-*")) < 600
    one._journal.close()
    two = reopen(tmp_path)
    same(one, two)
    two.close()


def test_an_old_copy_of_the_folder_is_found_out(tmp_path: Path) -> None:
    """It still has as pending what was shared since."""
    one = reopen(tmp_path)
    one.learn(rows(1)[0], 1.0)
    with pytest.raises(incfed.InputError, match="shared something in round 3"):
        one.take_in(news(1, 3), True)
    assert (one.learner.epoch, one.earned, one.pending) == (0, 0.0, 1)
    one.close()


@pytest.mark.parametrize(
    ("now", "word"),
    [
        (terms(dim=4), "dim 3, .* 4"),
        (terms(who=1), "client 0, .* 1"),
        (terms(ridge=0.5), "ridge"),
        (terms(federation="f2"), "federation 'f1'"),
    ],
)
def test_whose_folder_it_is(now: Terms, word: str, tmp_path: Path) -> None:
    one = reopen(tmp_path)
    with pytest.raises(incfed.InputError, match=word):
        one.adopt(now)
    one.adopt(terms(threshold=9.0, noise=0.5))
    assert one.learner.rules.threshold == 9.0
    one.rotate()
    one.close()
    assert reopen(tmp_path).terms.threshold == 9.0


def test_terms_in_either_form() -> None:
    """A client as an object, or as a number with a name beside it; endless thresholds as null."""
    said = Fake(1, DIM).handle(0, "GET", "/v1/federation", None)[1]
    flat = {k: v for k, v in said.items() if k != "federation"}
    flat |= {"client": 0, "client_name": "client-0", "name": "f1", "threshold": None}
    one, other = Terms.read(said), Terms.read(flat)
    assert other == one._replace(threshold=math.inf)
    assert Terms.read(other.told()) == other
