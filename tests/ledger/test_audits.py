"""Audits on record: running, ended or interrupted, and what an operator is told of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

import incfed
from incfed.ledger import audits, overview, tables
from incfed.ledger.audit import AuditReport
from support.federation import Federation

WEEK = 7 * 86_400.0


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Federation]:
    made = Federation(
        tmp_path / "l.db", 1, dim=1, threshold=1.0, mechanism=incfed.PayEveryone(), silent_rounds=3
    )
    yield made
    made.store.close()


def told(one: Federation) -> list[str]:
    """What Now says of audits."""
    with one.store.read() as connection:
        found = overview.look(connection, one.clock()).attention
    return [each.text for each in found if each.kind == "audit"]


def begin(one: Federation, by: str = "ada") -> int:
    with one.store.write() as connection:
        return audits.begin(connection, by, one.clock())


def test_one_at_a_time_until_it_ends(one: Federation) -> None:
    number = begin(one)
    with pytest.raises(audits.AuditRunning, match="running already, begun by ada"):
        begin(one, "bob")
    one.clock.now += 50.0
    with one.store.touch() as connection:
        audits.beat(connection, number, 0.5, one.clock())
    one.clock.now += 50.0  # since the beginning 100 seconds, but only 50 since it was heard of
    with one.store.read() as connection:
        running, interrupted = audits.unfinished(connection, one.clock())
    assert interrupted is None
    assert running is not None
    assert (running.by, running.done, running.ended) == ("ada", 0.5, None)
    assert told(one) == []  # it is under way: not overdue
    with one.store.touch() as connection:
        audits.finish(connection, number, audits.NOT_CLEAN, ["entry 3: is wrong"], one.clock())
    with one.store.read() as connection:
        assert audits.unfinished(connection, one.clock()) == (None, None)
        last = audits.last_ended(connection)
    assert last is not None
    assert (last.by, last.outcome, last.findings) == ("ada", "not clean", ["entry 3: is wrong"])
    assert told(one) == ["The last audit found problems."]


def test_an_audit_whose_process_died_is_interrupted(one: Federation) -> None:
    begin(one)
    one.clock.now += audits.SILENCE + 1.0
    with one.store.read() as connection:
        running, interrupted = audits.unfinished(connection, one.clock())
    assert running is None
    assert interrupted is not None
    assert interrupted.by == "ada"
    assert told(one) == [
        "The last audit was interrupted: the process that ran it has stopped.",
        "The ledger was never audited.",
    ]
    with one.store.write() as connection:  # on the command line
        audits.record(connection, AuditReport(), one.clock())
    assert told(one) == []
    begin(one, "bob")  # the dead one does not stop another


def test_overdue(one: Federation) -> None:
    assert told(one) == ["The ledger was never audited."]
    with one.store.write() as connection:
        audits.record(connection, AuditReport(), one.clock())
    one.clock.now += WEEK - 1.0
    assert told(one) == []
    one.clock.now += 2.0
    assert told(one) == ["The last audit was more than a week ago."]


def test_what_else_needs_attention(one: Federation) -> None:
    with one.store.write() as connection:
        connection.execute(
            insert(tables.conduct).values(client=0, silent=3, false_calls=0, noisy=False)
        )
        overview.note_chore(connection, overview.HEAD, "saved", one.clock() - WEEK - 1.0)
    with one.store.read() as connection:
        found = {each.kind: each.text for each in overview.look(connection, one.clock()).attention}
    assert found["silent"] == "1 client did not answer when last awaited: \u2068client 0\u2069"
    assert found["head"] == "The last recorded back-up is more than a week old."
