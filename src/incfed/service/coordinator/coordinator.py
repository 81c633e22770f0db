"""The coordinator: the protocol as transactions over the database, without HTTP.

Messages that arrive together share a transaction: flushing the disk takes longer than all else.
Each transaction locks the federation's row first, so that of several coordinators over one database
only one moves a round at a time, and a round is decided once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, select

from ...ledger import tables
from ...ledger.clients import EnrolledClient, find, find_by_token
from ...ledger.database import Database, notify
from ...ledger.federation import apply_settings
from ...ledger.proofs import Entry, LedgerTree
from ...ledger.records import read_settings
from ...ledger.settings import Settings
from ...ledger.sketches import add_sketches
from ...protocol.checks import Refusal
from ...protocol.heads import Head, Proof
from ...protocol.messages import Download
from ...protocol.packing import DIGEST
from ...rules.rounds import EVERYONE
from ..requests import HISTORY, Start
from ..wire import StateView
from . import conduct, opening
from .batching import CLIENTS
from .errors import Conflict, TooMany, Unauthorized
from .handlers import Handler, SentMessage, long_checks, says
from .monitoring import Overview
from .round import RoundTransaction
from .starts import Caller, Starts, is_new
from .transaction import LIVE_COUNT, Caches, mark_seen
from .views import Downloads, Wanted, view_states

STRANGE = 5.0  # seconds
_clients, _starts = tables.clients.c, tables.starts.c
KNOWN = (
    select(_clients.id, _clients.revoked, tables.presence.c.heard, _starts.number, _starts.nonce)
    .outerjoin_from(tables.clients, tables.presence)
    .outerjoin(tables.starts, _starts.client == _clients.id)
    .where(_clients.id.in_(CLIENTS))
)


class Coordinator:
    """`clock` returns the time in seconds; `on_event` is called with each event of a round, after
    its commit."""

    def __init__(
        self,
        store: Database,
        settings: Settings,
        clock: Callable[[], float],
        on_event: Callable[[dict[str, Any]], None] = lambda event: None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._on_event = on_event
        self._downloads = Downloads()
        self._caches = Caches()
        self._tree = LedgerTree()
        self._strangers: dict[int, float] = {}  # who named a history of another ledger, and when
        with store.write() as connection:
            apply_settings(connection, settings, clock())
            add_sketches(connection)
        with store.read() as connection:
            self._tree.follow(connection)

    # ------------------------------------------------------------------------------ messages

    def handle(self, batch: Sequence[SentMessage]) -> list[StateView | Refusal]:
        """Handle messages in one transaction. A refused message changes nothing; any other error
        undoes the whole transaction."""
        clients = [sent[0] for sent in batch]
        refused: dict[int, Refusal] = {}
        with self._write(clients) as transaction:
            members = transaction.rows.members
            for n, (client, handler, message, *start) in enumerate(batch):
                try:
                    if members[client].revoked:
                        raise Unauthorized  # since its token was checked
                    transaction.admit(client, *start)
                    handler(transaction, client, message)
                except Refusal as refusal:
                    refused[n] = refusal
            seen = {client for n, client in enumerate(clients) if n not in refused}
            if seen:
                mark_seen(transaction.connection, seen, transaction.now)
                if transaction.settings.silent_rounds:
                    spoke = {
                        sent[0]
                        for n, sent in enumerate(batch)
                        if n not in refused and says(sent[1])
                    }
                    silent = {client for client in spoke if members[client].silent}
                    conduct.spoke(transaction.connection, silent)
                transaction.advance()
            states = view_states(transaction, clients)
        return [refused.get(n, state) for n, state in enumerate(states)]

    def screen(self, client: int, handler: Handler, message: Any) -> None:
        """Make the checks of a message that may take long, before `handle` holds the lock."""
        with self._read([client]) as transaction:
            checks = list(long_checks(transaction, client, handler, message))
        for check in checks:
            self._caches.outcomes.make(check)

    def tick(self) -> None:
        """Act on what has changed with time: deadlines, clients that are no longer live, and what
        clients said when it could not be judged."""
        with self._read() as transaction:
            if not transaction.running and not opening.unjudged(transaction):
                return
        with self._write() as transaction:
            opening.judge_kept(transaction)
            transaction.advance()

    # --------------------------------------------------------------------------- for clients

    def authenticate(self, tokens: Sequence[str]) -> list[EnrolledClient | None]:
        """The clients that these tokens belong to."""
        with self.store.read() as connection:
            return find_by_token(connection, tokens)

    def member(self, client: int) -> EnrolledClient:
        """This client as it is now."""
        with self.store.read() as connection:
            return find(connection, client)

    def last_start(self, client: int) -> int:
        """The number of a client's last start; 0: it has said none yet."""
        with self.store.read() as connection:
            last = Starts(connection, [client]).last.get(client)
        return 0 if last is None else last.number

    def states(self, callers: Sequence[Caller]) -> list[StateView | Refusal]:
        """The state as each of these clients sees it. Asking for it counts as being seen."""
        with self._read() as transaction:
            known = _find(transaction.connection, callers)
            states = view_states(transaction, [caller.client for caller in callers])
        refused = self._refused(callers, known)
        # a write at every request would be too much: a quarter of live_time is exact enough
        now, fresh = transaction.now, transaction.settings.live_time / 4.0
        stale = {
            caller.client
            for caller in set(callers) - refused.keys()
            if (at := known[caller.client].heard) is None or not 0.0 <= now - at < fresh
        }
        if stale:
            with self.store.touch() as connection:
                mark_seen(connection, stale, now)
        return [refused.get(caller, state) for caller, state in zip(callers, states, strict=True)]

    def _refused(
        self, callers: Sequence[Caller], known: Mapping[int, Any]
    ) -> dict[Caller, Refusal]:
        """Those whose token was revoked since it was checked, or of which another start is later.
        A new start is noted."""
        refused: dict[Caller, Refusal] = {}
        new = []
        for caller in set(callers):
            row = known[caller.client]
            last = None if row.number is None else Start(row.number, row.nonce)
            try:
                if row.revoked:
                    raise Unauthorized
                if caller.start is not None and is_new(caller.start, last):
                    new.append(caller)
            except Refusal as refusal:
                refused[caller] = refusal
        if new:
            with self._write([caller.client for caller in new]) as transaction:
                for caller in sorted(new):
                    try:
                        transaction.admit(*caller)
                    except Refusal as refusal:
                        refused[caller] = refusal
        return refused

    def downloads(self, asked: Sequence[Wanted]) -> list[Download | Refusal]:
        """For each client, what is new since its epoch (None: everything)."""
        callers = [Caller(wanted.client, wanted.start) for wanted in asked]
        made: dict[Wanted, Download | Refusal] = {}
        with self._read() as transaction:
            known = _find(transaction.connection, callers)
            free = transaction.settings.download == EVERYONE
            if free:
                made = dict(zip(asked, self._downloads.make(transaction, asked), strict=True))
        refused = self._refused(callers, known)
        if not free:
            with self._write() as transaction:  # it uses up an entitlement
                some = [
                    wanted for wanted, who in zip(asked, callers, strict=True) if who not in refused
                ]
                made = dict(zip(some, self._downloads.make(transaction, some), strict=True))
        found = [
            refused.get(who) or made[wanted] for wanted, who in zip(asked, callers, strict=True)
        ]
        return [
            answer._replace(history=self.history(answer.epoch))
            if isinstance(answer, Download)
            else answer
            for answer in found
        ]

    @property
    def head(self) -> Head:
        """The head of the ledger, at least as far as this process has written it."""
        return self._tree.head

    def history(self, epoch: int) -> str:
        """A text that tells this epoch from one of another history; empty for the first."""
        if self._tree.history(epoch) is None and epoch > 0:
            with self.store.read() as connection:  # another coordinator may have made it
                self._tree.follow(connection)
        return self._tree.history(epoch) or ""

    def knows(self, named: str) -> bool:
        """Is this the history of an epoch here? Without asking the database."""
        epoch = named.partition("-")[0][:9]
        return epoch.isdecimal() and self._tree.history(int(epoch)) == named

    def check_history(self, client: int, named: str) -> None:
        """Conflict if a client knows an epoch that is not of this ledger: since it downloaded that,
        a back-up was restored. Who was told so halts; who makes histories up does not, and has to
        wait before the database is asked for another one."""
        if not re.fullmatch(rf"[1-9][0-9]{{0,8}}-[0-9a-f]{{{DIGEST}}}", named):
            raise Refusal(HISTORY, None, f"an epoch, '-' and {DIGEST} hexadecimal digits")
        epoch = int(named.partition("-")[0])
        since = self.clock() - self._strangers.get(client, -math.inf)
        if self._tree.history(epoch) is None and 0.0 <= since < STRANGE:
            allowed = f"one of this ledger, {STRANGE:g} s after one that was not"
            raise TooMany(HISTORY, allowed, STRANGE - since)
        if self.history(epoch) != named:
            self._strangers[client] = self.clock()
            allowed = "of this ledger: you downloaded it before a back-up was restored here"
            raise Conflict(HISTORY, named, allowed)

    def prove(self, client: int, since: int, round: int | None) -> Proof:
        """See `LedgerTree.prove`. To ask for it is not to be seen: the client may be switched off,
        and somebody verify what it keeps."""
        with self.store.read() as connection:
            if find(connection, client).revoked:
                raise Unauthorized  # since its token was checked
            last = self._tree.follow(connection).number
            if since > last:
                raise Conflict("since", since, f"at most {last}, the last entry")
            return self._tree.prove(connection, client, since, round)

    # ------------------------------------------------------------------------- for operators

    def settings(self) -> Settings:
        """The current settings. A round in progress keeps those that it was opened with."""
        with self._read() as transaction:
            return read_settings(transaction.connection, transaction.federation.settings)

    def overview(self) -> Overview:
        with self._read() as transaction:
            epoch, spent = transaction.federation.epoch, transaction.spent
            budget = transaction.settings.budget
            left = math.inf if budget is None else max(0.0, budget - spent)
            live = transaction.connection.scalar(LIVE_COUNT, transaction.live_between()) or 0
            return Overview(epoch, spent, left, live)

    # --------------------------------------------------------------------------- transactions

    @contextmanager
    def _read(self, clients: Sequence[int] = ()) -> Iterator[RoundTransaction]:
        with self.store.read() as connection:
            yield RoundTransaction(connection, self.clock(), clients, self._caches)

    @contextmanager
    def _write(self, clients: Sequence[int] = ()) -> Iterator[RoundTransaction]:
        try:
            with self.store.write() as connection:
                # Read the clock once the lock is held: the time must not go back between
                # transactions.
                transaction = RoundTransaction(connection, self.clock(), clients, self._caches)
                yield transaction
                if transaction.finish():
                    notify(connection, self.store.name)
        except BaseException:
            self._caches.unjudged = None  # what was judged was not: read again what there is
            raise
        if not self._tree.extend([Entry(**row) for row in transaction.entries.written]):
            with self.store.read() as connection:  # others have added entries, too
                self._tree.follow(connection)
        self._publish(transaction.events)

    def _publish(self, events: Sequence[dict[str, Any]]) -> None:
        """Publish the events of a transaction that was committed."""
        for event in events:
            self._on_event(event)


def _find(connection: Connection, callers: Sequence[Caller]) -> dict[int, Any]:
    """Find for each client whether it is `revoked`, when it was `heard`, and its last start."""
    rows = connection.execute(KNOWN, {"clients": sorted({caller.client for caller in callers})})
    return {row.id: row for row in rows}
