"""Several coordinators over one database, SQLite and PostgreSQL: a round is decided once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import select, text
from sqlalchemy.exc import DatabaseError, OperationalError

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.database import Database
from incfed.ledger.records import read_epoch
from incfed.protocol.messages import Delivery
from incfed.service.coordinator.handlers import Open, open_round
from support.federation import Federation, federate, made, same, synthetic
from support.postgres import Postgres
from support.single_messages import SingleCoordinator

CLIENTS, ROUNDS = 6, 4


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.database(tmp_path.name)


def life(client: int, coordinators: list[SingleCoordinator], errors: list[BaseException]) -> None:
    """A client that takes part in every round, asking one coordinator and another by turns."""
    try:
        x = np.full((1, 2), 0.1 * (client + 1))
        turn, done = client, 0
        end = time.monotonic() + 60
        while done < ROUNDS:
            assert time.monotonic() < end, "stuck"
            turn += 1
            coordinator = coordinators[turn % len(coordinators)]
            state = coordinator.state(client)
            seen = state.round
            if seen is None or (seen.stage == "closed" and seen.number == done):
                seen = coordinator.open_round(client).round
            assert seen is not None
            if seen.stage == "open" and not seen.uploaded:
                epoch = coordinator.state(client).epoch
                coordinator.upload(client, made(seen.number, epoch, x, 1.0))
            elif seen.stage == "offered" and not seen.delivered:
                coordinator.deliver(client, Delivery(seen.number, x[0]))
            elif seen.stage == "closed" or seen.number > done + 1:
                done = max(done, seen.number if seen.stage == "closed" else seen.number - 1)
    except BaseException as error:
        errors.append(error)


def test_a_round_is_decided_once(url: str) -> None:
    federation = Federation(
        url, CLIENTS, dim=2, threshold=1.0, mechanism=incfed.PayEveryone(), upload_time=60.0,
        answer_time=60.0, live_time=1e6,
    )  # fmt: skip
    others = [Database(url) for _ in range(2)]
    coordinators = [
        SingleCoordinator(
            store, federation.settings, federation.clock, on_event=federation.events.append
        )
        for store in others
    ]
    errors: list[BaseException] = []
    threads = [
        threading.Thread(target=life, args=(k, coordinators, errors)) for k in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    for kind, each in (("opened", 1), ("uploaded", CLIENTS), ("decided", 1), ("closed", 1)):
        counted = Counter(event["round"] for event in federation.of(kind))
        assert {counted[number] for number in range(1, ROUNDS + 1)} == {each}, kind
    with federation.store.read() as connection:
        assert audit(connection).findings == []
        V, _ = read_epoch(connection, ROUNDS, 2)
    once = sum((0.1 * (k + 1)) ** 2 for k in range(CLIENTS))
    np.testing.assert_allclose(V, np.full((2, 2), ROUNDS * once))
    for store in (federation.store, *others):
        store.close()


def test_the_tables_are_those_of_the_migrations(url: str) -> None:
    store = Database(url)
    with store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
    store.close()


def test_as_the_simulator_does_on_postgresql(postgres: Postgres) -> None:
    trace = synthetic(steps=150)
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=0.5, costs=2.0)
    federation = federate(postgres.database("trace"), trace, algorithm)
    assert same(trace, algorithm, federation) > 4
    with federation.store.read() as connection:
        assert audit(connection).findings == []
    federation.store.close()


def test_rows_are_only_ever_added_on_postgresql(postgres: Postgres) -> None:
    store = Federation(
        postgres.database("append"), 1, dim=1, threshold=1.0, mechanism=incfed.PayEveryone()
    ).store
    for sql in ("DELETE FROM entries", "UPDATE entries SET hash = ''", "TRUNCATE entries",
                "TRUNCATE payments", "DELETE FROM payments"):  # fmt: skip
        with pytest.raises(DatabaseError, match="only ever added"), store.write() as connection:
            connection.execute(text(sql))
    store.close()


def test_kill_9_of_the_database(postgres: Postgres) -> None:
    """In the middle of a round: what was answered is kept, and the round goes on."""
    two = Federation(
        postgres.database("killed"), 2, dim=1, threshold=1.0, mechanism=incfed.PayEveryone()
    )
    one = np.ones((1, 1))
    two.upload([0, 1], [one, one], 1.0)
    two.deliver(0, 1, one)
    postgres.kill()
    with pytest.raises(OperationalError):
        two.deliver(1, 1, one)
    postgres.start()
    two.deliver(1, 1, one)
    with two.store.read() as connection:
        assert audit(connection).findings == []
        assert connection.scalar(select(tables.federation.c.epoch)) == 1
    two.store.close()


def test_polls_and_messages_do_not_wait_for_each_other_in_a_ring(
    postgres: Postgres, tmp_path: Path
) -> None:
    """Both note who was heard of, in transactions of their own."""
    many = 40
    settings = {"dim": 2, "threshold": 1.0, "mechanism": incfed.PayEveryone(), "live_time": 1e-9}
    one = Federation(postgres.database(tmp_path.name), many, **settings)
    errors: list[Exception] = []

    def again(work: Callable[[list[int]], object], seed: int) -> None:
        chance = np.random.default_rng(seed)
        try:
            for _ in range(40):
                one.clock.now += 1.0  # nobody was heard of just now
                work(chance.permutation(many).tolist())
        except Exception as error:
            errors.append(error)

    def tell(clients: list[int]) -> object:
        return one.coordinator.handle([(client, open_round, Open()) for client in clients])

    works = [(tell, 0), (one.coordinator.all_states, 1), (tell, 2), (one.coordinator.all_states, 3)]
    threads = [threading.Thread(target=again, args=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.store.close()
    assert errors == []
