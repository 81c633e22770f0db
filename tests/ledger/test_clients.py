"""Whom a command is about: an id, or a name, that means one client."""

from __future__ import annotations

from pathlib import Path

import pytest

import incfed
from incfed.ledger.clients import enrol, find, revoke
from incfed.ledger.database import Database
from incfed.ledger.federation import apply_settings
from incfed.ledger.settings import Settings


def test_a_name_that_is_another_one_s_id(tmp_path: Path) -> None:
    """Else the command that revokes a client and the one that withdraws what it shared could mean
    two clients by the same word."""
    store = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with store.write() as connection:
        settings = Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0)
        apply_settings(connection, settings, 1.0)
        for name in ("one", "0", "7"):
            enrol(connection, name, 1.0)
        known = [find(connection, who).name for who in ("one", "1", "7", 0, 1, 2)]
        assert known == ["one", "0", "7", "one", "0", "7"]
        said = (
            r"^client: got '0', must be one client: it is the id of 'one', and the name of cl.* 1"
        )
        with pytest.raises(incfed.InputError, match=said):
            find(connection, "0")
        with pytest.raises(incfed.InputError, match=said):
            revoke(connection, "0", 2.0)
        assert revoke(connection, "1", 2.0).name == "0"
        for nobody in ("9", "9" * 30, "\u0663", "-1", "", 9):
            with pytest.raises(incfed.InputError, match="must be the id or name of a client"):
                find(connection, nobody)
    store.close()
