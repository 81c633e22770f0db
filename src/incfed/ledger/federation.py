"""Creating a federation, putting new settings in force, and pruning old uploads."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from ..mechanisms.registry import HASH, MissingCode
from ..protocol.protocols import EVERYONE
from ..support.inputs import InputError, refuse
from . import tables
from .chain import append, canonical, digest
from .records import RUNNING, pack_epoch, read_body, read_settings
from .settings import Settings
from .sketches import add_sketches

FIXED = ("name", "dim", "ridge")  # what was shared depends on them


def apply_settings(connection: Connection, settings: Settings, at: float) -> None:
    """Put `settings` in force if others are; create the federation if there is none."""
    create(connection, settings, at)
    row = connection.execute(select(tables.federation)).one()
    present = read_body(connection, row.settings)
    settings = settings.completed(present)
    settings = replace(settings, identity=present.get("identity", ""))
    if not _in_force(connection, row.settings, settings):
        settings.check(present)
        _write(connection, settings, row.settings + 1, at)
        if settings.download != present.get("download", EVERYONE):
            connection.execute(delete(tables.grants))  # as if all had just joined
        connection.execute(
            update(tables.federation).values(settings=row.settings + 1, version=row.version + 1)
        )
    running = connection.execute(
        select(tables.rounds.c.settings).where(tables.rounds.c.stage.in_(RUNNING))
    ).first()
    if running is not None:  # it ends with the settings that it began with: is their code loaded?
        read_settings(connection, running.settings)


def create(connection: Connection, settings: Settings, at: float) -> None:
    """Create the federation if there is none; refuse settings that differ in what is fixed.

    Its identity is new even if its name is not: the state of clients of another federation must not
    be mistaken for this one's.
    """
    row = connection.execute(select(tables.federation)).first()
    if row is not None:
        present = read_body(connection, row.settings)
        _same(settings.completed(present), present)
        _same_code(settings, connection)
        return
    settings = settings.completed(None)
    settings.check()
    identity = f"{settings.name}-{secrets.token_hex(4)}"
    settings = replace(settings, identity=identity)
    V, b = pack_epoch(np.zeros((settings.dim, settings.dim)), np.zeros(settings.dim))
    connection.execute(
        insert(tables.federation).values(
            id=1,
            name=identity,
            settings=1,
            version=1,
            round=0,
            epoch=0,
            spent=0.0,
            reserved_units=0,
            posted_units=0,
        )
    )
    connection.execute(insert(tables.epochs).values(number=0, round=0, V=V, b=b))
    append(connection, "founded", at, name=identity, V=digest(V), b=digest(b))
    _write(connection, settings, 1, at)


class Pruning(NamedTuple):
    """Uploads and deliveries up to this round are deleted, and V_g, b_g before this epoch."""

    round: int
    epoch: int


def prune(connection: Connection, before: float, at: float) -> Pruning:
    """Delete what clients sent in rounds that ended before that moment.

    Epochs are kept if a kept round needs them, or a client that lags as far as allowed, or one that
    has it because it does not share (downloads one for one).
    """
    federation = connection.execute(select(tables.federation)).one()
    rounds, epochs = tables.rounds.c, tables.epochs.c
    kept = connection.scalar(  # the first round that is not old
        select(func.min(rounds.number)).where(rounds.stage.in_(RUNNING) | (rounds.ended >= before))
    )
    last = federation.round if kept is None else kept - 1
    needed = federation.epoch
    if kept is not None:
        needed = connection.scalar(select(rounds.epoch).where(rounds.number == kept)) or 0
    used = set() if kept is None else set(
        connection.scalars(select(rounds.settings).where(rounds.number >= kept))
    )  # fmt: skip
    lags = [read_body(connection, number)["lag"] for number in {federation.settings, *used}]
    first = max(0, needed - max(lags))
    old = (epochs.number < first) & epochs.number.not_in(select(tables.grants.c.epoch))
    done = connection.scalar(
        select(func.count()).select_from(tables.uploads).where(
            tables.uploads.c.round <= last, tables.uploads.c.numbers.is_not(None)
        )
    )  # fmt: skip
    add_sketches(connection)  # they stay
    if done or connection.scalar(
        select(epochs.number).where(old, epochs.V.is_not(None)).limit(1)
    ) is not None:  # fmt: skip
        uploads, deliveries = tables.uploads, tables.deliveries
        connection.execute(update(uploads).where(uploads.c.round <= last).values(numbers=None))
        connection.execute(update(deliveries).where(deliveries.c.round <= last).values(db=None))
        connection.execute(update(tables.epochs).where(old).values(V=None, b=None))
        connection.execute(delete(tables.scores).where(tables.scores.c.round <= last))
        append(connection, "pruned", at, round=last, epoch=first)
    return Pruning(last, first)


def _in_force(connection: Connection, number: int, settings: Settings) -> bool:
    try:
        return read_settings(connection, number).body() == settings.body()
    except MissingCode:  # another mechanism's
        return False


def _same(settings: Settings, present: Mapping[str, Any]) -> None:
    for name in FIXED:
        if getattr(settings, name) != present[name]:
            allowed = f"{present[name]!r}, as in the database: start a new one for another"
            raise refuse(name, getattr(settings, name), allowed)
    digits = present.get("money_digits")
    if digits is not None and settings.money_digits != digits:
        allowed = f"{digits}, as in the database: its payments are in these units"
        raise refuse("money_digits", settings.money_digits, allowed)


def _same_code(settings: Settings, connection: Connection) -> None:
    """Refuse a mechanism's file that has changed since any of the settings recorded it."""
    mechanism = settings.mechanism.settings()
    rows = select(tables.settings).order_by(tables.settings.c.number)
    for number, body in connection.execute(rows):
        recorded = json.loads(body)["mechanism"]
        if recorded["kind"] == mechanism["kind"] and recorded.get(HASH) != mechanism.get(HASH):
            raise InputError(
                f"mechanism: {mechanism['kind']} has changed: its SHA-256 is {mechanism[HASH]}, "
                f"and settings {number} of this federation recorded {recorded.get(HASH)}. Put the "
                "file back as it was, or give the new code a file name of its own"
            )


def _write(connection: Connection, settings: Settings, number: int, at: float) -> None:
    body = settings.body()
    connection.execute(insert(tables.settings).values(number=number, body=canonical(body)))
    append(connection, "settings", at, settings=number, body=body)
