"""A round in progress, inside one transaction: wait for clients, decide, decide again, close."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import insert, select, update

from ...ledger import money, tables
from ...ledger.chain import digest
from ...ledger.clients import members
from ...ledger.past import read_past, write_past
from ...ledger.records import (
    CLOSED,
    OFFERED,
    OPEN,
    VOID,
    Epochs,
    pack_epoch,
    read_deliveries,
    read_own,
    read_round,
    read_upload,
)
from ...ledger.sketches import add_sketches
from ...ledger.summaries import note_removed, summarise
from ...protocol import deciding
from ...protocol.deciding import Offers
from ...protocol.money import from_units, to_units
from ...protocol.open_round import OpenRound
from ...protocol.triggers import GROWTH
from . import conduct, heartbeat, listening, scores
from .batching import NUMBER
from .transaction import LIVE, FederationTransaction, mark_seen

# Statements are built once: building one takes longer than running it.
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


class RoundTransaction(FederationTransaction):
    """Moves the round on, as far as it goes."""

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
                failed = [offer for offer in offers if offer.db is None]
                if failed:
                    self._decide_again(failed, [offer for offer in offers if offer.db is not None])
                else:
                    self._close({offer.client: self._payment(offer) for offer in offers})

    def _standing_offers(self) -> list[Any]:
        """The offers that have not failed, by client, each with its db if that was delivered."""
        offers, deliveries = tables.offers, tables.deliveries
        same = (offers.c.round == deliveries.c.round) & (offers.c.client == deliveries.c.client)
        query = select(offers, deliveries.c.db).outerjoin(deliveries, same)
        mine = query.where(offers.c.round == self.round.number, offers.c.failed.is_(False))
        return list(self.connection.execute(mine.order_by(offers.c.client)))

    def _beat(self) -> None:
        """After a silence of the coordinator, clients have all of their time again; and those that
        were live before it still are."""
        allowed = self._time_allowed
        silence = heartbeat.beat(self.connection, self.now, allowed)
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

    def _note_conduct(self) -> None:
        """The uploads are here: who was awaited in vain, and had the caller a reason?"""
        connection, settings, caller = self.connection, self.settings, self.round.trigger
        if heartbeat.interrupted(connection):
            return
        if settings.silent_rounds:
            conduct.missed(connection, connection.scalars(AWAITED, self._awaited_values).all())
        if not settings.false_calls:
            return
        if caller in self.barred(members(connection), self.round.opened):
            return  # it may call, but not share: that it did not says nothing
        row = read_own(connection, tables.uploads, self.round.number, caller)
        upload = None if row is None else read_upload(row, settings)
        growth = settings.rule.streams == GROWTH
        claim = listening.claim(connection, caller) if growth else None
        noisy = settings.privacy is not None or conduct.was_noisy(connection, caller)
        just = conduct.had_reason(upload, Epochs(connection, settings), settings, claim, noisy)
        conduct.judged(connection, caller, settings, self.now, just)

    def _undelivered(self) -> bool:
        """Is there an offer whose delivery may still come?"""
        return self.connection.scalar(UNDELIVERED, {"number": self.round.number}) is not None

    def _opened(self) -> OpenRound:
        """The round to decide, without clients that are barred or failed in it."""
        query = select(_offers.client).where(
            _offers.round == self.round.number, _offers.failed.is_(True)
        )
        failed = self.connection.scalars(query)
        all_members = members(self.connection)
        barred = self.barred(all_members, self.round.opened)
        return read_round(
            self.connection,
            self.settings,
            round=self.round.number,
            epoch=self.round.epoch,
            trigger=self.round.trigger,
            spent=self.spent,
            out={*failed, *barred},
            past=read_past(self.connection, self.settings.money_digits),
            members=sum(not member.revoked for member in all_members),
            last=self._chain.last.hash,
        )

    def _decide(self) -> None:
        opened = self._opened()
        self._note_conduct()
        if not opened.called:
            # nothing is shared, nobody is paid
            self._update_round(stage=VOID, ended=self.now, deadline=None)
            self.record("void", round=self.round.number, reason="nobody uploaded")
            self.update_federation()
            return
        self._offer(deciding.decide_first(opened), [], [])

    def _decide_again(self, failed: list[Any], delivered: list[Any]) -> None:
        """Without those that failed. Those that had not declined are barred for some time, unless
        the coordinator itself was silent meanwhile."""
        number = self.round.number
        for offer in failed:
            self._update_offer(offer.client, failed=True)
        barred = [offer.client for offer in failed if offer.accepted is not False]
        until = self.settings.barred_until(self.now)
        if until is not None and not heartbeat.interrupted(self.connection):
            for client in barred:
                statement = update(tables.clients).where(tables.clients.c.id == client)
                self.connection.execute(statement.values(barred_until=until))
                self.record("barred", round=number, client=client, until_time=until)
        kept = {offer.client: self._payment(offer) for offer in delivered}
        add = self.round.attempt < self.settings.attempts
        offers = deciding.decide_again(self._opened(), kept, add=add)
        self._offer(offers, failed, list(kept))

    def _offer(self, offers: Offers, failed: list[Any], kept: list[int]) -> None:
        """Reserve the payments of these offers, and void those of the failed ones."""
        number, attempt = self.round.number, self.round.attempt + 1
        deadline = self.now + self.settings.answer_time
        new = []
        for client, payment in offers.payments.items():
            made = {"attempt": attempt, "payment_units": self._units(payment)}
            if client in kept:
                self._update_offer(client, **made)
            else:
                row = {"round": number, "client": client, "accepted": None, "failed": False}
                new.append(row | made)
        if new:
            self.connection.execute(insert(tables.offers), new)
        heartbeat.go_on(self.connection, self.now)
        self._update_round(stage=OFFERED, attempt=attempt, deadline=deadline)
        body = {"offers": self._by_client(offers.payments), "data_only": offers.data_only}
        body |= {"gap": offers.gap} if offers.gap else {}
        removed = {str(client): limit for client, limit in offers.removed.items()}
        body |= {"removed": removed} if removed else {}
        if removed or attempt > 1:
            note_removed(self.connection, number, offers.removed)
        sums = self._sums(reserved=offers.payments.values())
        if failed:
            sums |= self._sums(voided=[self._payment(offer) for offer in failed])
        self.record("decided", round=number, attempt=attempt, deadline=deadline,
                    failed=[offer.client for offer in failed], **body, **sums)  # fmt: skip
        self.update_federation(reserved_units=sums["reserved"])

    def _close(self, payments: dict[int, float]) -> None:
        """Add everything that was delivered and post all payments, in this one transaction."""
        opened = self._opened()
        short = deciding.shortfall(opened, payments)
        if short is not None:  # what was delivered is not used: it stays pending
            note_removed(self.connection, self.round.number, dict.fromkeys(payments, short))
            payments = {}
        offers = Offers(payments, False)
        delivered = read_deliveries(self.connection, self.round.number)
        db = [delivered[client] for client in payments]
        server, closed = deciding.close(opened, offers, db)
        number, epoch = self.round.number, self.round.epoch + 1
        V, b = pack_epoch(server.shared.V, server.shared.b)
        new = {"number": epoch, "round": number, "V": V, "b": b}
        self.connection.execute(insert(tables.epochs).values(new))
        add_sketches(self.connection)
        scores.pool(self.connection, number, epoch, payments)
        row = {"federation": self.federation.name, "round": number, "epoch": epoch}
        booked = [
            {**row, "client": client, "amount_units": self._units(paid)}
            for client, paid in payments.items()
        ]
        if booked:
            self.connection.execute(insert(tables.payments), booked)
            listening.forget(self.connection, payments)
        digits = self.settings.money_digits
        write_past(self.connection, number, self.settings.limits, payments, digits)
        summarise(self.connection, number, self.now, opened, payments, digits, closed)
        self._update_round(stage=CLOSED, ended=self.now, deadline=None)
        sums = self._sums(posted=payments.values())
        self.record("closed", round=number, epoch=epoch, payments=self._by_client(payments),
                    V=digest(V), b=digest(b), communication=closed.communication,
                    ratio=closed.ratio, idle=closed.idle, **sums,
                    **({} if short is None else {"short": short}))  # fmt: skip
        posted = self.federation.posted_units + sums["posted"]
        self.update_federation(epoch=epoch, posted_units=posted, reserved_units=0)

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

    def _payment(self, offer: Any) -> float:
        return from_units(offer.payment_units, self.settings.money_digits)

    def _units(self, amount: float) -> int:
        return to_units(amount, self.settings.money_digits)

    def _by_client(self, payments: dict[int, float]) -> dict[str, int]:
        """Payments as entries have them."""
        return {str(client): self._units(paid) for client, paid in payments.items()}

    def _sums(self, **amounts: Iterable[float]) -> dict[str, int]:
        """The sums of these amounts in minor units, as fields of an entry."""
        digits = self.settings.money_digits
        found = {name: money.total(each, digits) for name, each in amounts.items()}
        return {**found, "money_digits": digits}
