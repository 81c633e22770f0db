"""Money is in whole minor units: in the tables, in the entries, and in every sum of the audit."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.chain import canonical, entries_after, link
from incfed.ledger.database import Database
from incfed.protocol.money import to_units
from support.federation import Federation, eventful
from support.sqlite import unguarded

BUDGET = 150.0


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of rounds of every kind, at rest."""
    folder = tmp_path_factory.mktemp("units")
    eventful(folder / "live.db", money_digits=2).store.close()
    with (
        closing(sqlite3.connect(folder / "live.db")) as source,
        closing(sqlite3.connect(folder / "book.db")) as copy,
    ):
        source.backup(copy)
    return folder / "book.db"


def entries(path: Path) -> list[dict[str, Any]]:
    store = Database(f"sqlite:///{path}", new=False)
    with store.read() as connection:
        found = entries_after(connection, 0)
    store.close()
    return found


def findings(path: Path) -> list[str]:
    store = Database(f"sqlite:///{path}", new=False)
    with store.read() as connection:
        found = audit(connection).findings
    store.close()
    return found


def test_a_payment_is_somebodys_money(tmp_path: Path) -> None:
    """Alone, a client is owed its whole cost: 9999.999999519521 is paid as 10000.00."""
    one = Federation(
        tmp_path / "l.db", 1, dim=1, ridge=1.0, threshold=1.0, mechanism=incfed.PayEveryone(),
        money_digits=2,
    )  # fmt: skip
    x = np.ones((1, 1))
    number = one.upload([0], [x], 9999.999999519521)
    one.deliver(0, number, x)
    [paid] = one.of("closed")
    assert (paid["payments"], paid["posted"]) == ({"0": 1_000_000}, 1_000_000)
    assert paid["money_digits"] == 2
    with one.store.read() as connection:
        [row] = connection.execute(select(tables.payments))
        assert row.amount_units == 1_000_000
        assert connection.scalar(select(tables.uploads.c.cost_units)) == 1_000_000
        report = audit(connection)
    assert (report.findings, report.spent) == ([], 10_000.0)
    assert "10,000.00 paid" in report.words
    assert one.coordinator.download(0, 0).shared == {1: 10_000.0}
    one.store.close()


def test_all_money_is_whole_and_every_sum_exact(book: Path) -> None:
    assert findings(book) == []
    reserved = posted = voided = 0
    offered: dict[int, dict[str, int]] = {}
    for one in entries(book):
        if one["kind"] == "uploaded":
            assert type(one["cost"]) is int
        if one["kind"] == "decided":
            standing = offered.setdefault(one["round"], {})
            lost = sum(standing.pop(str(who)) for who in one["failed"])
            assert one.get("voided", 0) == lost
            voided += lost
            standing.update(one["offers"])
            reserved = one["reserved"]
            assert reserved == sum(standing.values())
            assert posted + reserved <= to_units(BUDGET, 2)
        if one["kind"] == "closed":
            assert one["posted"] == sum(one["payments"].values()) == reserved
            assert one["payments"] == offered[one["round"]]
            posted, reserved = posted + one["posted"], 0
    assert posted > 0
    assert voided > 0
    with closing(sqlite3.connect(book)) as source:
        found = source.execute("SELECT reserved_units, posted_units FROM federation")
        assert found.fetchall() == [(0, posted)]
        for table, name in (("uploads", "cost"), ("offers", "payment"), ("payments", "amount")):
            kinds = f"SELECT DISTINCT typeof({name}_units) FROM {table}"
            assert source.execute(kinds).fetchall() == [("integer",)]


@pytest.mark.parametrize(
    ("kind", "change", "finding"),
    [
        ("decided", {"reserved": 1}, "reserved is "),
        ("closed", {"posted": 1}, "posted is "),
        ("closed", {"money_digits": 3}, "money_digits is 2"),
        ("decided", {"voided": 1}, "voided is "),
        ("uploaded", {"cost": 1000.5}, "1000.5 is no number of minor units"),
    ],
)
def test_a_wrong_sum_shows_even_if_all_hashes_fit(
    book: Path, tmp_path: Path, kind: str, change: dict[str, Any], finding: str
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(book.read_bytes())
    with unguarded(copy) as outside:
        previous, changed = "0" * 64, False
        rows = outside.execute("SELECT number, body FROM entries ORDER BY number").fetchall()
        for number, body in rows:
            entry = json.loads(body)
            fits = entry["kind"] == kind and change.keys() <= entry.keys()
            if fits and not changed:
                entry, changed = {**entry, **change}, True
            previous = link(previous, canonical(entry))
            values = (canonical(entry), previous, number)
            outside.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", values)
    assert changed
    assert any(finding in one for one in findings(copy))


def test_digits_stay(tmp_path: Path) -> None:
    """Payments are in these units."""
    one = Federation(
        tmp_path / "l.db", 1, dim=1, threshold=1.0, mechanism=incfed.PayEveryone(), money_digits=2
    )
    one.settings = replace(one.settings, money_digits=3)
    with pytest.raises(incfed.InputError, match=r"^money_digits: got 3, must be 2, as in the data"):
        one.another()
    with pytest.raises(incfed.InputError, match=r"^money_digits: got None, must be a whole number"):
        replace(one.settings, money_digits=None)  # type: ignore[arg-type]
    one.store.close()
