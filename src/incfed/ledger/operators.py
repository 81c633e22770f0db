"""Operators: people who may look at a federation (viewers), or change it too. Of a token only the
hash is kept; what an operator changes stands in the ledger with the operator's name."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from .. import errors
from ..values import Word
from .chain import append
from .clients import hashed
from .tables import operators, session_key

ROLES = VIEWER, OPERATOR = "viewer", "operator"
PREFIX = "incfed_op_"  # by which scanners recognise a leaked token


@dataclass(frozen=True)
class Operator:
    name: str
    role: str
    revoked: bool = False

    @property
    def may_change(self) -> bool:
        return self.role == OPERATOR


def add(connection: Connection, name: str, role: str, at: float) -> str:
    """Add an operator. Returns the token, which is not kept."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w.@-][\w.@ -]{0,79}", name):
        raise errors.refuse("name", name, "1 to 80 letters, digits, blanks and . _ - @")
    Word(ROLES).of("role", role)
    if connection.scalar(select(operators.c.name).where(operators.c.name == name)) is not None:
        raise errors.refuse("name", name, "a name that no operator has had yet")
    token = PREFIX + secrets.token_urlsafe(32)
    row = {"name": name, "token": hashed(token), "role": role, "revoked": False}
    connection.execute(insert(operators).values(row))
    append(connection, "operator", at, **row | {"token": hashed(hashed(token))})
    return token


def revoke(connection: Connection, name: str, at: float) -> None:
    """Sessions that are open end with it. What the operator did stays on record."""
    chosen = operators.c.name == name
    found = connection.execute(select(operators).where(chosen)).first()
    if found is None:
        raise errors.refuse("name", name, "that of an operator: see incfed operator list")
    if not found.revoked:
        connection.execute(update(operators).where(chosen).values(revoked=True))
        row = {"name": name, "role": found.role, "revoked": True}
        append(connection, "operator", at, token=hashed(found.token), **row)


def everyone(connection: Connection) -> list[Operator]:
    rows = connection.execute(select(operators).order_by(operators.c.name))
    return [Operator(row.name, row.role, row.revoked) for row in rows]


def find(
    connection: Connection, *, name: str | None = None, token: str | None = None
) -> Operator | None:
    """The operator with this name, or with this token; None if there is none, or it was revoked."""
    same = operators.c.token == hashed(token) if token is not None else operators.c.name == name
    row = connection.execute(select(operators).where(same, operators.c.revoked.is_(False))).first()
    return None if row is None else Operator(row.name, row.role)


def key_of_sessions(connection: Connection) -> bytes:
    """The key that all coordinators of the federation sign sessions with. Made on first use, in a
    transaction that holds the lock."""
    found = connection.scalar(select(session_key.c.key))
    if found is None:
        found = secrets.token_bytes(32)
        connection.execute(insert(session_key).values(id=1, key=found))
    return bytes(found)
