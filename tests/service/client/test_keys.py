"""A client's key: made once, kept private, registered, and used for all that it does."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.clients import reset_key
from incfed.service.client.keys import load_or_create
from incfed.service.client.transport import ServiceError
from support.coordinator_app import Site
from support.serving import serving


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Site, str]]:
    made = Site(tmp_path)
    made.clock.now = 0.0
    with serving(made.app) as url, made.http:
        yield made, url
    made.store.close()


def entries(site: Site, *kinds: str) -> list[dict[str, Any]]:
    with site.store.read() as connection:
        bodies = connection.scalars(select(tables.entries.c.body).order_by(tables.entries.c.number))
        return [one for one in map(json.loads, bodies) if one["kind"] in kinds]


def test_what_a_client_does_is_signed(site: tuple[Site, str], tmp_path: Path) -> None:
    made, url = site
    with incfed.Client(url, made.tokens[0], tmp_path / "one", cost=2.0) as client:
        for n in range(4):
            client.learn(np.array([0.9, 0.1 * n]), 0.5)
        client.sync(60.0)
        assert client.problem is None
        assert client.epoch >= 1
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "one").iterdir()}
    assert {"key", "snapshot", "receipts"} <= {name.partition(".")[0] for name in modes}
    assert set(modes.values()) == {0o600}, modes
    acts = entries(made, "uploaded", "answered", "delivered")
    assert {one["kind"] for one in acts} == {"uploaded", "delivered"}  # which says yes
    assert all("signature" in one for one in acts)
    assert len(entries(made, "key")) == 1
    with made.store.read() as connection:
        assert audit(connection).findings == []
    with incfed.Client(url, made.tokens[0], tmp_path / "one"):
        pass  # the same key
    with pytest.raises(ServiceError, match="reset-key"):
        incfed.Client(url, made.tokens[0], tmp_path / "two")
    with made.store.write() as connection:
        reset_key(connection, "0", 0.0)
    with incfed.Client(url, made.tokens[0], tmp_path / "two"):
        assert len(entries(made, "key")) == 3


def test_a_damaged_key_is_refused(tmp_path: Path) -> None:
    assert load_or_create(tmp_path) == load_or_create(tmp_path)
    (tmp_path / "key").write_text("nonsense")
    with pytest.raises(incfed.InputError, match="32 bytes in base64"):
        load_or_create(tmp_path)
