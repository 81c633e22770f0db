"""A round inside one transaction: open, wait for clients, decide, decide again, close."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, func, insert, select, update

from ...ledger import money, tables
from ...ledger.chain import Chain, digest
from ...ledger.clients import Member, is_barred, members
from ...ledger.past import read_past, write_past
from ...ledger.records import (
    CLOSED,
    OFFERED,
    OPEN,
    RUNNING,
    VOID,
    pack_epoch,
    read_deliveries,
    read_round_inputs,
    read_settings,
    upload_entry,
    upload_row,
)
from ...ledger.settings import Settings
from ...ledger.sketches import Sketches, add_sketches
from ...ledger.summaries import note_removed, summarise
from ...protocol import deciding
from ...protocol.deciding import Offers, RoundInputs
from ...protocol.limits import NO_PAST
from ...protocol.messages import Signal, Upload
from ...protocol.packing import FACTOR, Packed
from ...protocol.protocols import EVERYONE
from ...protocol.resale import Downloaded
from ...protocol.triggers import GROWTH, ROWS
from . import conduct, heartbeat, listening, rates, scores
from .batching import CLIENTS, NUMBER, BatchRows
from .entitlements import allowed_epochs
from .errors import TooMany
from .screening import Outcomes
from .starts import Start, Starts

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
UPLOADED, DELIVERED = (
    select(table.c.client).where(table.c.round == NUMBER)
    for table in (tables.uploads, tables.deliveries)
)
AWAITED = LIVE.where(
    tables.clients.c.id.not_in(UPLOADED), tables.clients.c.id.not_in(conduct.NOT_AWAITED)
)
_offers = tables.offers.c
UNDELIVERED = (
    select(_offers.client)
    .where(_offers.round == NUMBER, _offers.failed.is_(False), _offers.accepted.is_not(False))
    .where(_offers.client.not_in(DELIVERED))
    .limit(1)
)
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
    """What a coordinator need not read, or compute, again in each transaction."""

    def __init__(self) -> None:
        self.judge = listening.Judge()
        self.outcomes = Outcomes()
        self.sketches = Sketches()
        self._settings: dict[int, Settings] = {}

    def settings(self, connection: Connection, number: int) -> Settings:
        """The settings with this number, which never change."""
        if number not in self._settings:
            self._settings[number] = read_settings(connection, number)
        return self._settings[number]


class RoundTransaction:
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

    @cached_property
    def _starts(self) -> Starts:
        return Starts(self.connection, self.rows.clients)

    def admit(self, client: int, start: Start | None = None) -> None:
        """A message of this client comes from this start. Conflict if another one is later."""
        if start is not None:
            self._starts.claim(client, start)
            self._nonces[client] = start.nonce

    def open(self, client: int) -> None:
        """A new round, unless one is in progress."""
        if self.running:
            return
        federation = self.federation
        self.settings = self.caches.settings(self.connection, federation.settings)
        number, deadline = federation.round + 1, self.now + self.settings.upload_time
        self.round = SimpleNamespace(
            number=number,
            stage=OPEN,
            settings=federation.settings,
            epoch=federation.epoch,
            trigger=client,
            opened=self.now,
            deadline=deadline,
            attempt=0,
            ended=None,
        )
        self.connection.execute(insert(tables.rounds).values(vars(self.round)))
        heartbeat.begin(self.connection, self.now)
        conduct.called(self.connection, client, self.settings, self.now)
        self._update_federation(round=number)
        self.record("opened", round=number, client=client, epoch=federation.epoch,
                    settings=federation.settings, deadline=deadline)  # fmt: skip

    def hear(self, client: int, signal: Signal) -> None:
        """What a client says between rounds. If it is of a new step, it may call for a round."""
        rows = self.settings.rule.streams == ROWS
        if self.running and not rows and client == self.round.trigger:
            return  # what it called for the round with stands until that is verified
        nonce = self._nonces.get(client)
        check = self.check_resale if rows else None
        dim = self.settings.dim
        new = listening.hear(self.connection, client, signal, dim, rows, nonce, check)
        if not new or self.running or self.federation.paused:
            return
        try:
            conduct.check_call(self.connection, client, self.settings, self.now)
        except TooMany:  # it is heard, but opens nothing now
            return
        live = set(self.connection.scalars(LIVE, self.live_between())) | {client}
        barred = self._barred(members(self.connection), self.federation.round + 1, self.now)
        ignored = conduct.ignored(self.connection, self.settings, self.now)
        epoch, clients = self.federation.epoch, live - barred - ignored
        judge = self.caches.judge
        worthwhile = judge.opens if rows else judge.calls
        if worthwhile(self.connection, self.settings, epoch, clients):
            self.open(client)
            if rows:
                self._take_streams(live)

    def _take_streams(self, clients: set[int]) -> None:
        """The rows that clients have streamed are their uploads: nobody has to send them again."""
        sent = listening.streamed(self.connection, self.settings, self.round.epoch, clients)
        for client in rates.excess(
            self.connection, {who: one.steps for who, one in sent.items()}, self.settings, self.now
        ):  # said before the limit was set
            del sent[client]
        listening.take(self.connection, sent)
        nothing = Packed(FACTOR, self.settings.dim, np.empty(0))
        for client in sorted(clients):
            one = sent.get(client, Upload(0, self.round.epoch, 0, 0.0, nothing))
            row = upload_row(client, one._replace(round=self.round.number), self.settings)
            self.rows.add(tables.uploads, **row)
            self.record("uploaded", **upload_entry(row, self.settings.money_digits))

    def check_resale(self, dV: Packed) -> None:
        """Refusal if it is only what clients have downloaded."""
        if self.settings.limits is not None and self.settings.limits.refuse_resale:
            self.downloaded[1].check(dV)

    @property
    def spent(self) -> float:
        """All payments so far."""
        earlier, posted = self.federation.spent, self.federation.posted_units
        return money.spent(earlier, posted, self.settings.money_digits)

    @property
    def running(self) -> bool:
        """Is there a round in progress?"""
        return self.round is not None and self.round.stage in RUNNING

    def advance(self) -> None:
        """Move the round on until it has to wait for a client."""
        self.rows.write()
        if self.running:
            self._beat()
        while self.running:
            self._repair_deadline()
            late = self.now >= self.round.deadline
            if self.round.stage == OPEN:
                if not late and self._awaited():
                    return
                self._decide()
            else:
                if not late and self._undelivered():
                    return
                offers = self._standing_offers()
                failed = [one for one in offers if one.db is None]
                if failed:
                    self._decide_again(failed, [one for one in offers if one.db is not None])
                else:
                    self._close({one.client: self._payment(one) for one in offers})

    def _standing_offers(self) -> list[Any]:
        """The offers that have not failed, by client, each with its db if that was delivered."""
        offers, deliveries = tables.offers, tables.deliveries
        same = (offers.c.round == deliveries.c.round) & (offers.c.client == deliveries.c.client)
        query = select(offers, deliveries.c.db).outerjoin(deliveries, same)
        mine = query.where(offers.c.round == self.round.number, offers.c.failed.is_(False))
        return list(self.connection.execute(mine.order_by(offers.c.client)))

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
        """What this transaction adds to the ledger."""
        return self._chain

    def finish(self) -> bool:
        """Call this last, before the commit. Did anything change that clients wait for?"""
        self._chain.flush()
        return bool(self.federation.version != self._version)

    def live_between(self) -> dict[str, float]:
        """When a live client was last seen; later than now, if a clock was set back since."""
        near = self.settings.live_time
        return {"earliest": self.now - near, "latest": self.now + near}

    def _beat(self) -> None:
        """After a silence of the coordinator, clients have all of their time again; and those that
        were live before it still are."""
        allowed = self._time_allowed
        silence = heartbeat.beat(self.connection, self.now, allowed, self.round.opened)
        if silence is None:
            return
        around = self.live_between()
        live = self.connection.scalars(LIVE, around | {"earliest": around["earliest"] - silence})
        mark_seen(self.connection, set(live), self.now)
        deadline = self.now + allowed
        self._update_round(deadline=deadline)
        self.record("deadline", round=self.round.number, deadline=deadline, silence=silence)

    @property
    def _time_allowed(self) -> float:
        """The time that clients have in this stage of the round."""
        times = {OPEN: self.settings.upload_time, OFFERED: self.settings.answer_time}
        return times[self.round.stage]

    def _awaited(self) -> bool:
        """Is there a live client that has not uploaded yet?"""
        return self.connection.execute(AWAITED, self._awaited_values).first() is not None

    @property
    def _awaited_values(self) -> dict[str, Any]:
        silent = conduct.silent_rounds(self.settings)
        return {"number": self.round.number, **self.live_between(), **silent}

    def _note_conduct(self, inputs: RoundInputs) -> None:
        """The uploads are here: who was awaited in vain, and had the caller a reason?"""
        connection, settings, caller = self.connection, self.settings, self.round.trigger
        if heartbeat.interrupted(connection):
            return
        if settings.silent_rounds:
            conduct.missed(connection, connection.scalars(AWAITED, self._awaited_values).all())
        if not settings.false_calls:
            return
        if caller not in inputs.uploads and caller in self._barred(
            members(connection), self.round.number, self.round.opened
        ):
            return  # it may call, but not share: that it did not says nothing
        growth = settings.rule.streams == GROWTH
        claim = listening.claim(connection, caller) if growth else None
        just = conduct.had_reason(inputs, caller, settings, claim)
        conduct.judged(connection, caller, settings, self.now, just)

    def _undelivered(self) -> bool:
        """Is there an offer whose delivery may still come?"""
        return self.connection.scalar(UNDELIVERED, {"number": self.round.number}) is not None

    def _inputs(self) -> RoundInputs:
        """What the decision depends on, without clients that are barred or failed in this round."""
        query = select(_offers.client).where(
            _offers.round == self.round.number, _offers.failed.is_(True)
        )
        failed = self.connection.scalars(query)
        all_members = members(self.connection)
        barred = self._barred(all_members, self.round.number, self.round.opened)
        return read_round_inputs(
            self.connection,
            self.settings,
            round=self.round.number,
            epoch=self.round.epoch,
            trigger=self.round.trigger,
            spent=self.spent,
            out={*failed, *barred},
            past=NO_PAST if self.settings.limits is None else read_past(self.connection),
            members=sum(not one.revoked for one in all_members),
        )

    def _barred(self, among: Iterable[Member], round: int, opened: float) -> set[int]:
        """Of these clients, those that are barred from this round."""
        time = self.settings.barred_time
        return {
            one.id for one in among
            if is_barred(one.barred, one.barred_until, round, opened, time)
        }  # fmt: skip

    def _decide(self) -> None:
        inputs = self._inputs()
        self._note_conduct(inputs)
        if not inputs.uploads and not inputs.others:
            # nothing is shared, nobody is paid
            self._update_round(stage=VOID, ended=self.now, deadline=None)
            self.record("void", round=self.round.number, reason="nobody uploaded")
            self._update_federation()
            return
        self._offer(deciding.decide_first(inputs), [], [])

    def _decide_again(self, failed: list[Any], delivered: list[Any]) -> None:
        """Without those that failed. Those that had not declined are barred for some time, unless
        the coordinator itself was silent meanwhile."""
        number = self.round.number
        for one in failed:
            self._update_offer(one.client, failed=True)
        barred = [one.client for one in failed if one.accepted is not False]
        inputs = self._inputs()  # before they are barred: here they are left out as failed
        bar = self.settings.bar(number, self.now)
        if bar and not heartbeat.interrupted(self.connection):
            columns = {"until": "barred", "until_time": "barred_until"}
            values = {columns[name]: until for name, until in bar.items()}
            for client in barred:
                statement = update(tables.clients).where(tables.clients.c.id == client)
                self.connection.execute(statement.values(values))
                self.record("barred", round=number, client=client, **bar)
        kept = {one.client: self._payment(one) for one in delivered}
        add = self.round.attempt < self.settings.attempts
        offers = deciding.decide_again(inputs, kept, add=add)
        self._offer(offers, failed, list(kept))

    def _offer(self, offers: Offers, failed: list[Any], kept: list[int]) -> None:
        """Reserve the payments of these offers, and void those of the failed ones."""
        number, attempt = self.round.number, self.round.attempt + 1
        deadline = self.now + self.settings.answer_time
        new = []
        for client, payment in offers.payments.items():
            paid = money.columns("payment", payment, self.settings.money_digits)
            if client in kept:
                self._update_offer(client, attempt=attempt, **paid)
            else:
                row = {"round": number, "client": client, "attempt": attempt, **paid}
                new.append(row | {"accepted": None, "failed": False})
        if new:
            self.connection.execute(insert(tables.offers), new)
        heartbeat.begin(self.connection, self.now)
        self._update_round(stage=OFFERED, attempt=attempt, deadline=deadline)
        body = {"offers": self._by_client(offers.payments), "data_only": offers.data_only}
        body |= {"gap": offers.gap} if offers.gap else {}  # version 0.1 had none
        removed = {str(client): limit for client, limit in offers.removed.items()}
        body |= {"removed": removed} if removed else {}
        if removed or attempt > 1:
            note_removed(self.connection, number, offers.removed)
        sums = self._sums(reserved=offers.payments.values())
        if failed:
            sums |= self._sums(voided=[self._payment(one) for one in failed])
        self.record("decided", round=number, attempt=attempt, deadline=deadline,
                    failed=[one.client for one in failed], **body, **sums)  # fmt: skip
        self._update_federation(reserved_units=sums.get("reserved", 0))

    def _close(self, payments: dict[int, float]) -> None:
        """Add everything that was delivered and post all payments, in this one transaction."""
        inputs = self._inputs()
        short = deciding.shortfall(inputs, payments)
        if short is not None:  # what was delivered is not used: it stays pending
            note_removed(self.connection, self.round.number, dict.fromkeys(payments, short))
            payments = {}
        offers = Offers(payments, False)
        delivered = read_deliveries(self.connection, self.round.number)
        db = [delivered[client] for client in payments]
        shared, closed = deciding.close(inputs, offers, db)
        number, epoch = self.round.number, self.round.epoch + 1
        V, b = pack_epoch(shared.V, shared.b)
        new = {"number": epoch, "round": number, "V": V, "b": b}
        self.connection.execute(insert(tables.epochs).values(new))
        add_sketches(self.connection)
        scores.pool(self.connection, number, epoch, payments)
        row = {"federation": self.federation.name, "round": number, "epoch": epoch}
        booked = [
            {**row, "client": client, **money.columns("amount", paid, self.settings.money_digits)}
            for client, paid in payments.items()
        ]
        if booked:
            self.connection.execute(insert(tables.payments), booked)
            listening.forget(self.connection, payments)
        digits = self.settings.money_digits
        write_past(self.connection, number, self.settings.limits, payments, digits)
        summarise(self.connection, number, self.now, inputs, payments, closed)
        self._update_round(stage=CLOSED, ended=self.now, deadline=None)
        sums = self._sums(posted=payments.values())
        self.record("closed", round=number, epoch=epoch, payments=self._by_client(payments),
                    V=digest(V), b=digest(b), communication=closed.communication,
                    ratio=closed.ratio, idle=closed.idle, **sums,
                    **({} if short is None else {"short": short}))  # fmt: skip
        spent = {"spent": self.federation.spent + offers.total}
        if sums:
            posted = self.federation.posted_units + sums["posted"]
            spent = {"posted_units": posted, "reserved_units": 0}
        self._update_federation(epoch=epoch, **spent)

    def _repair_deadline(self) -> None:
        """A clock that was set back must not make everybody wait."""
        latest = self.now + self._time_allowed
        if self.round.deadline > latest:
            self._update_round(deadline=latest)
            self.record("deadline", round=self.round.number, deadline=latest)

    def _update_round(self, **changes: Any) -> None:
        statement = update(tables.rounds).where(tables.rounds.c.number == self.round.number)
        self.connection.execute(statement.values(changes))
        vars(self.round).update(changes)

    def _update_offer(self, client: int, **changes: Any) -> None:
        statement = update(tables.offers).where(
            _offers.round == self.round.number, _offers.client == client
        )
        self.connection.execute(statement.values(changes))

    def _update_federation(self, **changes: Any) -> None:
        """Change the federation's row; its version grows, which wakes waiting clients."""
        changes["version"] = self.federation.version + 1
        self.connection.execute(update(tables.federation).values(changes))
        vars(self.federation).update(changes)

    def _payment(self, offer: Any) -> float:
        return money.amount_of(offer, "payment", self.settings.money_digits)

    def _by_client(self, payments: dict[int, float]) -> dict[str, float]:
        digits = self.settings.money_digits
        return {str(client): money.recorded(paid, digits) for client, paid in payments.items()}

    def _sums(self, **amounts: Iterable[float]) -> dict[str, int]:
        """What an entry says of sums, in minor units; nothing, if there are none."""
        digits = self.settings.money_digits
        if digits is None:
            return {}
        found = {name: money.total(each, digits) for name, each in amounts.items()}
        return {**found, "money_digits": digits}


def mark_seen(connection: Connection, clients: set[int], now: float) -> None:
    if clients:
        connection.execute(MARK_SEEN, {"clients": sorted(clients), "now": now})
