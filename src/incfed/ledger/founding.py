"""The beginning of a federation, and new settings for one that runs."""

from __future__ import annotations

import secrets
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection, insert, select, update

from ..support.inputs import refuse
from . import tables
from .chain import append, canonical, digest
from .records import pack_epoch, read_settings
from .settings import Settings

FIXED = ("name", "dim", "ridge")  # all that is shared already depends on them


def found(connection: Connection, settings: Settings, at: float) -> None:
    """Make the federation, or put `settings` in force if they differ from those that are."""
    begin(connection, settings, at)
    row = connection.execute(select(tables.federation)).one()
    present = read_settings(connection, row.settings)
    settings = replace(settings, identity=present.identity)
    if present == settings:
        return
    settings.check(present)
    _write(connection, settings, row.settings + 1, at)
    connection.execute(
        update(tables.federation).values(settings=row.settings + 1, version=row.version + 1)
    )


def begin(connection: Connection, settings: Settings, at: float) -> None:
    """Make the federation if there is none; one that differs in what is fixed is refused. Its
    identity is a new one, whatever its name: what clients keep of another federation must not be
    taken for this one's."""
    row = connection.execute(select(tables.federation)).first()
    if row is not None:
        _same(settings, read_settings(connection, row.settings))
        return
    settings.check()
    identity = f"{settings.name}-{secrets.token_hex(4)}"
    settings = replace(settings, identity=identity)
    V, b = pack_epoch(np.zeros((settings.dim, settings.dim)), np.zeros(settings.dim))
    connection.execute(
        insert(tables.federation).values(
            id=1, name=identity, settings=1, version=1, round=0, epoch=0, spent=0.0
        )
    )
    connection.execute(insert(tables.epochs).values(number=0, round=0, V=V, b=b))
    append(connection, "founded", at, name=identity, V=digest(V), b=digest(b))
    _write(connection, settings, 1, at)


def _same(settings: Settings, present: Settings) -> None:
    for name in FIXED:
        if getattr(settings, name) != getattr(present, name):
            allowed = f"{getattr(present, name)!r}, as in the database: start a new one for another"
            raise refuse(name, getattr(settings, name), allowed)


def _write(connection: Connection, settings: Settings, number: int, at: float) -> None:
    body = settings.body()
    connection.execute(insert(tables.settings).values(number=number, body=canonical(body)))
    append(connection, "settings", at, settings=number, body=body)
