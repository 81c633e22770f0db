"""Payments are marked as paid out once, with who and when; the audit knows of every mark."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy.exc import DatabaseError

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.chain import canonical, link
from incfed.ledger.database import Database
from incfed.ledger.payouts import mark_paid_out
from incfed.ledger.views import clients_listing, export
from support.cli import invoke
from support.federation import eventful
from support.sqlite import unguarded

NOW = 1_800_000_000.0  # 2027-01-15


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Client 2 was paid in rounds 1 and 2."""
    federation = eventful(tmp_path / "l.db")
    federation.store.close()
    return tmp_path / "l.db"


def test_marks(book: Path, tmp_path: Path) -> None:
    store = Database(f"sqlite:///{book}")
    with store.write() as connection:
        first = mark_paid_out(connection, "client 2", "Ann Lee", NOW, round=2)
        with pytest.raises(incfed.InputError) as error:
            mark_paid_out(connection, "client 2", "Bo", NOW + 60.0, round=2)
        assert str(error.value) == (
            "round: got 2, must be one not paid out yet: Ann Lee marked it on 2027-01-15 at 08:00 "
            "UTC"
        )
        rest = mark_paid_out(connection, "client 2", "Bo", NOW + 60.0)
        assert (first.rounds, rest.rounds) == ([2], [1])
        with pytest.raises(incfed.InputError, match="client 2: has no payment that is not marked"):
            mark_paid_out(connection, "client 2", "Bo", NOW + 60.0)
        assert mark_paid_out(connection, "client 3", "Bo", NOW, through=2).rounds == [2]
    with store.read() as connection:
        assert audit(connection).findings == []
        export(connection, tmp_path / "payments.parquet")
        listed = clients_listing(connection)
    store.close()
    paid = pl.read_parquet(tmp_path / "payments.parquet").filter(pl.col("client") == 2)
    assert paid["paid_out_by"].to_list() == ["Bo", "Ann Lee"]
    assert paid["paid_out"][1] == "2027-01-15T08:00:00+00:00"
    [row] = [row for row in listed.rows if "client 2" in row]
    total = first.amount + rest.amount
    assert row[-2:] == (total, total)
    assert Decimal(int(paid["units"].sum())) / 100 == total
    assert paid["amount"].to_list() == [rest.amount, first.amount]


def test_bad_input(book: Path) -> None:
    store = Database(f"sqlite:///{book}")
    with store.write() as connection:
        for name, by, round, said in (
            ("nobody", "Ann", 2, r"^client: got 'nobody', must be the id or name of a client"),
            ("client 2", " ", 2, r"^by: got ' ', must be the name of who paid"),
            ("client 2", "Ann", 4, r"^round: got 4, must be a closed round in which client 2 is"),
            ("client 0", "Ann", 1, r"^round: got 1, must be a closed round in which client 0 is"),
        ):
            with pytest.raises(incfed.InputError, match=said):
                mark_paid_out(connection, name, by, NOW, round=round)
    store.close()


CONFIG = """
[federation]
dim = 2
mechanism = "PayEveryone"
threshold = 1.0
budget = "none"
[server]
database = "sqlite:///l.db"
"""


def test_on_the_command_line(book: Path) -> None:
    (book.parent / "federation.toml").write_text(CONFIG)
    command = ("ledger", "paid-out", "client 2", "--by", "Ann Lee")
    done = invoke(book.parent, *command, "--through", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("client 2: 1 payment, 8.7")
    assert done.stderr.endswith(" in all, marked as paid out by Ann Lee.\n")
    for more, said in (
        (("--round", "1"), "round: got 1, must be one not paid out yet: Ann Lee marked it on "),
        (("--round", "2", "--through", "2"), "--through: got 2, must be left out with --round"),
    ):
        done = invoke(book.parent, *command, *more)
        assert (done.returncode, said in done.stderr.replace("\n", " ")) == (2, True), done.stderr


def test_marks_stay_and_made_up_ones_show(book: Path) -> None:
    store = Database(f"sqlite:///{book}")
    with store.write() as connection:
        mark_paid_out(connection, "client 2", "Ann Lee", NOW)
    for sql in ("DELETE FROM payouts", "UPDATE payouts SET \"by\" = 'Bo'"):
        with pytest.raises(DatabaseError, match="only ever added"), store.write() as connection:
            connection.exec_driver_sql(sql)
    store.close()
    with unguarded(book) as outside:
        outside.execute("UPDATE payouts SET \"by\" = 'Bo' WHERE round = 1")
    assert found(book) == [f"payouts {identity(book)}, 1, 2: by is not what the entries say"]
    with unguarded(book) as outside:
        outside.execute("UPDATE payouts SET \"by\" = 'Ann Lee' WHERE round = 1")
        rows = outside.execute("SELECT body, hash FROM entries ORDER BY number").fetchall()
        entry = json.loads(rows[-1][0])
        entry["payments"]["1"] += 1  # more than was owed, said in an entry that fits
        values = (canonical(entry), link(rows[-2][1], canonical(entry)), len(rows))
        outside.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", values)
    [finding] = found(book)
    assert "client 2 was not paid" in finding


def test_twice_shows(book: Path) -> None:
    """Somebody with all rights appends a second entry for the same payment."""
    store = Database(f"sqlite:///{book}")
    with store.write() as connection:
        mark_paid_out(connection, "client 2", "Ann Lee", NOW, round=1)
    store.close()
    with unguarded(book) as outside:
        rows = outside.execute("SELECT body, hash FROM entries ORDER BY number").fetchall()
        body = canonical({**json.loads(rows[-1][0]), "number": len(rows) + 1})
        values = (len(rows) + 1, body, link(rows[-1][1], body))
        outside.execute("INSERT INTO entries VALUES (?, ?, ?)", values)
    [finding] = found(book)
    assert "round 1 was paid out to client 2 before" in finding


def found(path: Path) -> list[str]:
    store = Database(f"sqlite:///{path}", new=False)
    with store.read() as connection:
        findings = audit(connection).findings
    store.close()
    return findings


def identity(path: Path) -> str:
    store = Database(f"sqlite:///{path}", new=False)
    with store.read() as connection:
        [name] = connection.exec_driver_sql("SELECT name FROM federation").scalars()
    store.close()
    return str(name)
