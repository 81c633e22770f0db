"""Triggers and constraints are compared by what they say, not by their names."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from incfed.ledger.database import Database
from incfed.ledger.guards import broken_guards
from support.postgres import running


def findings(store: Database) -> list[str]:
    with store.read() as connection:
        return broken_guards(connection)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{tmp_path / 'ledger.db'}")) as made:
        assert findings(made) == []
        yield made


NOTHING = "CREATE TRIGGER {name} BEFORE {event} ON {table} BEGIN SELECT 1; END"
ELSEWHERE = "CREATE TRIGGER {name} AFTER INSERT ON {table} BEGIN SELECT 1; END"


@pytest.mark.parametrize(
    ("statements", "finding"),
    [
        (["DROP TRIGGER entries_DELETE"], "the trigger entries_DELETE is missing"),
        (
            ["DROP TRIGGER payments_UPDATE",
             NOTHING.format(name="payments_UPDATE", event="UPDATE", table="payments")],
            "the trigger payments_UPDATE is not what incfed made",
        ),
        (
            ["DROP TRIGGER entries_REPLACE",
             ELSEWHERE.format(name="entries_REPLACE", table="entries")],
            "the trigger entries_REPLACE is not what incfed made",
        ),
        (
            [ELSEWHERE.format(name="skim", table="payments")],
            "the trigger skim was not made by incfed",
        ),
        (
            ["DROP TABLE offers", "CREATE TABLE offers (round INTEGER NOT NULL, client INTEGER NOT "
             "NULL, attempt INTEGER NOT NULL, payment DOUBLE NOT NULL, accepted BOOLEAN, failed "
             "BOOLEAN NOT NULL)"],
            "the constraints of offers are not those that incfed made",
        ),
        (["DROP TABLE withdrawals"], "the table withdrawals is missing"),
    ],
)  # fmt: skip
def test_sqlite(store: Database, tmp_path: Path, statements: list[str], finding: str) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as outside:
        for one in statements:
            outside.execute(one)
    assert findings(store) == [finding]


def test_a_loosened_check_shows(store: Database, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as outside:
        outside.execute("PRAGMA writable_schema = ON")
        sql = "UPDATE sqlite_master SET sql = replace(sql, 'id = 1', 'id < 9') WHERE name = ?"
        outside.execute(sql, ("federation",))
        outside.commit()
    assert findings(store) == ["the constraints of federation are not those that incfed made"]


def test_postgresql() -> None:
    trigger = (
        "CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entries "
        "FOR EACH STATEMENT {when} EXECUTE FUNCTION {function}()"
    )
    idle = (
        "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
    )
    changed = "the trigger entries_append_only is not what incfed made"
    cases = [
        (["DROP TRIGGER entries_append_only ON entries"],
         ["the trigger entries_append_only is missing"]),
        (["ALTER TABLE entries DISABLE TRIGGER entries_append_only"],
         ["the trigger entries_append_only of entries is switched off"]),
        (["DROP TRIGGER entries_append_only ON entries",
          trigger.format(when="WHEN (false)", function="incfed_append_only")], [changed]),
        ([idle.format(name="idle"), "DROP TRIGGER entries_append_only ON entries",
          trigger.format(when="", function="idle")], [changed]),
        ([idle.format(name="incfed_append_only").replace("CREATE", "CREATE OR REPLACE")],
         [changed, "the trigger payments_append_only is not what incfed made",
          "the trigger payouts_append_only is not what incfed made"]),
        (["CREATE RULE mute AS ON UPDATE TO payments DO INSTEAD NOTHING"],
         ["the rule mute was not made by incfed"]),
        (["ALTER TABLE payments DROP CONSTRAINT payments_client_fkey"],
         ["the constraints of payments are not those that incfed made"]),
        (["ALTER TABLE federation DROP CONSTRAINT federation_id_check"],
         ["the constraints of federation are not those that incfed made"]),
    ]  # fmt: skip
    with running() as server, closing(Database(server.database("guards"))) as store:
        assert findings(store) == []
        for statements, expected in cases:
            with store.engine.connect() as connection:  # rolled back: nobody commits it
                for one in statements:
                    connection.exec_driver_sql(one)
                assert broken_guards(connection) == expected
