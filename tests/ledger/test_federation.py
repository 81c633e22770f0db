"""A federation is told apart from any other, of the same name even; a back-up of it is not."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import records, tables
from incfed.ledger.audit import audit
from incfed.ledger.database import Database
from incfed.ledger.federation import apply_settings
from incfed.ledger.records import read_settings
from incfed.ledger.settings import Settings
from incfed.mechanisms.registry import MECHANISMS
from incfed.rules.plugins import MissingCode
from incfed.service.coordinator.config import read_config
from support.federation import Federation

SETTINGS = Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0, name="shops")


def identity(database: Path, settings: Settings = SETTINGS) -> str:
    """After a start with these settings; the ledger and the settings in force say the same."""
    store = Database(f"sqlite:///{database}")
    with store.write() as connection:
        apply_settings(connection, settings, 1.0)
        row = connection.execute(select(tables.federation)).one()
        assert read_settings(connection, row.settings).identity == row.name
        assert audit(connection).clean
    store.close()
    return str(row.name)


def test_two_of_one_name_are_told_apart(tmp_path: Path) -> None:
    first, second = identity(tmp_path / "a.db"), identity(tmp_path / "b.db")
    assert first.startswith("shops-")
    assert second.startswith("shops-")
    assert first != second


def test_it_stays_as_it_was_founded(tmp_path: Path) -> None:
    first = identity(tmp_path / "a.db")
    shutil.copy(tmp_path / "a.db", tmp_path / "copy.db")
    assert identity(tmp_path / "a.db") == first
    assert identity(tmp_path / "a.db", replace(SETTINGS, threshold=2.0)) == first
    assert identity(tmp_path / "copy.db") == first


def test_it_is_not_for_a_config(tmp_path: Path) -> None:
    config = tmp_path / "federation.toml"
    config.write_text('[federation]\ndim = 2\nidentity = "x"\n')
    with pytest.raises(incfed.InputError, match=r"federation\.identity: .*no such setting"):
        read_config(config)


CODE = """
import incfed

class Mine(incfed.Mechanism):
    def decide(self, round):
        return round.settle(round.everyone)
"""


def test_a_round_ends_with_the_code_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it a coordinator does not start, whatever the config says by now."""
    (tmp_path / "mine.py").write_text(CODE)
    mechanism = MECHANISMS.pinned("mine.py:Mine", "mechanism", tmp_path)
    federation = Federation(tmp_path / "a.db", 2, dim=2, mechanism=mechanism, threshold=1.0)
    federation.coordinator.open_round(0)
    federation.settings = replace(federation.settings, mechanism=incfed.PayEveryone())
    federation.another()
    records._parse.cache_clear()
    for key in list(MECHANISMS.loaded):
        monkeypatch.delitem(MECHANISMS.loaded, key)
    with pytest.raises(MissingCode, match=r"mine\.py:Mine was recorded with SHA-256"):
        federation.another()
    MECHANISMS.load_code("mine.py", "server.mechanism_files", tmp_path)
    federation.another()
    federation.store.close()
