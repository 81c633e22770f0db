"""An audit of what really happened is clean; a change of anything, anywhere, shows."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy.exc import DatabaseError

import incfed
from incfed.ledger.audit import AuditReport, SavedHead, audit, read_head, write_head
from incfed.ledger.chain import canonical, link
from incfed.ledger.database import Database
from incfed.ledger.federation import prune, set_paused
from incfed.ledger.payouts import mark_paid_out
from incfed.ledger.views import export
from incfed.service.coordinator.opening import open_round
from support.federation import Federation, eventful, made
from support.sqlite import unguarded


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger file, at rest."""
    folder = tmp_path_factory.mktemp("book")
    federation = eventful(folder / "live.db", money_digits=2)
    with federation.store.write() as connection:
        for name in ("client 2", "client 3"):
            mark_paid_out(connection, name, "Ann Lee", federation.clock())
    kinds = {event["event"] for event in federation.events}
    assert {"opened", "uploaded", "decided", "answered", "delivered", "closed", "barred"} <= kinds
    assert any(event["attempt"] > 1 for event in federation.of("decided"))
    assert any(event["data_only"] for event in federation.of("decided"))
    with sqlite3.connect(folder / "live.db") as source, sqlite3.connect(folder / "b.db") as copy:
        source.backup(copy)
    source.close()
    copy.close()
    federation.store.close()
    return folder / "b.db"


def audited(path: Path, kept: SavedHead | None = None) -> AuditReport:
    store = Database(f"sqlite:///{path}")
    try:
        with store.read() as connection:
            return audit(connection, kept)
    finally:
        store.close()


def test_the_truth_is_clean(book: Path) -> None:
    report = audited(book)
    assert report.findings == []
    assert report.rounds >= 4
    assert 0 < report.spent <= 150.0
    assert report.proved_from == 1


def changed(value: Any) -> Any:
    """Something else of the same kind, as close as can be."""
    if value is None:
        return 1
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1]) if value else b"\0"
    if isinstance(value, float):
        return float(np.nextafter(value, np.inf))
    if isinstance(value, int):
        return value + 1 if value != 1 else 0
    middle = len(value) // 2
    return value[:middle] + chr(ord(value[middle]) ^ 1) + value[middle + 1 :] if value else "x"


EVIDENCE = ["federation", "settings", "clients", "rounds", "uploads", "offers", "deliveries",
            "epochs", "payments", "payouts", "entries"]  # fmt: skip


def tampered(book: Path, copy: Path, sql: str, *values: Any) -> AuditReport | None:
    """An audit after somebody with all rights changed a copy. None: the database refused."""
    shutil.copy(book, copy)
    try:
        with unguarded(copy) as outside:
            outside.execute(sql, values)
    except sqlite3.IntegrityError:
        return None
    return audited(copy)


@pytest.mark.parametrize("table", EVIDENCE)
def test_any_change_of_any_row_shows(book: Path, tmp_path: Path, table: str) -> None:
    with sqlite3.connect(book) as source:
        columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
        rows = source.execute(f"SELECT rowid, * FROM {table}").fetchall()
    source.close()
    shown = 0
    for row in rows[:: 1 + len(rows) // 6]:  # a sample: many are alike
        for column, value in zip(columns, row[1:], strict=True):
            sql = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
            found = tampered(book, tmp_path / "copy.db", sql, changed(value), row[0])
            assert found is None or not found.clean, (table, row[1:3], column)
            shown += found is not None
    assert shown >= len(columns) - 1
    sql = f"DELETE FROM {table} WHERE rowid = ?"
    for row in (rows[0], rows[-1]):
        found = tampered(book, tmp_path / "copy.db", sql, row[0])
        assert found is not None
        if table != "entries" or row is not rows[-1]:  # the last one: only a kept head tells
            assert not found.clean


def test_a_rewritten_past_shows_against_the_head(book: Path, tmp_path: Path) -> None:
    work = tmp_path / "work.db"
    shutil.copy(book, work)
    store = Database(f"sqlite:///{work}")
    with store.read() as connection:
        (tmp_path / "head.json").write_text(write_head(connection))
    store.close()
    kept = read_head(tmp_path / "head.json")
    assert audited(work, kept).clean
    with unguarded(work) as outside:
        previous = "0" * 64  # a forger of the enrolment, who rehashes all that follows
        for number, body in outside.execute("SELECT number, body FROM entries").fetchall():
            entry = json.loads(body)
            if entry["kind"] == "enrolled" and entry["client"] == 0:
                entry["name"] = "somebody else"
            previous = link(previous, canonical(entry))
            values = (canonical(entry), previous, number)
            outside.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", values)
        outside.execute("UPDATE clients SET name = 'somebody else' WHERE id = 0")
    assert audited(work).clean  # it hangs together in itself ...
    [finding] = audited(work, kept).findings  # ... but is not what it was
    assert finding == f"entry {kept.number} is not what the kept head says"


def test_a_head_says_what_is_missing_and_whose_it_is(book: Path) -> None:
    last = audited(book).head
    [finding] = audited(book, SavedHead(last.number + 3, "f" * 64, identity(book))).findings
    assert finding == "missing: the last 3 entries that the kept head covers"
    [finding] = audited(book, SavedHead(*last, "others-12345678")).findings
    assert finding == "the kept head is of another federation, others-12345678"


def identity(path: Path) -> str:
    with sqlite3.connect(path) as source:
        [(name,)] = source.execute("SELECT name FROM federation")
    source.close()
    return str(name)


@pytest.mark.parametrize(
    "text",
    ["", "[" * 100_000, "{}", '{"number": 1, "hash": "f"}']
    + [json.dumps({"number": number, "hash": hash, "federation": "f"}) for number, hash in (
        (-1, "f" * 64), (1.5, "f" * 64), (True, "f" * 64), (1, None), (1, "F" * 64), (1, "f" * 63),
    )],
)  # fmt: skip
def test_what_is_no_head_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "head.json").write_text(text)
    with pytest.raises(incfed.InputError, match="must be what `incfed ledger head` printed"):
        read_head(tmp_path / "head.json")


