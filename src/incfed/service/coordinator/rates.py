"""Rates: how many steps a client can have learned since it last shared.

What a client has not shared is younger than the round in which it last shared, because it froze its
upload after that had opened; or than its enrolment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, bindparam, select

from ...ledger import tables
from ...ledger.settings import Settings
from ...protocol.checks import Refusal
from .batching import CLIENTS, LAST_SHARED

# Statements are built once: building one takes longer than running it.
ENROLLED = select(tables.clients.c.id, tables.clients.c.enrolled).where(
    tables.clients.c.id.in_(CLIENTS)
)
OPENED = (
    select(tables.epochs.c.number, tables.rounds.c.opened)
    .where(tables.rounds.c.number == tables.epochs.c.round)
    .where(tables.epochs.c.number.in_(bindparam("epochs", expanding=True)))
)


def excess(
    connection: Connection, steps: Mapping[int, int], settings: Settings, now: float
) -> dict[int, Refusal]:
    """Of these clients, with what they have not shared, those that say more steps than they can
    have learned."""
    many = sorted(one for one, count in steps.items() if count > settings.most_steps(0.0))
    if not many:  # nothing has to be looked up
        return {}
    found = {}
    for client, since in _unshared_since(connection, many).items():
        most = settings.most_steps(now - since)
        if steps[client] > most:
            allowed = (
                f"at most {most:,.0f} now: no more than steps_per_second, "
                f"{settings.steps_per_second:g}, since you enrolled or last shared"
            )
            found[client] = Refusal("steps", steps[client], allowed)
    return found


def _unshared_since(connection: Connection, clients: Sequence[int]) -> dict[int, float]:
    own = {"clients": clients}
    since = {row.id: row.enrolled or 0.0 for row in connection.execute(ENROLLED, own)}
    shared = {row.client: row.epoch for row in connection.execute(LAST_SHARED, own)}
    made = connection.execute(OPENED, {"epochs": sorted(set(shared.values()))})
    opened = {row.number: row.opened for row in made}
    return since | {client: opened[epoch] for client, epoch in shared.items()}
