"""Clients: each has a name, a token of which only the hash is kept, and the public key by which its
signatures are known."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from .. import errors
from .chain import append, said_by
from .tables import clients, presence, signals, starts

ALL = (
    select(clients, presence.c.heard.label("last_seen"), starts.c.number, starts.c.nonce)
    .outerjoin(presence)
    .outerjoin(starts, starts.c.client == clients.c.id)
)
BY_TOKEN = ALL.where(clients.c.token.in_(bindparam("tokens", expanding=True)))
PREFIX = "incfed_"  # by which scanners recognise a leaked token


class EnrolledClient(NamedTuple):
    """A client as the ledger knows it."""

    id: int
    name: str
    revoked: bool
    last_seen: float | None
    start: str | None = None  # its last one: a number and a random part, "7-0f3a9c1e"
    key: str | None = None
    barred_until: float | None = None


def is_barred(until: float | None, opened: float, barred_time: float) -> bool:
    """Is a client left out of a round that opened then? That is decided once for a round. If a bar
    ends later than it could have been meant to, the clock was set back since."""
    left = 0.0 if until is None else until - opened
    return 0.0 < left <= barred_time + 1.0  # rounding


def hashed(token: str) -> str:
    """The hash of a token. Tokens are long and random, so a plain hash is safe."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def enrol(connection: Connection, name: str, at: float) -> tuple[int, str]:
    """Enrol a new client. Returns its id and its token, which is not kept."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w.@-][\w.@ -]{0,79}", name):
        raise errors.refuse("name", name, "1 to 80 letters, digits, blanks and . _ - @")
    if connection.scalar(select(clients.c.id).where(clients.c.name == name)) is not None:
        raise errors.refuse("name", name, "a name that no client has had yet")
    count = connection.scalar(select(func.count()).select_from(clients)) or 0
    token = PREFIX + secrets.token_urlsafe(32)
    row = {"id": count, "name": name, "token": hashed(token), "revoked": False, "enrolled": at}
    connection.execute(insert(clients).values(row))
    connection.execute(insert(presence).values(client=count, heard=None))
    append(connection, "enrolled", at, client=count, name=name, token=hashed(hashed(token)))
    return count, token


def revoke(
    connection: Connection, who: int | str, at: float, by: str | None = None
) -> EnrolledClient:
    """Revoke a client's token, in the name of an operator. Its name and its payments stay on
    record."""
    found = find(connection, who)
    if not found.revoked:
        chosen = update(clients).where(clients.c.id == found.id)
        connection.execute(chosen.values(revoked=True))
        append(connection, "revoked", at, client=found.id, **said_by(by))
    return found


def set_key(connection: Connection, client: int, key: str | None) -> None:
    """Register a public key; None: take it back. The caller writes the entry. What the client
    streamed bears no signature, or that of another key: it has to say it again."""
    connection.execute(delete(signals).where(signals.c.client == client))
    connection.execute(update(clients).where(clients.c.id == client).values(key=key))


def reset_key(connection: Connection, who: str, at: float) -> EnrolledClient:
    """Forget the key of a client that has lost it: the next one that it sends is registered."""
    found = find(connection, who)
    if found.key is None:
        raise errors.refuse("client", who, "one that has registered a key")
    set_key(connection, found.id, None)
    append(connection, "key", at, client=found.id, key=None)
    return found


def find(connection: Connection, who: int | str) -> EnrolledClient:
    """The client with this id; from a text, with this id or this name."""
    known = isinstance(who, int) or re.fullmatch("[0-9]{1,9}", who)
    same = clients.c.id == (int(who) if known else -1)
    same = same if isinstance(who, int) else same | (clients.c.name == who)
    found = connection.execute(ALL.where(same).order_by(clients.c.id)).all()
    if not found:
        raise errors.refuse("client", who, "the id or name of a client: see incfed client list")
    if len(found) > 1:
        [by_id] = [row for row in found if row.id == int(who)]
        [by_name] = [row for row in found if row.name == who]
        allowed = (
            f"one client: it is the id of {by_id.name!r}, and the name of client {by_name.id}. "
        )
        allowed += f"Write {by_id.name!r} or {by_name.id}"
        raise errors.refuse("client", who, allowed)
    return _member(found[0])


def members(connection: Connection) -> list[EnrolledClient]:
    """All clients, by id."""
    return [_member(row) for row in connection.execute(ALL.order_by(clients.c.id))]


def find_by_token(connection: Connection, tokens: Sequence[str]) -> list[EnrolledClient | None]:
    """The clients with these tokens; None for a token that is unknown or revoked."""
    asked = [hashed(token) for token in tokens]
    found = connection.execute(BY_TOKEN, {"tokens": sorted(set(asked))})
    known = {row.token: _member(row) for row in found if not row.revoked}
    return [known.get(token) for token in asked]


def _member(row: Any) -> EnrolledClient:
    start = None if row.number is None else f"{row.number}-{row.nonce}"
    return EnrolledClient(
        row.id, row.name, row.revoked, row.last_seen, start, row.key, row.barred_until
    )
