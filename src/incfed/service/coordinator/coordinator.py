"""The coordinator: the protocol as transactions over the database. No HTTP, no clock of its own.

Every message is one transaction, and may come twice: the second time nothing changes, and the
answer is the same. The federation's row is locked first, so that of several coordinators over one
database only one moves a round at a time, and a round is decided once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, func, insert, select, update

from ...ledger import tables
from ...ledger.chain import digest
from ...ledger.clients import Member, members, whose
from ...ledger.founding import found
from ...ledger.records import OFFERED, OPEN, RUNNING, read_own, read_upload, to_bytes
from ...ledger.settings import Settings
from ...ledger.store import Store
from ...protocol.checks import Refusal, check_delivery, check_upload
from ...protocol.messages import Answer, Delivery, Download, Offer, Upload
from .downloads import make_download
from .running import Reached, Running


class Conflict(Refusal):
    """Nothing wrong with the message, but it does not fit what is going on."""


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
        with store.write() as connection:
            found(connection, settings, clock())

    def whose(self, token: str) -> Member | None:
        """The client with this token."""
        with self.store.read() as connection:
            return whose(connection, token)

    def settings(self) -> Settings:
        """Those in force."""
        with self.store.read() as connection:
            return Running(connection, self.clock(), self._reached).settings

    def version(self) -> int:
        with self.store.read() as connection:
            return connection.scalar(select(tables.federation.c.version)) or 0

    def overview(self) -> Overview:
        with self.store.read() as connection:
            running = Running(connection, self.clock(), self._reached)
            live = sum(running.live(one) for one in members(connection))
            federation = running.federation
            return Overview(federation.epoch, federation.spent, running.settings.budget, live)

    def state(self, client: int) -> State:
        """What is going on for this client."""
        now = self.clock()
        with self.store.read() as connection:
            heard = connection.scalar(
                select(tables.presence.c.heard).where(tables.presence.c.client == client)
            )
            running = Running(connection, now, self._reached)
            seen = look(running, client)
        if heard is None or not 0.0 <= now - heard < running.settings.live_time / 4.0:
            with self.store.touch() as connection:
                _hear(connection, client, now)
        return seen

    def open_round(self, client: int, epoch: int | None = None) -> State:
        """Open a round, or join the one that runs. `epoch`: the trigger's, if it is to count only
        while that is the present one (a request that was delayed opens nothing)."""
        with self._alone(client) as running:
            if epoch is not None and epoch != running.federation.epoch:
                allowed = f"{running.federation.epoch}, the present one: download first"
                raise Conflict("epoch", epoch, allowed)
            running.open(client)
            running.advance()
            return look(running, client)

    def upload(self, client: int, upload: Upload) -> State:
        with self._alone(client) as running:
            if not _again(running, client, upload):
                _may_upload(running, client, upload)
                numbers = to_bytes(upload.dV.numbers)
                row: dict[str, Any] = {"round": upload.round, "client": client}
                row |= {
                    "epoch": upload.epoch,
                    "steps": upload.steps,
                    "cost": upload.cost,
                    "form": upload.dV.form,
                }
                running.connection.execute(insert(tables.uploads).values(**row, numbers=numbers))
                running.record("uploaded", **row, numbers=digest(numbers))
                self._reached("uploaded")
            running.advance()
            return look(running, client)

    def answer(self, client: int, answer: Answer) -> State:
        with self._alone(client) as running:
            offer = _offer(running, client, answer.round)
            if offer.accepted is None:
                _still_offered(running, offer)
                if answer.attempt != offer.attempt:
                    raise Conflict("attempt", answer.attempt, f"{offer.attempt}, the last one")
                _change_offer(running, offer, accepted=bool(answer.accepted))
                running.record("answered", **answer._asdict(), client=client)
                self._reached("answered")
            elif offer.accepted != answer.accepted:
                allowed = f"{str(bool(offer.accepted)).lower()}, as you answered before"
                raise Conflict("accepted", answer.accepted, allowed)
            running.advance()
            return look(running, client)

    def deliver(self, client: int, delivery: Delivery) -> State:
        with self._alone(client) as running:
            offer = _offer(running, client, delivery.round)
            db = to_bytes(delivery.db)
            sent = _find(running, tables.deliveries, client, delivery.round)
            if sent is None:
                _still_offered(running, offer)
                if offer.accepted is False:
                    raise Conflict("round", delivery.round, "one that you did not decline")
                row = _find(running, tables.uploads, client, delivery.round)
                upload = read_upload(row, running.settings.dim)
                check_delivery(delivery.db, upload.dV, upload.steps, running.settings.limits)
                new = {"round": delivery.round, "client": client, "db": db}
                running.connection.execute(insert(tables.deliveries).values(new))
                _change_offer(running, offer, accepted=True)  # who delivers has accepted
                running.record("delivered", round=delivery.round, client=client, db=digest(db))
                self._reached("delivered")
            elif sent.db != db:
                raise Conflict("db", None, "what you delivered before")
            running.advance()
            return look(running, client)

    def download(self, client: int, since: int | None) -> Download:
        """What is new since that epoch (None: everything)."""
        with self.store.read() as connection:
            running = Running(connection, self.clock(), self._reached)
            epoch, dim = running.federation.epoch, running.settings.dim
            if since is not None and not 0 <= since <= epoch:
                raise Conflict("since", since, f"an epoch from 0 to {epoch}")
            return make_download(connection, client, since, epoch, dim)

    def tick(self) -> None:
        """What time has brought about: deadlines, and clients that are live no more."""
        with self.store.read() as connection:
            running = Running(connection, self.clock(), self._reached)
            if running.round is None or running.round.stage not in RUNNING:
                return
        with self._alone() as running:
            running.advance()

    @contextmanager
    def _alone(self, client: int | None = None) -> Iterator[Running]:
        now = self.clock()
        self._reached("before")
        with self.store.write() as connection:
            running = Running(connection, now, self._reached)
            if client is not None:
                _hear(connection, client, now)
            yield running
            self._reached("committing")
        self._reached("committed")
        for event in running.said:
            self._said(event)


def look(running: Running, client: int) -> State:
    """The round as this client sees it."""
    federation, round = running.federation, running.round
    if round is None:
        return State(federation.version, federation.epoch, None)
    offer = _find(running, tables.offers, client, round.number)
    stands = offer is not None and not offer.failed
    seen = RoundState(
        number=round.number,
        stage=round.stage,
        uploaded=_find(running, tables.uploads, client, round.number) is not None,
        offer=Offer(round.number, offer.attempt, offer.payment) if stands else None,
        answered=offer is not None and offer.accepted is not None,
        delivered=_find(running, tables.deliveries, client, round.number) is not None,
    )
    return State(federation.version, federation.epoch, seen)


def _hear(connection: Connection, client: int, now: float) -> None:
    chosen = update(tables.presence).where(tables.presence.c.client == client)
    connection.execute(chosen.values(heard=now))


def _find(running: Running, table: Table, client: int, round: int) -> Any:
    return read_own(running.connection, table, round, client)


def _again(running: Running, client: int, upload: Upload) -> bool:
    """Has this very upload come before?"""
    row = _find(running, tables.uploads, client, upload.round)
    if row is None:
        return False
    same = (row.epoch, row.steps, row.cost, row.form) == (
        upload.epoch, upload.steps, upload.cost, upload.dV.form
    )  # fmt: skip
    if not same or row.numbers != to_bytes(upload.dV.numbers):
        raise Conflict("dV", None, "what you uploaded before: it is frozen for the round")
    return True


def _may_upload(running: Running, client: int, upload: Upload) -> None:
    current = running.round
    if current is None or upload.round != current.number or current.stage != OPEN:
        raise Conflict("round", upload.round, "one that takes uploads")
    check_upload(upload, running.settings.limits)
    present = running.federation.epoch
    paid = tables.payments.c
    shared = running.connection.scalar(select(func.max(paid.epoch)).where(paid.client == client))
    oldest = max(0, present - running.settings.lag, shared or 0)
    if not oldest <= upload.epoch <= present:
        # Below `shared` its dV could hold what it has shared already.
        raise Conflict("epoch", upload.epoch, f"from {oldest} to {present}: download first")


def _offer(running: Running, client: int, round: int) -> Any:
    offer = _find(running, tables.offers, client, round)
    if offer is None:
        raise Conflict("round", round, "one that you were offered a part in")
    return offer


def _still_offered(running: Running, offer: Any) -> None:
    current = running.round
    if offer.failed or current.number != offer.round or current.stage != OFFERED:
        raise Conflict("round", offer.round, "one whose deadline has not passed")


def _change_offer(running: Running, offer: Any, **changes: Any) -> None:
    table = tables.offers
    chosen = update(table).where(table.c.round == offer.round, table.c.client == offer.client)
    running.connection.execute(chosen.values(changes))
