"""What each message of a client does to a round, inside a transaction.

Whatever is wrong is refused before anything is changed: others may be in the same transaction. All
may come twice; the second time nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Table, bindparam, func, insert, select, update

from ...ledger import tables
from ...ledger.chain import digest
from ...ledger.records import OFFERED, OPEN, read_own, read_upload, to_bytes
from ...protocol.checks import Refusal, check_delivery, check_upload
from ...protocol.messages import Answer, Delivery, Upload
from .running import Running

Act = Callable[[Running, int], None]  # given the client whose message it is

LAST_SHARED = select(func.max(tables.payments.c.epoch)).where(
    tables.payments.c.client == bindparam("client")
)
ACCEPT = (
    update(tables.offers)
    .where(
        tables.offers.c.round == bindparam("of_round"),
        tables.offers.c.client == bindparam("of_client"),
    )
    .values(accepted=bindparam("accepted"))
)


class Conflict(Refusal):
    """Nothing wrong with the message, but it does not fit what is going on."""


def opens(epoch: int | None = None) -> Act:
    """Open a round, or join the one that runs. `epoch`: the trigger's, if it is to count only
    while that is the present one (a request that was delayed opens nothing)."""

    def act(running: Running, client: int) -> None:
        if epoch is not None and epoch != running.federation.epoch:
            allowed = f"{running.federation.epoch}, the present one: download first"
            raise Conflict("epoch", epoch, allowed)
        running.open(client)

    return act


def uploads(upload: Upload) -> Act:
    def act(running: Running, client: int) -> None:
        if _again(running, client, upload):
            return
        _may_upload(running, client, upload)
        numbers = to_bytes(upload.dV.numbers)
        row: dict[str, Any] = {"round": upload.round, "client": client}
        row |= {
            "epoch": upload.epoch,
            "steps": upload.steps,
            "cost": upload.cost,
            "form": upload.dV.form,
        }
        running.connection.execute(insert(tables.uploads), {**row, "numbers": numbers})
        running.record("uploaded", **row, numbers=digest(numbers))
        running.reached("uploaded")

    return act


def answers(answer: Answer) -> Act:
    def act(running: Running, client: int) -> None:
        offer = _offer(running, client, answer.round)
        if offer.accepted is None:
            _still_offered(running, offer)
            if answer.attempt != offer.attempt:
                raise Conflict("attempt", answer.attempt, f"{offer.attempt}, the last one")
            _accept(running, offer, bool(answer.accepted))
            running.record("answered", **answer._asdict(), client=client)
            running.reached("answered")
        elif offer.accepted != answer.accepted:
            allowed = f"{str(bool(offer.accepted)).lower()}, as you answered before"
            raise Conflict("accepted", answer.accepted, allowed)

    return act


def delivers(delivery: Delivery) -> Act:
    def act(running: Running, client: int) -> None:
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
            running.connection.execute(insert(tables.deliveries), new)
            _accept(running, offer, True)  # who delivers has accepted
            running.record("delivered", round=delivery.round, client=client, db=digest(db))
            running.reached("delivered")
        elif sent.db != db:
            raise Conflict("db", None, "what you delivered before")

    return act


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
    shared = running.connection.scalar(LAST_SHARED, {"client": client})
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


def _accept(running: Running, offer: Any, accepted: bool) -> None:
    which = {"of_round": offer.round, "of_client": offer.client}
    running.connection.execute(ACCEPT, {**which, "accepted": accepted})