def test_entries_that_are_no_text_are_reported(book: Path, tmp_path: Path) -> None:
    for column in ("body", "hash"):
        sql = f"UPDATE entries SET {column} = x'ff00' WHERE number = 9"
        report = tampered(book, tmp_path / "copy.db", sql)
        assert report is not None
        assert any(finding.startswith("entry 9") for finding in report.findings)


def test_missing_triggers_are_reported(book: Path, tmp_path: Path) -> None:
    shutil.copy(book, tmp_path / "work.db")
    with sqlite3.connect(tmp_path / "work.db") as outside:
        outside.execute("DROP TRIGGER payments_DELETE")
    outside.close()
    assert audited(tmp_path / "work.db").findings == ["the trigger payments_DELETE is missing"]


def test_rows_are_only_ever_added(book: Path, tmp_path: Path) -> None:
    shutil.copy(book, tmp_path / "work.db")
    store = Database(f"sqlite:///{tmp_path / 'work.db'}")
    for table in ("entries", "payments"):
        for sql in (
            f"DELETE FROM {table}",
            f"UPDATE {table} SET rowid = rowid + 1000",
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1",
        ):
            with pytest.raises(DatabaseError, match="only ever added"), store.write() as connection:
                connection.exec_driver_sql(sql)
    store.close()


def test_after_pruning_it_says_from_where_it_proves(tmp_path: Path) -> None:
    federation = eventful(tmp_path / "ledger.db")
    store = federation.store
    with store.read() as connection:
        before = audit(connection)
    opened = next(event for event in federation.of("opened") if event["round"] == 4)
    times = opened["deadline"] - federation.settings.upload_time
    with store.write() as connection:
        gone = prune(connection, times, federation.clock())
        assert gone.round == 3
        assert prune(connection, times, federation.clock()) == gone
    with store.read() as connection:
        report = audit(connection)
    assert (report.findings, report.proved_from) == ([], 4)
    assert (report.rounds, report.spent) == (before.rounds, before.spent)
    assert report.entries == before.entries + 1
    # what goes on, goes on
    state = federation.coordinator.state(2)
    federation.coordinator.upload(2, made(6, state.epoch, np.ones((3, 2)), 0.0))
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE uploads SET numbers = NULL WHERE round = 5")
    with store.read() as connection:
        assert not audit(connection).clean
    store.close()


def test_books_for_finance(book: Path, tmp_path: Path) -> None:
    import polars as pl

    store = Database(f"sqlite:///{book}")
    with store.read() as connection:
        spent = audit(connection).spent
        for name in ("paid.csv", "paid.parquet"):
            rows = export(connection, tmp_path / name)
            read = pl.read_csv if name.endswith("csv") else pl.read_parquet
            frame = read(tmp_path / name)
            assert frame.height == rows > 5
            assert float(frame["amount"].sum()) == pytest.approx(spent)
            assert frame.columns == [
                "federation", "round", "closed", "client", "name", "units", "digits", "amount",
                "paid_out", "paid_out_by",
            ]  # fmt: skip
            assert frame["units"].sum() == round(100 * spent)
        assert export(connection, tmp_path / "rounds.csv", "rounds") == 6
        assert export(connection, tmp_path / "all.csv", "entries") > 50
        with pytest.raises(incfed.InputError, match=r"\.csv or \.parquet"):
            export(connection, tmp_path / "paid.xlsx")
    store.close()


def test_a_round_that_was_opened_while_paused(tmp_path: Path) -> None:
    two = Federation(tmp_path / "l.db", 2, dim=1, threshold=1.0, mechanism=incfed.PayEveryone())
    with two.store.write() as connection:
        set_paused(connection, True, "ada", two.clock())
    with two.coordinator._write() as transaction:
        open_round(transaction, 0)
    with two.store.read() as connection:
        assert any("rounds were paused" in one for one in audit(connection).findings)
    two.store.close()
