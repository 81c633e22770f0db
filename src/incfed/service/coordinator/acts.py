"""What each message of a client does to a round, inside a transaction.

Whatever is wrong is refused before anything is changed: others may be in the same transaction. All
may come twice; the second time nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ledger import tables
from ...ledger.chain import digest
from ...ledger.records import OFFERED, OPEN, read_upload, to_bytes
from ...protocol.checks import Refusal, check_delivery, check_upload
from ...protocol.messages import Answer, Delivery, Upload
from .running import Running

Act = Callable[[Running, int], None]  # given the client whose message it is


class Conflict(Refusal):
    """Nothing wrong with the message, but it does not fit what is going on."""


class Revoked(Refusal):
    """Since its token was looked at."""

    def __init__(self) -> None:
        super().__init__("Authorization", None, "Bearer and a token that is valid")


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
        running.lot.add(tables.uploads, **row, numbers=numbers)
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
            running.lot.accept(offer, bool(answer.accepted))
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
        sent = running.lot.find(tables.deliveries, delivery.round, client)
        if sent is None:
            _still_offered(running, offer)
            if offer.accepted is False:
                raise Conflict("round", delivery.round, "one that you did not decline")
            row = running.lot.find(tables.uploads, delivery.round, client)
            upload = read_upload(row, running.settings.dim)
            check_delivery(delivery.db, upload.dV, upload.steps, running.settings.limits)
            running.lot.add(tables.deliveries, round=delivery.round, client=client, db=db)
            running.lot.accept(offer, True)  # who delivers has accepted
            running.record("delivered", round=delivery.round, client=client, db=digest(db))
            running.reached("delivered")
        elif sent.db != db:
            raise Conflict("db", None, "what you delivered before")

    return act


def _again(running: Running, client: int, upload: Upload) -> bool:
    """Has this very upload come before?"""
    row = running.lot.find(tables.uploads, upload.round, client)
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
    lot, lag = running.lot, running.settings.lag
    # Before its last part in a round, its dV could hold what it has shared already; and by an epoch
    # that was pruned nothing can be judged.
    oldest = max(present - lag, lot.last_shared(client), lot.first_epoch())
    if not oldest <= upload.epoch <= present:
        raise Conflict("epoch", upload.epoch, f"from {oldest} to {present}: download first")


def _offer(running: Running, client: int, round: int) -> Any:
    offer = running.lot.find(tables.offers, round, client)
    if offer is None:
        raise Conflict("round", round, "one that you were offered a part in")
    return offer


def _still_offered(running: Running, offer: Any) -> None:
    current = running.round
    if offer.failed or current.number != offer.round or current.stage != OFFERED:
        raise Conflict("round", offer.round, "one whose deadline has not passed")
