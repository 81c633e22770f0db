"""A transaction of the coordinator: what it knows of the federation and its last round, and how it
changes and records that."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from ...ledger import tables
from ...ledger.chain import Chain
from ...ledger.clients import EnrolledClient, is_barred
from ...ledger.records import RUNNING, read_settings
from ...ledger.settings import Settings
from ...ledger.sketches import Sketches
from ...protocol.money import from_units
from ...protocol.packing import Packed
from ...protocol.resale import Downloaded
from ...rules.rounds import EVERYONE
from ..requests import Start
from . import listening
from .batching import CLIENTS, NUMBER, BatchRows
from .entitlements import allowed_epochs
from .screening import Check, Outcomes
from .starts import Starts

# Statements are built once: building one takes longer than running it.
LIVE = (
    select(tables.clients.c.id)
    .join_from(tables.clients, tables.presence)
    .where(
        tables.presence.c.heard.between(bindparam("earliest"), bindparam("latest")),
        tables.clients.c.revoked.is_(False),
    )
)
LIVE_COUNT = select(func.count()).select_from(LIVE.subquery())
# Rows are locked in the same order by everybody, so that two coordinators cannot deadlock.
_in_order = (
    select(tables.presence.c.client)
    .where(tables.presence.c.client.in_(CLIENTS))
    .order_by(tables.presence.c.client)
    .with_for_update()
)
MARK_SEEN = (
    update(tables.presence)
    .where(tables.presence.c.client.in_(_in_order))
    .values(heard=bindparam("now"))
)
FEDERATION = select(tables.federation)
ROUND = select(tables.rounds).where(tables.rounds.c.number == NUMBER)


class Caches:
    """Data that a coordinator need not read, or compute, again in each transaction."""

    def __init__(self) -> None:
        self.judge = listening.Judge()
        self.outcomes = Outcomes()
        self.sketches = Sketches()
        # clients that said something which was not judged yet: when it can be. None: not known
        self.unjudged: dict[int, float] | None = None
        self._settings: dict[int, Settings] = {}

    def settings(self, connection: Connection, number: int) -> Settings:
        """The settings with this number, which never change."""
        if number not in self._settings:
            self._settings[number] = read_settings(connection, number)
        return self._settings[number]


class FederationTransaction:
    """The federation and its last round, read and changed in one transaction."""

    def __init__(
        self, connection: Connection, now: float, clients: Iterable[int] = (),
        caches: Caches | None = None,
    ) -> None:  # fmt: skip
        self.connection = connection
        self.caches = caches or Caches()
        self.now = now
        self.federation: Any = SimpleNamespace(**connection.execute(FEDERATION).mappings().one())
        self.events: list[dict[str, Any]] = []  # to be logged after the commit
        self._chain = Chain(connection)
        self._version = self.federation.version
        self.settings = self.caches.settings(connection, self.federation.settings)
        self.round: Any = None  # there was none yet
        for last in connection.execute(ROUND, {"number": self.federation.round}).mappings():
            self.round = SimpleNamespace(**last)
        self.rows = BatchRows(connection, clients)
        self._nonces: dict[int, str] = {}  # of the starts that messages come from
        if self.running:
            # a round keeps the settings that it was opened with
            self.settings = self.caches.settings(connection, self.round.settings)

    @cached_property
    def downloaded(self) -> tuple[int, Downloaded]:
        """See `Sketches.read`."""
        return self.caches.sketches.read(self.connection)

    def not_resold(self, dV: Packed) -> Check:
        """That it is not only what clients have downloaded."""
        epoch, downloaded = self.downloaded
        return Check(("resale", epoch), downloaded.check, (dV,))

    @cached_property
    def _starts(self) -> Starts:
        return Starts(self.connection, self.rows.clients)

    def admit(self, client: int, start: Start | None = None) -> None:
        """A message of this client comes from this start. Conflict if another one is later."""
        if start is not None:
            self._starts.claim(client, start)
            self._nonces[client] = start.nonce

    def nonce(self, client: int) -> str | None:
        """The nonce of the start that a message of this client comes from."""
        return self._nonces.get(client)

    @property
    def spent(self) -> float:
        """All payments so far."""
        return from_units(self.federation.posted_units, self.settings.money_digits)

    @property
    def running(self) -> bool:
        """Is there a round in progress?"""
        return self.round is not None and self.round.stage in RUNNING

    @property
    def last_opened(self) -> float | None:
        """When the last round was opened; None: there was none yet."""
        return None if self.round is None else self.round.opened

    def allowed_epochs(self, clients: Iterable[int]) -> dict[int, int]:
        """The epoch that each of these clients may have now."""
        current = self.federation.epoch
        if self.settings.download == EVERYONE:
            return dict.fromkeys(clients, current)
        return allowed_epochs(self.connection, list(clients), current)

    def record(self, kind: str, **what: Any) -> None:
        """An entry in the ledger, and an event for the log after the commit."""
        self._chain.append(kind, self.now, **what)
        self.events.append({"event": kind, **what})

    @property
    def entries(self) -> Chain:
        """The entries that this transaction adds to the ledger."""
        return self._chain

    def finish(self) -> bool:
        """Call this last, before the commit. Did anything change that clients wait for?"""
        self._chain.flush()
        return bool(self.federation.version != self._version)

    def live_between(self) -> dict[str, float]:
        """When a live client was last seen; later than now, if a clock was set back since."""
        near = self.settings.live_time
        return {"earliest": self.now - near, "latest": self.now + near}

    def barred(self, among: Iterable[EnrolledClient], opened: float) -> set[int]:
        """Those of these clients that are barred from a round that opened then."""
        time = self.settings.barred_time
        return {member.id for member in among if is_barred(member.barred_until, opened, time)}

    def update_federation(self, **changes: Any) -> None:
        """Change the federation's row; its version grows, which wakes waiting clients."""
        changes["version"] = self.federation.version + 1
        self.connection.execute(update(tables.federation).values(changes))
        vars(self.federation).update(changes)


def mark_seen(connection: Connection, clients: set[int], now: float) -> None:
    if clients:
        connection.execute(MARK_SEEN, {"clients": sorted(clients), "now": now})
