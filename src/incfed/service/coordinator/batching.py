"""Batching: requests that arrive while the database is busy share the next transaction.

A `Batcher` collects requests: none waits for more to come, but those that arrive during the work
on one batch form the next. The busier the coordinator, the larger its batches. `BatchRows` reads
what a transaction needs about all clients of a batch at once, and writes it at once.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from sqlalchemy import BindParameter, Connection, Table, bindparam, func, insert, select, update

from ...ledger import tables

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    """Calls `work` in a thread, with one batch at a time.

    A result that is an exception is raised where its item was submitted. If `work` raises, the
    items are tried one by one, unless the error is a `shared_error`, which would hit each of them.
    """

    def __init__(
        self,
        work: Callable[[list[Item]], Sequence[Result | Exception]],
        shared_error: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> None:
        self._work = work
        self._shared_error = shared_error
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def __call__(self, item: Item) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            results: Sequence[Result | Exception]
            try:
                results = await asyncio.to_thread(self._results, [item for item, _ in batch])
            except Exception as error:  # no thread could be started: nobody is left waiting
                results = [error] * len(batch)
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():  # the request was cancelled
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)
        self._worker = None

    def _results(self, batch: list[Item]) -> Sequence[Result | Exception]:
        try:
            return self._work(batch)
        except Exception as error:
            if len(batch) == 1 or isinstance(error, self._shared_error):
                return [error] * len(batch)
            return [result for item in batch for result in self._results([item])]


# Statements are built once: building one takes longer than running it.
NUMBER: BindParameter[int] = bindparam("number")
CLIENTS: BindParameter[list[int]] = bindparam("clients", expanding=True)
OWN_ROWS = {
    table: select(table).where(table.c.round == NUMBER, table.c.client.in_(CLIENTS))
    for table in (tables.uploads, tables.offers, tables.deliveries, tables.scores)
}
_paid, _offers = tables.payments.c, tables.offers.c
LAST_SHARED = (
    select(_paid.client, func.max(_paid.epoch).label("epoch"))
    .where(_paid.client.in_(CLIENTS))
    .group_by(_paid.client)
)  # the index of these two columns answers it
ROUND_OF = select(tables.epochs.c.round).where(tables.epochs.c.number == NUMBER)
_clients, _conduct = tables.clients.c, tables.conduct.c
MEMBERS = (
    select(_clients.id, _clients.revoked, _clients.key, _conduct.silent)
    .outerjoin_from(tables.clients, tables.conduct)
    .where(_clients.id.in_(CLIENTS))
)
KEPT_EPOCHS = select(tables.epochs.c.number).where(tables.epochs.c.V.is_not(None))
FIRST_EPOCH = select(func.min(tables.epochs.c.number)).where(tables.epochs.c.V.is_not(None))
ACCEPT = (
    update(tables.offers)
    .where(_offers.round == NUMBER, _offers.client.in_(CLIENTS))
    .values(accepted=bindparam("accepted"))
)


class BatchRows:
    """The rows of rounds that belong to the clients of a batch: each table is read when first
    needed, and changes are kept until `write`."""

    def __init__(self, connection: Connection, clients: Iterable[int]) -> None:
        self.clients = sorted(set(clients))
        self._connection = connection
        self._rows: dict[tuple[Table, int], dict[int, SimpleNamespace]] = {}
        self._new: defaultdict[Table, list[dict[str, Any]]] = defaultdict(list)
        self._answers: defaultdict[tuple[int, bool], list[int]] = defaultdict(list)

    def find(self, table: Table, round: int, client: int) -> Any:
        """This client's row, or None."""
        return self._read(table, round).get(client)

    @cached_property
    def last_shared(self) -> dict[int, int]:
        """For each client that has contributed, the last epoch to which it did."""
        rows = self._connection.execute(LAST_SHARED, {"clients": self.clients})
        return {row.client: row.epoch for row in rows}

    def last_round(self, client: int) -> int:
        """The last round in which this client has contributed; 0: none."""
        epoch = self.last_shared.get(client, 0)
        return self._connection.scalar(ROUND_OF, {"number": epoch}) or 0

    @cached_property
    def members(self) -> dict[int, Any]:
        """Of each client: whether it is `revoked`, its `key`, and for how many rounds it was
        `silent`."""
        rows = self._connection.execute(MEMBERS, {"clients": self.clients})
        return {row.id: row for row in rows}

    @cached_property
    def keys(self) -> dict[int, str | None]:
        """The registered public keys."""
        return {client: one.key for client, one in self.members.items()}

    @cached_property
    def first_epoch(self) -> int:
        """The oldest epoch that was not pruned."""
        return self._connection.scalar(FIRST_EPOCH) or 0

    @cached_property
    def kept_epochs(self) -> set[int]:
        """The epochs that were not pruned."""
        return set(self._connection.scalars(KEPT_EPOCHS))

    def add(self, table: Table, **row: Any) -> None:
        self._read(table, row["round"])[row["client"]] = SimpleNamespace(**row)
        self._new[table].append(row)

    def accept(self, offer: Any, accepted: bool) -> None:
        offer.accepted = accepted
        self._answers[offer.round, accepted].append(offer.client)

    def write(self) -> None:
        for table, rows in self._new.items():
            self._connection.execute(insert(table), rows)
        for (round, accepted), clients in self._answers.items():
            values = {"number": round, "clients": clients, "accepted": accepted}
            self._connection.execute(ACCEPT, values)
        self._new.clear()
        self._answers.clear()

    def _read(self, table: Table, round: int) -> dict[int, SimpleNamespace]:
        if (table, round) not in self._rows:
            values = {"number": round, "clients": self.clients}
            rows = self._connection.execute(OWN_ROWS[table], values)
            self._rows[table, round] = {
                row.client: SimpleNamespace(**row._asdict()) for row in rows
            }
        return self._rows[table, round]
