"""Rows of the database as objects of the protocol, for the coordinator and for the audit."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, bindparam, func, select
from sqlalchemy import Table as SqlTable

from ..kernels.trust import SCORES
from ..protocol.floats import from_bytes as from_bytes
from ..protocol.floats import to_bytes as to_bytes
from ..protocol.global_statistics import GlobalStatistics
from ..protocol.messages import Upload
from ..protocol.money import from_units, to_units
from ..protocol.open_round import OpenRound, Server, Uploads
from ..protocol.packing import TRIANGLE, Packed, pack_matrix
from ..rules.learning import AUTO
from ..rules.limits import NO_PAST, Past
from ..types import Floats
from . import tables
from .chain import START, digest
from .settings import Settings

OPEN, OFFERED, CLOSED, VOID = "open", "offered", "closed", "void"
RUNNING = (OPEN, OFFERED)


class Pruned(LookupError):
    """Statistics that were deleted."""


# Asked in every transaction, so built once: building a query takes longer than the answer.
_BODY = select(tables.settings.c.body).where(tables.settings.c.number == bindparam("number"))


def read_settings(connection: Connection, number: int) -> Settings:
    """The settings with this number; MissingCode if their mechanism's code is not loaded."""
    return _parse(connection.scalar(_BODY, {"number": number}) or "{}")


def read_body(connection: Connection, number: int) -> dict[str, Any]:
    """The settings with this number as they are recorded; the mechanism's code is not needed."""
    body: dict[str, Any] = json.loads(connection.scalar(_BODY, {"number": number}) or "{}")
    return body


@lru_cache(maxsize=16)
def _parse(body: str) -> Settings:
    return Settings.of(json.loads(body))


def read_upload(row: Any, settings: Settings) -> Upload:
    """From a row of `uploads`."""
    cost = from_units(row.cost_units, settings.money_digits)
    return Upload(row.round, row.epoch, row.steps, cost, read_matrix(row, settings.dim))


def read_matrix(row: Any, dim: int) -> Packed:
    """dV of a row of `uploads`."""
    if row.numbers is None:
        raise Pruned(f"the upload of client {row.client} in round {row.round}")
    return Packed(row.form, dim, from_bytes(row.numbers))


def upload_row(client: int, upload: Upload, settings: Settings) -> dict[str, Any]:
    """A row of `uploads`."""
    return {
        "round": upload.round,
        "client": client,
        "epoch": upload.epoch,
        "steps": upload.steps,
        "cost_units": to_units(upload.cost, settings.money_digits),
        "form": upload.dV.form,
        "numbers": to_bytes(upload.dV.numbers),
    }


def upload_entry(row: dict[str, Any], digits: int) -> dict[str, Any]:
    """The fields of the entry that records a row of `uploads`."""
    entry = {name: value for name, value in row.items() if name != "cost_units"}
    money = {"cost": row["cost_units"], "money_digits": digits}
    return {**entry, **money, "numbers": digest(row["numbers"])}


def read_own(connection: Connection, table: SqlTable, round: int, client: int) -> Any:
    """A client's row of a round, if there is one."""
    return connection.execute(_own(table), {"round": round, "client": client}).first()


@lru_cache(maxsize=16)
def _own(table: SqlTable) -> Select[Any]:
    where = table.c.round == bindparam("round"), table.c.client == bindparam("client")
    return select(table).where(*where)


def read_uploads(connection: Connection, round: int, settings: Settings) -> dict[int, Upload]:
    """The uploads of a round, by client."""
    table = tables.uploads
    rows = select(table).where(table.c.round == round).order_by(table.c.client)
    return {row.client: read_upload(row, settings) for row in connection.execute(rows)}


def read_deliveries(connection: Connection, round: int) -> dict[int, Floats]:
    """The delivered db of a round, by client."""
    table = tables.deliveries
    found = {}
    for row in connection.execute(
        select(table).where(table.c.round == round).order_by(table.c.client)
    ):
        if row.db is None:
            raise Pruned(f"the delivery of client {row.client} in round {round}")
        found[row.client] = from_bytes(row.db)
    return found


def read_epoch(connection: Connection, epoch: int, dim: int) -> tuple[Floats, Floats]:
    """(V_g, b_g) of an epoch."""
    table = tables.epochs
    row = connection.execute(select(table).where(table.c.number == epoch)).first()
    if row is None or row.V is None:
        raise Pruned(f"epoch {epoch}")
    return Packed(TRIANGLE, dim, from_bytes(row.V)).matrix(), from_bytes(row.b)


def read_triangle(V: bytes) -> Packed:
    """V_g of a row of `epochs`."""
    numbers = from_bytes(V)
    return Packed(TRIANGLE, (math.isqrt(8 * len(numbers) + 1) - 1) // 2, numbers)


def read_pooled_scores(connection: Connection, epoch: int) -> Floats:
    """Trust "auto": the sum of the scores over all that is shared in an epoch."""
    table = tables.pooled_scores
    query = select(table.c.numbers).where(table.c.epoch <= epoch)
    found = connection.scalar(query.order_by(table.c.epoch.desc()).limit(1))
    return np.zeros(SCORES) if found is None else from_bytes(found)


def pack_epoch(V: Floats, b: Floats) -> tuple[bytes, bytes]:
    return to_bytes(pack_matrix(V).numbers), to_bytes(b)


def _withdrawals(connection: Connection, epoch: int) -> int:
    """How many epochs up to this one were made by a withdrawal."""
    query = select(func.count()).where(tables.withdrawals.c.epoch <= epoch)
    return connection.scalar(query) or 0


class Epochs:
    """The statistics of epochs, each read once."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection, self._settings = connection, settings
        self._known: dict[int, GlobalStatistics] = {}

    def __call__(self, number: int) -> GlobalStatistics:
        if number not in self._known:
            kept = read_epoch(self._connection, number, self._settings.dim)
            self._known[number] = GlobalStatistics.of(*kept, self._settings.ridge)
        return self._known[number]


def read_round(
    connection: Connection,
    settings: Settings,
    *,
    round: int,
    epoch: int,
    trigger: int,
    spent: float,
    out: Collection[int],
    past: Mapping[int, Past] = NO_PAST,
    members: int = 0,
    last: str = START,
) -> OpenRound:
    """All that a decision depends on. `out`: clients that are excluded (barred, or failed); `past`
    and `members`, of the whole federation, are for limits; `last`, the hash of the entry before the
    decision, for mechanisms that draw lots."""
    sent = read_uploads(connection, round, settings)
    return open_round(
        connection, settings, sent, epoch=epoch, trigger=trigger, spent=spent, out=out, past=past,
        members=members, last=last,
    )  # fmt: skip


def open_round(
    connection: Connection,
    settings: Settings,
    sent: Mapping[int, Upload],
    *,
    epoch: int,
    trigger: int,
    spent: float,
    out: Collection[int],
    past: Mapping[int, Past],
    members: int,
    last: str = START,
) -> OpenRound:
    """The round of these uploads."""
    shared = Epochs(connection, settings)
    server = Server(
        rules=settings,
        ridge=settings.ridge,
        members=members,
        shared=shared(epoch),
        rounds=epoch - _withdrawals(connection, epoch),  # every closed round makes an epoch
        spent=spent,
        past=past,
        scores=SCORES if settings.trust == AUTO else 0,
        seed=int(digest(settings.identity + last), 16),
    )
    judged = {client: upload for client, upload in sent.items() if client not in out}
    uploads = Uploads.of(judged, shared, epoch, settings.ridge)
    return OpenRound(server, uploads, trigger=trigger, count=len(judged), called=len(sent))
