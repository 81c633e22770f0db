"""Messages in one transaction: the same as one by one, and one that is wrong harms no other."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import MetaData, event, select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.database import Database
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Answer, Delivery, Download
from incfed.rules.limits import safe_limits
from incfed.service.coordinator.batching import LAST_SHARED, Batcher
from incfed.service.coordinator.handlers import (
    Open,
    SentMessage,
    answer,
    delivery,
    open_round,
    upload,
)
from incfed.service.coordinator.listening import STREAMS
from incfed.service.coordinator.views import Wanted
from reference.mechanisms import FloatArray
from support.federation import Federation, made

COUNT, DIM, ROUNDS = 7, 3, 4
MOST_STATEMENTS = 102  # of a round, after it was opened, and its downloads


def federation(path: Path, **options: Any) -> Federation:
    settings = {"dim": DIM, "threshold": 1.0, "mechanism": incfed.PaymentEfficient(beta=0.8)}
    return Federation(path, COUNT, **{**settings, **options})


def kept(store: Database) -> dict[str, list[Any]]:
    """Every row of every table; the federation by its name, without the random part."""
    found = MetaData()
    with store.read() as connection:
        found.reflect(connection)
        identity = connection.scalar(select(tables.federation.c.name)) or ""
        return {
            table.name: sorted(
                repr(row).replace(identity, "") for row in connection.execute(select(table))
            )
            for table in found.sorted_tables
        }


def sizes(chance: np.random.Generator) -> Iterator[int]:
    while True:
        yield int(chance.integers(1, COUNT + 1))


def played(one: Federation, batches: Iterator[int]) -> None:
    """Some rounds: the same messages in batches of these sizes, refused ones among them."""
    chance = np.random.default_rng(5)

    def send(messages: list[SentMessage]) -> None:
        while messages:
            size = next(batches)
            one.coordinator.handle(messages[:size])
            messages = messages[size:]

    for number in range(1, ROUNDS + 1):
        rows: list[FloatArray] = [chance.standard_normal((k % 5, DIM)) for k in range(COUNT)]
        up = [made(number, number - 1, x, float(k)) for k, x in enumerate(rows)]
        wrong = made(number, number - 1, np.full((1, DIM), np.nan), 1.0)
        twice = [(2, upload, up[2]), (2, upload, up[2]), (2, upload, up[3])]
        first = [(k, upload, up[k]) for k in range(COUNT - 1)]
        opening = [(0, open_round, Open(number - 1)), (1, open_round, Open())]
        send([*opening, *first, *twice, (6, upload, wrong)])
        send([(COUNT - 1, upload, up[-1])])  # now all have
        offers = one.offered()
        some = [(k, answer, Answer(number, attempt, True)) for k, (attempt, _) in offers.items()]
        db = {k: Delivery(number, rows[k].sum(axis=0)) for k in offers}
        send(
            [
                *some,
                *((k, delivery, db[k]) for k in list(offers)[:-1]),
                (0, open_round, Open(number - 1)),
            ]
        )
        send([(k, delivery, db[k]) for k in list(offers)[-1:]])
        assert one.coordinator.state(0).epoch == number


def test_a_batch_is_the_same_as_one_by_one(tmp_path: Path) -> None:
    single, many = federation(tmp_path / "1.db"), federation(tmp_path / "n.db")
    played(single, itertools.repeat(1))
    played(many, sizes(np.random.default_rng(1)))
    alike, other = kept(single.store), kept(many.store)
    random = {"clients", "entries"}  # tokens, and the chain over them
    assert {name: rows for name, rows in alike.items() if name not in random} == {
        name: rows for name, rows in other.items() if name not in random
    }
    assert single.events == many.events
    assert len(single.of("closed")) == ROUNDS
    for one in (single, many):
        with one.store.read() as connection:
            assert audit(connection).findings == []
        one.store.close()


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    one = federation(tmp_path / "l.db")
    one.coordinator.open_round(0)
    one.clock.now += 1.0
    before = kept(one.store)
    nan = made(1, 0, np.full((1, DIM), np.nan), 1.0)
    late = made(2, 0, np.ones((1, DIM)), 1.0)
    batch: list[SentMessage] = [
        (1, upload, nan),
        (2, upload, late),
        (3, answer, Answer(1, 1, True)),
        (4, open_round, Open(9)),
    ]
    assert all(isinstance(told, Refusal) for told in one.coordinator.handle(batch))
    assert kept(one.store) == before
    good = made(1, 0, np.ones((1, DIM)), 1.0)
    told = one.coordinator.handle([*batch, (5, upload, good)])
    assert [isinstance(one, Refusal) for one in told] == [True] * 4 + [False]
    assert [row for row in kept(one.store)["uploads"] if row not in before["uploads"]] != []
    one.store.close()


# ------------------------------------------------------------------------- waiting for the same


def test_who_comes_meanwhile_is_the_next_batch() -> None:
    batches: list[list[int]] = []
    begun, go = threading.Event(), threading.Event()

    def work(batch: list[int]) -> list[int | Exception]:
        batches.append(batch)
        begun.set()
        assert go.wait(60)
        return [ValueError("odd") if n % 2 else 10 * n for n in batch]

    async def run() -> list[Any]:
        ask = Batcher[int, int](work)
        first = asyncio.create_task(ask(0))
        await asyncio.to_thread(begun.wait, 60)
        others = [asyncio.create_task(ask(n)) for n in (1, 2, 3)]
        await asyncio.sleep(0)
        others[2].cancel()  # whoever goes away keeps nobody else from an answer
        go.set()
        told = await asyncio.gather(first, *others, return_exceptions=True)
        return [*told, await ask(4)]

    told = asyncio.run(run())
    assert batches == [[0], [1, 2, 3], [4]]
    assert [told[0], told[2], told[4]] == [0, 20, 40]
    assert isinstance(told[1], ValueError)
    assert isinstance(told[3], asyncio.CancelledError)


def test_one_that_breaks_the_work_breaks_no_other() -> None:
    batches: list[list[int]] = []

    def work(batch: list[int]) -> list[int]:
        batches.append(batch)
        return [100 // n for n in batch]

    async def run() -> list[Any]:
        ask = Batcher[int, int](work)
        return await asyncio.gather(*map(ask, (5, 0, 2)), return_exceptions=True)

    told = asyncio.run(run())
    assert (told[0], told[2]) == (20, 50)
    assert isinstance(told[1], ZeroDivisionError)
    assert batches == [[5, 0, 2], [5], [0], [2]]


def test_nobody_is_left_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_threads(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    async def run() -> list[Any]:
        ask = Batcher[int, int](lambda batch: list(batch))
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "to_thread", no_threads)
            first = await asyncio.gather(ask(1), ask(2), return_exceptions=True)
        return [*first, await ask(3)]

    told = asyncio.run(run())
    assert [type(one) for one in told] == [RuntimeError, RuntimeError, int]


def test_an_error_that_spares_nobody_is_met_once() -> None:
    batches: list[list[int]] = []

    def work(batch: list[int]) -> list[int]:
        batches.append(batch)
        raise OSError("gone")

    async def run() -> list[Any]:
        ask = Batcher[int, int](work, OSError)
        return await asyncio.gather(*map(ask, (1, 2, 3)), return_exceptions=True)

    assert [type(told) for told in asyncio.run(run())] == [OSError] * 3
    assert batches == [[1, 2, 3]]


@pytest.mark.parametrize("fatal", [False, True])
def test_an_error_undoes_the_whole_lot(tmp_path: Path, fatal: bool) -> None:
    one = federation(tmp_path / "l.db")
    one.coordinator.open_round(0)
    before = kept(one.store)

    def breaks(running: object, client: int, message: None) -> None:
        if fatal:
            raise RuntimeError("not a refusal")

    good = made(1, 0, np.ones((1, DIM)), 1.0)
    if fatal:
        with pytest.raises(RuntimeError):
            one.coordinator.handle([(1, upload, good), (2, breaks, None)])
        assert kept(one.store) == before
    else:
        one.coordinator.handle([(1, upload, good), (2, breaks, None)])
        assert kept(one.store) != before
    one.store.close()


def test_statements_of_a_round_do_not_grow_with_its_clients(tmp_path: Path) -> None:
    one = federation(
        tmp_path / "l.db", mechanism=incfed.PayEveryone(), limits=safe_limits(None),
        threshold=1e-9, round_interval=0.0,
    )  # fmt: skip
    executed: list[str] = []
    chance = np.random.default_rng(5)

    @event.listens_for(one.store.engine, "before_cursor_execute")
    def note(*said: Any) -> None:
        executed.append(f"{'many ' if said[-1] else ''}{said[2]}")

    def statements(count: int) -> int:
        """Of a round in which so many are live, and all send each message together."""
        one.wait(one.settings.live_time + 1.0)
        here, everybody = one.coordinator, range(count)
        x = chance.standard_normal((count, 2 * DIM, DIM))  # the same again would be resale
        here.all_states(everybody)
        here.handle([(0, open_round, Open())])
        state = here.state(0)
        assert state.round is not None
        number, epoch = state.round.number, state.epoch
        executed.clear()
        sent = [made(number, epoch, x[k], 1.0) for k in everybody]
        here.handle([(k, upload, sent[k]) for k in everybody])
        here.all_states(everybody)
        here.handle([(k, answer, Answer(number, 1, True)) for k in everybody])
        here.handle([(k, delivery, Delivery(number, x[k].sum(axis=0))) for k in everybody])
        assert len(one.of("closed")[-1]["payments"]) == count
        named = [(number, one.dV.digest()) for one in sent]
        news = here.downloads(
            [Wanted(k, epoch, True, True, (number,), named[k]) for k in everybody]
        )
        assert all(isinstance(one, Download) and one.epoch == epoch + 1 for one in news)
        assert not [text for text in executed if text.startswith("many UPDATE")]
        return len(executed)

    first, *others = [statements(count) for count in (3, COUNT, 3)]
    assert others == [first, first]
    assert first <= MOST_STATEMENTS
    one.store.close()


def test_when_clients_last_shared_is_read_from_an_index_alone(tmp_path: Path) -> None:
    """It is asked at every upload, with the lock held: payments themselves are not read."""
    seven = federation(tmp_path / "l.db")
    asked: list[tuple[str, Any]] = []
    event.listen(seven.store.engine, "before_cursor_execute", lambda *a: asked.append((a[2], a[3])))
    with seven.store.read() as connection:
        for query in (LAST_SHARED, STREAMS):
            asked.clear()
            connection.execute(query, {"clients": [0, 1]}).all()
            text, values = asked[-1]
            plan = [row.detail for row in connection.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {text}", values
            )]  # fmt: skip
            paid = [one for one in plan if "payments" in one]
            assert paid
            assert all("USING COVERING INDEX payments_of_client" in one for one in paid), plan
    seven.store.close()
