"""What some clients have in a round: read together when first needed, written together later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from sqlalchemy import BindParameter, Connection, Table, bindparam, func, insert, select, update

from ...ledger import tables
from ...ledger.records import read_own

NUMBER: BindParameter[int] = bindparam("number")
CLIENTS: BindParameter[list[int]] = bindparam("clients", expanding=True)
OWN = {
    table: select(table).where(table.c.round == NUMBER, table.c.client.in_(CLIENTS))
    for table in (tables.uploads, tables.offers, tables.deliveries)
}
LAST_SHARED = (
    select(tables.payments.c.client, func.max(tables.payments.c.epoch).label("epoch"))
    .where(tables.payments.c.client.in_(CLIENTS))
    .group_by(tables.payments.c.client)
)
FIRST_EPOCH = select(func.min(tables.epochs.c.number)).where(tables.epochs.c.V.is_not(None))
ACCEPT = (
    update(tables.offers)
    .where(
        tables.offers.c.round == bindparam("of_round"),
        tables.offers.c.client == bindparam("of_client"),
    )
    .values(accepted=bindparam("accepted"))
)


class Lot:
    def __init__(self, connection: Connection, round: int, clients: Iterable[int]) -> None:
        self.clients = sorted(set(clients))
        self._connection, self._round = connection, round
        self._rows: dict[Table, dict[int, SimpleNamespace]] = {}
        self._shared: dict[int, int] | None = None
        self._first: int | None = None
        self._new: defaultdict[Table, list[dict[str, Any]]] = defaultdict(list)
        self._answers: list[dict[str, Any]] = []

    def find(self, table: Table, round: int, client: int) -> Any:
        """This client's row; None: there is none. Of another round, it is looked up by itself."""
        if round != self._round:
            return read_own(self._connection, table, round, client)
        return self._read(table).get(client)

    def last_shared(self, client: int) -> int:
        """The last epoch that it had a part in; 0: none."""
        if self._shared is None:
            rows = self._connection.execute(LAST_SHARED, {"clients": self.clients})
            self._shared = {row.client: row.epoch for row in rows}
        return self._shared.get(client, 0)

    def first_epoch(self) -> int:
        """The oldest one that was not pruned."""
        if self._first is None:
            self._first = self._connection.scalar(FIRST_EPOCH) or 0
        return self._first

    def add(self, table: Table, **row: Any) -> None:
        """A new row of this round."""
        self._read(table)[row["client"]] = SimpleNamespace(**row)
        self._new[table].append(row)

    def accept(self, offer: Any, accepted: bool) -> None:
        offer.accepted = accepted
        which = {"of_round": offer.round, "of_client": offer.client}
        self._answers.append({**which, "accepted": accepted})

    def write(self) -> None:
        for table, rows in self._new.items():
            self._connection.execute(insert(table), rows)
        if self._answers:
            self._connection.execute(ACCEPT, self._answers)
        self._new.clear()
        self._answers = []

    def _read(self, table: Table) -> dict[int, SimpleNamespace]:
        if table not in self._rows:
            asked = {"number": self._round, "clients": self.clients}
            rows = self._connection.execute(OWN[table], asked).mappings()
            self._rows[table] = {row["client"]: SimpleNamespace(**row) for row in rows}
        return self._rows[table]
