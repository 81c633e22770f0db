"""A restored back-up: a client that knows another history is found out, however far the federation
has gone on since."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.database import Database
from incfed.ledger.withdrawal import withdraw
from incfed.protocol.messages import Answer
from incfed.service.client import state_folder
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.coordinator.app import make_app
from incfed.service.coordinator.errors import Conflict, TooMany
from support.coordinator_app import Site
from support.federation import eventful
from support.serving import serving

OTHER = r"^state: .*another history.*new folder.*docs/deployment\.md"


def share(client: incfed.Client, epoch: int) -> None:
    """Until the shared statistics have this epoch."""
    chance = np.random.default_rng(epoch)
    while client.epoch < epoch:
        client.learn(chance.uniform(-0.7, 0.7, 2), 0.5)
        client.sync(60.0)


def restore(made: Site, backup: Path, folder: Path) -> None:
    """The coordinator's database is the back-up again, as docs/deployment.md says."""
    made.store.close()
    database = folder / "ledger.db"
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    shutil.copy(backup, database)
    again(made, folder)


def again(made: Site, folder: Path) -> None:
    """A new process of the coordinator, for which nobody is live."""
    made.clock.now += 1000.0
    settings = made.app.state.services.settings
    made.store.close()
    made.store = Database(f"sqlite:///{folder / 'ledger.db'}")
    made.app = make_app(made.store, settings, clock=made.clock)


def test_a_client_of_another_history_halts_and_keeps_what_it_learned(tmp_path: Path) -> None:
    made = Site(tmp_path)
    state, new, backup = tmp_path / "state", tmp_path / "new", tmp_path / "backup.db"
    token = made.tokens[0]
    with serving(made.app) as url:
        ahead = incfed.Client(url, token, state, cost=2.0)
        share(ahead, 1)
        with sqlite3.connect(tmp_path / "ledger.db") as source, sqlite3.connect(backup) as copy:
            source.backup(copy)
        source.close()
        copy.close()
        share(ahead, 2)
    ahead.learn(np.array([0.1, 0.1]), 0.5)
    restore(made, backup, tmp_path)
    with (
        serving(made.app) as elsewhere,
        incfed.Client(elsewhere, made.tokens[1], tmp_path / "other", cost=2.0) as other,
    ):
        share(other, 3)  # past the epoch of the client that is ahead
    again(made, tmp_path)
    with serving(made.app, port=urlsplit(url).port or 0), made.http:
        with pytest.raises(incfed.InputError, match=OTHER):  # while it runs
            ahead.sync(60.0)
        assert ahead.epoch == 2
        ahead.learn(np.array([0.1, 0.1]), 0.5)  # it learns alone
        assert ahead.pending == 2
        ahead.close()
        with pytest.raises(incfed.InputError, match=OTHER):  # and when it starts
            incfed.Client(url, token, state, cost=2.0)
        kept = state_folder.load(state)
        assert kept is not None
        assert (kept.epoch, DurableLearner(state, kept).pending) == (2, 2)
        new.mkdir()
        shutil.copy(state / "key", new)
        with incfed.Client(url, token, new, cost=2.0) as client:  # as the docs say
            assert client.epoch == 3
            share(client, 4)
            assert client.problem is None
        made.http.base_url = httpx.URL(url)
        assert made(0, "GET", "/v1/state").status_code == 200  # it names no history
        made.clock.now += 10.0  # since its own history was refused
        for wrong in ("9-0123456789abcdef", "4-0123456789abcdef"):
            refused = made(0, "GET", "/v1/state", headers={"Incfed-History": wrong})
            assert (refused.status_code, refused.json()["field"]) == (409, "Incfed-History")
        assert made(0, "GET", "/v1/state", headers={"Incfed-History": "x"}).status_code == 422
    with made.store.read() as connection:
        assert audit(connection).findings == []
    made.store.close()


def test_a_client_that_has_just_joined_knows_its_history(tmp_path: Path) -> None:
    """It has done nothing yet, so that it has no receipts."""
    made = Site(tmp_path)
    with serving(made.app) as url:
        with incfed.Client(url, made.tokens[0], tmp_path / "0", cost=2.0) as client:
            share(client, 1)
        with incfed.Client(url, made.tokens[1], tmp_path / "1") as client:
            assert client.epoch == 1
    kept = [state_folder.load(tmp_path / name) for name in "01"]
    assert kept[0] is not None
    assert kept[1] is not None
    assert kept[0].history == kept[1].history
    assert kept[0].history.startswith("1-")
    made.store.close()


def test_each_epoch_has_the_hash_of_the_entry_that_made_it(tmp_path: Path) -> None:
    """Also one that was made by a withdrawal, and by another process."""
    four = eventful(tmp_path / "l.db")
    for k, (attempt, _) in four.offered().items():
        four.coordinator.answer(k, Answer(6, attempt, False))
    four.wait(20.0)
    with four.store.write() as connection:
        withdrawn = withdraw(connection, 0, four.clock())
    with four.store.read() as connection:
        rows = connection.execute(select(tables.entries)).all()
    made = {
        body["epoch"]: f"{body['epoch']}-{row.hash[:16]}"
        for row in rows
        if (body := json.loads(row.body))["kind"] in ("closed", "withdrawn")
    }
    assert withdrawn.epoch in made
    for coordinator in (four.coordinator, four.another()):
        assert {epoch: coordinator.history(epoch) for epoch in made} == made
        assert (coordinator.history(0), coordinator.history(len(made) + 1)) == ("", "")
        for known in made.values():
            assert coordinator.knows(known)
            coordinator.check_history(0, known)
    four.store.close()


def test_made_up_histories_do_not_cost_a_look_at_the_database_each(tmp_path: Path) -> None:
    """A client of another history halts; one that goes on making histories up has to wait. What
    this process knows, it says at once."""
    four = eventful(tmp_path / "l.db")
    here, looks = four.coordinator, []
    known = here.history(1)
    follow = here._tree.follow
    here._tree.follow = lambda connection: looks.append(1) or follow(connection)  # type: ignore[func-returns-value,method-assign]
    with pytest.raises(Conflict, match="before a back-up was restored"):
        here.check_history(0, f"900-{'0' * 16}")
    for epoch in range(901, 950):
        with pytest.raises(TooMany, match=r"^Incfed-History: .*5 s"):
            here.check_history(0, f"{epoch}-{'0' * 16}")
    with pytest.raises(Conflict):
        here.check_history(0, f"1-{'0' * 16}")
    here.check_history(0, known)
    assert len(looks) == 1
    with pytest.raises(Conflict):  # another client is not concerned
        here.check_history(1, f"900-{'0' * 16}")
    four.clock.now += 5.0
    with pytest.raises(Conflict):
        here.check_history(0, f"900-{'0' * 16}")
    assert len(looks) == 3
    four.store.close()
