"""A federation that version 0.1 made is opened, audited, exported, and goes on.

data/federation_0_1.sql was made by `support.federation.eventful` of that version: five closed
rounds, one of them decided again after a failed delivery, one without money; a client revoked; and
a sixth round open, with two uploads.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.database import Database
from incfed.ledger.federation import apply_settings
from incfed.ledger.records import read_body
from incfed.ledger.settings import Settings
from incfed.ledger.views import clients_listing, export
from incfed.protocol.messages import Delivery, Signal
from reference.mechanisms import FloatArray
from support.federation import WIDE, Clock, made
from support.single_messages import SingleCoordinator

DATA = Path(__file__).parent / "data" / "federation_0_1.sql"
SETTINGS = Settings(
    dim=2, ridge=1.0, threshold=1.0, mechanism=incfed.PaymentEfficient(beta=0.9), budget=150.0,
    answer_time=5.0, barred_rounds=1, live_time=1e6, **WIDE,
)  # fmt: skip
SPENT = 72.13


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.executescript(DATA.read_text())
    found = Database(f"sqlite:///{tmp_path / 'old.db'}", new=False)
    yield found
    found.close()


def test_it_is_audited_clean(store: Database) -> None:
    with store.read() as connection:
        report = audit(connection)
    assert report.findings == []
    assert (report.entries, report.rounds, report.proved_from) == (68, 5, 1)
    assert report.spent == pytest.approx(SPENT, abs=0.01)


def test_its_audit_is_no_formality(store: Database, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as outside:
        outside.execute("UPDATE rounds SET attempt = 3 WHERE number = 2")
        outside.commit()
    with store.read() as connection:
        assert audit(connection).findings == ["rounds 2: attempt is not what the entries say"]


def test_it_is_exported(store: Database, tmp_path: Path) -> None:
    with store.read() as connection:
        assert export(connection, tmp_path / "payments.csv") == 8
        assert export(connection, tmp_path / "rounds.parquet", "rounds") == 6
        assert export(connection, tmp_path / "entries.csv", "entries") == 68
        assert (3, "client 3", "revoked") in {row[:3] for row in clients_listing(connection).rows}
    paid = pl.read_csv(tmp_path / "payments.csv")
    assert paid["amount"].sum() == pytest.approx(SPENT, abs=0.01)


def test_it_goes_on(store: Database) -> None:
    """With the same settings none are written; the open round is closed, and one more."""
    clock = Clock()
    clock.now += 300.0
    coordinator = SingleCoordinator(store, SETTINGS, clock)
    with store.read() as connection:
        assert connection.scalar(select(tables.federation.c.settings)) == 1
        assert "sha256" not in read_body(connection, 1)["mechanism"]
    _pass_deadline(coordinator, clock)  # two are offered a part in the sixth round
    _deliver(coordinator, 6, np.zeros(2))
    x = 5.0 * np.random.default_rng(0).standard_normal((2, 2))
    opened = coordinator.open_round(2)
    assert opened.round is not None
    assert opened.round.number == 7
    for client in (0, 1, 2):
        coordinator.upload(client, made(7, opened.epoch, x, 1.0))
    _deliver(coordinator, 7, x.sum(axis=0))
    with store.read() as connection:
        report = audit(connection)
        kinds = [
            json.loads(body)["kind"] for body in connection.scalars(select(tables.entries.c.body))
        ]
    assert report.findings == []
    assert report.rounds == 7
    assert kinds.count("settings") == 1


def test_it_takes_the_settings_of_today(store: Database) -> None:
    """The open round ends as it began; the next is called by the coordinator, for growth."""
    settings = replace(
        SETTINGS, threshold=None, download="one-for-one", width="mixture",
        trigger=incfed.Patient(0.1, signal="growth"),
    )  # fmt: skip
    clock = Clock()
    clock.now += 300.0
    coordinator = SingleCoordinator(store, settings, clock)
    _pass_deadline(coordinator, clock)
    _deliver(coordinator, 6, np.zeros(2))
    x = 5.0 * np.random.default_rng(0).standard_normal((2, 2))
    for client in (0, 1):
        assert coordinator.download(client, 5).epoch == 6
        opened = coordinator.signal(client, Signal(6, 9, 2, 3.0, 0.01)).round
    assert opened is not None
    assert opened.number == 7
    for client in (0, 1):
        coordinator.upload(client, made(7, 6, x, 0.01))
    coordinator.upload(2, made(7, 0, x[:0], 0.0))
    _deliver(coordinator, 7, x.sum(axis=0))
    assert coordinator.download(2, 6).epoch == 7
    with store.read() as connection:
        report = audit(connection)
    assert (report.findings, report.rounds) == ([], 7)


def test_it_keeps_its_floats_with_a_warning(store: Database) -> None:
    """A config that says nothing of money_digits: a new federation would have two."""
    mechanism = {"kind": "PaymentEfficient", "beta": 0.9}
    given = {**SETTINGS.body(), "mechanism": mechanism}
    del given["identity"]
    settings = Settings.read(given, Path())
    assert settings.completed(None).money_digits == 2
    with store.write() as connection:
        apply_settings(connection, settings, 1_000_300.0)
        assert connection.scalar(select(tables.federation.c.settings)) == 1
        assert "money_digits" not in read_body(connection, 1)
        assert audit(connection).findings == []
        kept = settings.completed(read_body(connection, 1))
    assert any("has no money_digits, as version 0.1 had none" in one for one in kept.warnings)


def test_it_takes_minor_units(store: Database, tmp_path: Path) -> None:
    """The open round ends with floats, the next is paid in cents; what was spent before counts,
    rounded up."""
    settings = replace(SETTINGS, money_digits=2)
    clock = Clock()
    clock.now += 300.0
    coordinator = SingleCoordinator(store, settings, clock)
    _pass_deadline(coordinator, clock)
    _deliver(coordinator, 6, np.zeros(2))
    before = coordinator.overview().spent
    assert 100 * before == pytest.approx(round(100 * before), abs=1e-9)
    x = 5.0 * np.random.default_rng(0).standard_normal((2, 2))
    opened = coordinator.open_round(2)
    for client in (0, 1, 2):
        coordinator.upload(client, made(7, opened.epoch, x, 1.001))
    _deliver(coordinator, 7, x.sum(axis=0))
    with store.read() as connection:
        report = audit(connection)
        row = connection.execute(select(tables.federation)).one()
        export(connection, tmp_path / "payments.csv")
    assert (report.findings, report.rounds) == ([], 7)
    assert before < report.spent <= 150.0
    assert row.spent == pytest.approx(before, abs=0.01)
    assert row.posted_units == round(100 * (report.spent - before))
    paid = pl.read_csv(tmp_path / "payments.csv")
    assert paid.filter(pl.col("round") < 7)["units"].null_count() == (paid["round"] < 7).sum()
    assert paid.filter(pl.col("round") == 7)["units"].sum() == row.posted_units


def _pass_deadline(coordinator: SingleCoordinator, clock: Clock) -> None:
    """It starts anew when the round is taken over."""
    for _ in range(8):
        coordinator.tick()
        clock.now += 1.5
    coordinator.tick()


def _deliver(coordinator: SingleCoordinator, number: int, db: FloatArray) -> None:
    """From everybody who was offered a part; that closes the round."""
    offered = 0
    for client in (0, 1, 2):
        seen = coordinator.state(client).round
        if seen is not None and seen.offer is not None:
            coordinator.deliver(client, Delivery(number, db))
            offered += 1
    assert offered
    assert coordinator.state(0).epoch == number
