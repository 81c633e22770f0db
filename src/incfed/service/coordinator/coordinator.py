"""The coordinator: the protocol as transactions over the database. No HTTP, no clock of its own.

Messages that arrive together share a transaction: a flush of the disk takes longer than all else.
The federation's row is locked first, so that of several coordinators over one database only one
moves a round at a time, and a round is decided once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, bindparam, select, update

from ...ledger import tables
from ...ledger.clients import Member, members, whose
from ...ledger.federation import found
from ...ledger.records import RUNNING, read_settings
from ...ledger.settings import Settings
from ...ledger.store import Store, tell
from ...protocol.checks import Refusal
from ...protocol.messages import Answer, Delivery, Download, Upload
from .acts import Act, Conflict, Revoked, answers, delivers, opens, uploads
from .downloads import Downloads
from .failpoints import Reached
from .looking import State, look
from .running import Running

Told = TypeVar("Told")

HEARD = select(tables.presence).where(
    tables.presence.c.client.in_(bindparam("clients", expanding=True))
)
REVOKED = select(tables.clients.c.id).where(
    tables.clients.c.id.in_(bindparam("clients", expanding=True)),
    tables.clients.c.revoked.is_(True),
)
HEAR = (
    update(tables.presence)
    .where(tables.presence.c.client == bindparam("who"))
    .values(heard=bindparam("now"))
)


class Overview(NamedTuple):
    """The federation in a few figures."""

    epoch: int
    spent: float
    budget: float | None
    live: int

    @property
    def left(self) -> float:
        return math.inf if self.budget is None else max(0.0, self.budget - self.spent)


class Coordinator:
    """`clock` tells seconds; `said` is told what happened, once it is certain."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Callable[[], float],
        *,
        said: Callable[[dict[str, Any]], None] = lambda event: None,
        reached: Reached = lambda point: None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._said = said
        self._reached = reached
        self._downloads = Downloads()
        with store.write() as connection:
            found(connection, settings, clock())

    # ------------------------------------------------------------- what clients tell

    def together(self, messages: Sequence[tuple[int, Act]]) -> list[State | Refusal]:
        """Each message by its client, all in one transaction; what is refused has changed nothing.
        Any other error undoes, and raises for, all of them."""
        refused: dict[int, Refusal] = {}
        with self._alone([client for client, _ in messages]) as running:
            revoked = set(running.connection.scalars(REVOKED, {"clients": running.lot.clients}))
            for n, (client, act) in enumerate(messages):
                try:
                    if client in revoked:
                        raise Revoked
                    act(running, client)
                except Refusal as refusal:
                    refused[n] = refusal
            heard = {client for n, (client, _) in enumerate(messages) if n not in refused}
            if heard:
                _hear(running.connection, heard, running.now)
                running.advance()
            states = look(running, [client for client, _ in messages])
        return [refused.get(n, state) for n, state in enumerate(states)]

    def open_round(self, client: int, epoch: int | None = None) -> State:
        return self._one(client, opens(epoch))

    def upload(self, client: int, upload: Upload) -> State:
        return self._one(client, uploads(upload))

    def answer(self, client: int, answer: Answer) -> State:
        return self._one(client, answers(answer))

    def deliver(self, client: int, delivery: Delivery) -> State:
        return self._one(client, delivers(delivery))

    def tick(self) -> None:
        """What time has brought about: deadlines, and clients that are live no more."""
        with self._reading() as running:
            if running.round is None or running.round.stage not in RUNNING:
                return
        with self._alone() as running:
            running.advance()

    # -------------------------------------------------------------- what they ask for

    def whose(self, tokens: Sequence[str]) -> list[Member | None]:
        """The clients with these tokens."""
        with self.store.read() as connection:
            return whose(connection, tokens)

    def states(self, clients: Sequence[int]) -> list[State]:
        """What is going on for these clients; they were heard of."""
        with self._reading() as running:
            asked = {"clients": sorted(set(clients))}
            heard = {row.client: row.heard for row in running.connection.execute(HEARD, asked)}
            seen = look(running, clients)
        now, fresh = running.now, running.settings.live_time / 4.0  # not worth a write each time
        stale = {
            client
            for client, last in heard.items()
            if last is None or not 0.0 <= now - last < fresh
        }
        if stale:
            with self.store.touch() as connection:
                _hear(connection, stale, now)
        return seen

    def state(self, client: int) -> State:
        return self.states([client])[0]

    def downloads(self, asked: Sequence[tuple[int, int | None]]) -> list[Download | Refusal]:
        """For each client, what is new since that epoch (None: everything)."""
        with self._reading() as running:
            epoch, dim = running.federation.epoch, running.settings.dim
            found = self._downloads.make(running.connection, asked, epoch, dim)
        return [
            Conflict("since", since, f"an epoch from 0 to {epoch}") if news is None else news
            for news, (_, since) in zip(found, asked, strict=True)
        ]

    def download(self, client: int, since: int | None) -> Download:
        return _told(self.downloads([(client, since)]))

    # ---------------------------------------------------------------- what operators ask

    def settings(self) -> Settings:
        """Those in force, whatever the round that runs was opened with."""
        with self._reading() as running:
            return read_settings(running.connection, running.federation.settings)

    def version(self) -> int:
        with self.store.read() as connection:
            return connection.scalar(select(tables.federation.c.version)) or 0

    def overview(self) -> Overview:
        with self._reading() as running:
            live = sum(running.live(one) for one in members(running.connection))
            federation = running.federation
            return Overview(federation.epoch, federation.spent, running.settings.budget, live)

    def _one(self, client: int, act: Act) -> State:
        return _told(self.together([(client, act)]))

    @contextmanager
    def _reading(self) -> Iterator[Running]:
        with self.store.read() as connection:
            yield Running(connection, self.clock(), self._reached)

    @contextmanager
    def _alone(self, clients: Sequence[int] = ()) -> Iterator[Running]:
        self._reached("before")
        with self.store.write() as connection:
            # the time is that of the lock: who waited for it must not take the clock for set back
            running = Running(connection, self.clock(), self._reached, clients)
            yield running
            if running.finish():
                tell(connection, self.store.name)
            self._reached("committing")
        self._reached("committed")
        for event in running.said:
            self._said(event)


def _hear(connection: Connection, clients: set[int], now: float) -> None:
    """In one order everywhere: others may be at it, and must not wait for each other in a ring."""
    connection.execute(HEAR, [{"who": client, "now": now} for client in sorted(clients)])


def _told(outcomes: list[Told | Refusal]) -> Told:
    """The only one."""
    [outcome] = outcomes
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome
