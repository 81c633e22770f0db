"""What is going on, as each client sees it: asked of the database once for all who ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import BindParameter, bindparam, select

from ...ledger import tables
from ...protocol.messages import Offer
from .running import Running


class RoundState(NamedTuple):
    """What a round is to one client."""

    number: int
    stage: str  # open, offered, closed, void
    uploaded: bool
    offer: Offer | None  # that stands
    answered: bool
    delivered: bool


class State(NamedTuple):
    version: int  # grows when there is news
    epoch: int
    round: RoundState | None  # the last one


# Put together once: that takes longer than the database's answer.
_NUMBER: BindParameter[int] = bindparam("number")
_ASKING: BindParameter[list[int]] = bindparam("clients", expanding=True)
UPLOADED, OFFERS, DELIVERED = (
    select(*columns).where(table.c.round == _NUMBER, table.c.client.in_(_ASKING))
    for table, columns in (
        (tables.uploads, [tables.uploads.c.client]),
        (tables.offers, [tables.offers]),
        (tables.deliveries, [tables.deliveries.c.client]),
    )
)


def look(running: Running, clients: Sequence[int]) -> list[State]:
    """The round as each of these clients sees it."""
    federation, round = running.federation, running.round
    if round is None:
        return [State(federation.version, federation.epoch, None)] * len(clients)
    asked = {"number": round.number, "clients": sorted(set(clients))}
    uploaded = set(running.connection.scalars(UPLOADED, asked))
    offers = {row.client: row for row in running.connection.execute(OFFERS, asked)}
    delivered = set(running.connection.scalars(DELIVERED, asked)) if offers else set()

    def seen(client: int) -> RoundState:
        offer = offers.get(client)
        stands = offer is not None and not offer.failed
        return RoundState(
            number=round.number,
            stage=round.stage,
            uploaded=client in uploaded,
            offer=Offer(round.number, offer.attempt, offer.payment) if stands and offer else None,
            answered=offer is not None and offer.accepted is not None,
            delivered=client in delivered,
        )

    return [State(federation.version, federation.epoch, seen(client)) for client in clients]
