"""Downloads one for one: joining, and each share, entitles a client to one download.

The epoch that a client was given is kept. Until it shares again it gets no later one; the same one
it gets as often as it asks, because a reply may be lost.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, delete, insert, select

from ...ledger import tables
from .batching import CLIENTS, LAST_SHARED

# Statements are built once: building one takes longer than running it.
_grants = tables.grants
GRANTED = select(_grants).where(_grants.c.client.in_(CLIENTS))
REVOKE = delete(_grants).where(_grants.c.client.in_(CLIENTS))


def allowed_epochs(
    connection: Connection, clients: Collection[int], current: int
) -> dict[int, int]:
    """The latest epoch that each client may have: the current one if it is entitled to a download,
    otherwise the one that it was given."""
    values = {"clients": sorted(set(clients))}
    shared = {row.client: row.epoch for row in connection.execute(LAST_SHARED, values)}
    given = {row.client: row.epoch for row in connection.execute(GRANTED, values)}
    return {
        client: given[client] if shared.get(client, 0) <= given.get(client, -1) else current
        for client in values["clients"]
    }


def grant(connection: Connection, epochs: dict[int, int]) -> None:
    """These clients are given these epochs."""
    if epochs:
        connection.execute(REVOKE, {"clients": sorted(epochs)})
        rows = [{"client": client, "epoch": epochs[client]} for client in sorted(epochs)]
        connection.execute(insert(_grants), rows)
