"""Creating a federation, putting new settings in force, and pruning old uploads."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from ..errors import InputError, refuse
from ..rules.limits import SMALL, Limits
from ..rules.plugins import HASH, MissingCode
from ..support.inputs import counted
from . import tables
from .chain import append, canonical, digest, said_by
from .clients import members
from .records import RUNNING, pack_epoch, read_body, read_settings
from .settings import Settings
from .sketches import add_sketches

FIXED = ("name", "dim", "ridge", "money_digits")  # what was shared and paid depends on them


def apply_settings(connection: Connection, settings: Settings, at: float) -> None:
    """Put `settings` in force if others are; create the federation if there is none."""
    create(connection, settings, at)
    row = connection.execute(select(tables.federation)).one()
    present = read_body(connection, row.settings)
    settings = replace(settings, identity=present["identity"])
    if not _in_force(connection, _configured(connection), settings):
        settings.check()
        _put_in_force(connection, settings, at)
    running = connection.execute(
        select(tables.rounds.c.settings).where(tables.rounds.c.stage.in_(RUNNING))
    ).first()
    if running is not None:  # it ends with the settings that it began with: is their code loaded?
        read_settings(connection, running.settings)


def change_settings(
    connection: Connection, changes: Mapping[str, Any], by: str, at: float
) -> Settings:
    """Change some settings in force, in the name of an operator. They stay until the config says
    something new."""
    number = connection.scalar(select(tables.federation.c.settings)) or 0
    present = read_body(connection, number)
    settings = replace(read_settings(connection, number), **changes)
    settings.check()
    if settings.body() == present:
        raise InputError("nothing would change: these settings are in force")
    _put_in_force(connection, settings, at, by)
    return settings


def settings_in_force(connection: Connection) -> tuple[Settings, bool]:
    """The settings, and whether rounds are paused."""
    row = connection.execute(select(tables.federation)).one()
    return read_settings(connection, row.settings), bool(row.paused)


def too_small(connection: Connection) -> str | None:
    """A warning, if the limits that hide single steps do not apply to so few members."""
    number = connection.scalar(select(tables.federation.c.settings)) or 0
    limits = Limits(**read_body(connection, number)["limits"])
    count = sum(not member.revoked for member in members(connection))
    if max(limits.least_sharers, limits.least_steps) == 1 or count > SMALL:
        return None
    return (
        f"the federation has {counted(count, 'member')}: limits.least_sharers and least_steps "
        "apply from three on. With fewer, each can tell what the other shared"
    )


def set_paused(connection: Connection, paused: bool, by: str, at: float) -> None:
    """No new round is opened while the federation is paused; one in progress goes on."""
    row = connection.execute(select(tables.federation)).one()
    if row.paused == paused:
        raise InputError("rounds are paused already" if paused else "rounds are not paused")
    values = {"paused": paused, "version": row.version + 1}
    connection.execute(update(tables.federation).values(values))
    append(connection, "paused" if paused else "resumed", at, by=by)


def _configured(connection: Connection) -> int:
    """The number of the last settings that a config gave: an operator may have changed some."""
    settings = tables.settings.c
    query = select(func.max(settings.number)).where(settings.by.is_(None))
    return connection.scalar(query) or 0


def _put_in_force(
    connection: Connection, settings: Settings, at: float, by: str | None = None
) -> None:
    row = connection.execute(select(tables.federation)).one()
    number, present = row.settings + 1, read_body(connection, row.settings)
    _write(connection, settings, number, at, by)
    if settings.download != present["download"]:
        connection.execute(delete(tables.grants))  # as if all had just joined
    # What clients said between rounds fitted the settings before: they say it again. What was taken
    # of it for a round in progress stays taken.
    nothing = {"learned": 0, "steps": 0, "numbers": None, "signature": None}
    connection.execute(update(tables.signals).values(nothing))
    connection.execute(update(tables.federation).values(settings=number, version=row.version + 1))


def create(connection: Connection, settings: Settings, at: float) -> None:
    """Create the federation if there is none; refuse settings that differ in what is fixed.

    Its identity is new even if its name is not: the state of clients of another federation must not
    be mistaken for this one's.
    """
    row = connection.execute(select(tables.federation)).first()
    if row is not None:
        present = read_body(connection, row.settings)
        _same(settings, present)
        _same_code(settings, connection)
        return
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
            reserved_units=0,
            posted_units=0,
            paused=False,
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


def _same_code(settings: Settings, connection: Connection) -> None:
    """Refuse a mechanism's file that has changed since any of the settings recorded it."""
    mechanism = settings.mechanism.settings()
    settings_of = tables.settings.c
    rows = select(settings_of.number, settings_of.body).order_by(settings_of.number)
    for number, body in connection.execute(rows):
        recorded = json.loads(body)["mechanism"]
        if recorded["kind"] == mechanism["kind"] and recorded.get(HASH) != mechanism.get(HASH):
            raise InputError(
                f"mechanism: {mechanism['kind']} has changed: its SHA-256 is {mechanism[HASH]}, "
                f"and settings {number} of this federation recorded {recorded.get(HASH)}. Put the "
                "file back as it was, or give the new code a file name of its own"
            )


def _write(
    connection: Connection, settings: Settings, number: int, at: float, by: str | None = None
) -> None:
    body = settings.body()
    connection.execute(insert(tables.settings).values(number=number, body=canonical(body), by=by))
    append(connection, "settings", at, settings=number, body=body, **said_by(by))
