"""Handlers: what each message of a client does to the round, inside a transaction.

A message that is wrong is refused before it changes anything: others may share its transaction.
Every message may come twice; the second time changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from ...ledger import tables
from ...ledger.chain import digest
from ...ledger.clients import set_key
from ...ledger.records import OFFERED, OPEN, read_upload, to_bytes, upload_entry, upload_row
from ...ledger.settings import Settings
from ...ledger.signatures import fault
from ...protocol.checks import (
    Refusal,
    check_cost,
    check_delivery,
    check_scores,
    check_signal,
    check_upload,
)
from ...protocol.messages import Answer, Delivery, Signal, Upload
from ...protocol.money import next_unit
from ...protocol.packing import DIGEST, FACTOR, combine
from ...protocol.statements import ANSWERED, DELIVERED, UPLOADED
from ...rules.rounds import EVERYONE
from ...support.inputs import counted
from ...support.signing import KEY_BYTES, read_bytes
from ...types import Floats
from ..requests import SIGNATURE, Start
from . import conduct, opening, rates
from .errors import Conflict
from .round import RoundTransaction
from .scores import capped
from .screening import Check, is_large

FIXED = ("steps", "cost_units", "form", "numbers")  # of an upload, once it is there
Costly = TypeVar("Costly", Signal, Upload)  # messages that state a cost
Handler = Callable[[RoundTransaction, int, Any], None]  # the client that sent it, and the message
# A client, its message with what handles that, and the start of the client that it comes from.
SentMessage = tuple[int, Handler, Any] | tuple[int, Handler, Any, Start | None]


class Recorded:
    """A handler that remembers which entry it made; 0: none, because the message came twice."""

    def __init__(self, handler: Handler) -> None:
        self.handler, self.entry = handler, 0

    def __call__(self, transaction: RoundTransaction, client: int, message: Any) -> None:
        before = transaction.entries.number
        self.handler(transaction, client, message)
        last = transaction.entries.number
        self.entry = last if last != before else 0


class Open(NamedTuple):
    """A client calls for a round: if this is its epoch, and the last round (None: whatever it is),
    so that a delayed request opens nothing."""

    epoch: int | None = None
    after: int | None = None
    noisy: bool = False  # the client adds noise to what it shares


def say_nothing(transaction: RoundTransaction, client: int, message: None) -> None:
    """That a client is there, and which start of it."""


def says(handler: Handler) -> bool:
    """Does a message with this handler take part in a round? To be there, or to have a key, is not
    enough for others to wait."""
    return getattr(handler, "handler", handler) not in (say_nothing, register_key)


def open_round(transaction: RoundTransaction, client: int, message: Open) -> None:
    """Open a round, or join the one in progress."""
    epoch, after, noisy = message
    allowed = transaction.allowed_epochs([client])[client]
    if epoch is not None and epoch != allowed:
        raise Conflict("epoch", epoch, f"{allowed}, the current epoch: download first")
    last = transaction.federation.round
    if after is not None and after != last and not transaction.running:
        raise Conflict("after", after, f"{last}, the last round: ask for the state first")
    if not transaction.running:
        if transaction.federation.paused:
            raise Conflict("round", None, "called for later: the operator has paused rounds")
        conduct.check_call(
            transaction.connection, client, transaction.settings, transaction.now,
            transaction.last_opened,
        )  # fmt: skip
    opening.open_round(transaction, client, noisy)


def signal(transaction: RoundTransaction, client: int, message: Signal) -> None:
    """Take the signal of a client's pending data: it comes with a poll, between rounds."""
    settings, allowed = transaction.settings, transaction.allowed_epochs([client])[client]
    if settings.rule.streams is None:
        return  # the settings have changed since the client read them
    message = _in_units(message, settings)
    _check_rate(transaction, client, message.steps)
    _make(transaction, _signal_checks(transaction, message))
    # no n steps with arms of at most L make log det grow by more
    most = message.steps * settings.arm_norm**2 / (settings.ridge * settings.dim)
    bound = settings.dim * math.log1p(most)
    if message.growth > bound * (1.0 + 1e-9) + 1e-9:
        steps = counted(message.steps, "step")
        raise Refusal("growth", float(message.growth), f"at most {bound:.10g}: {steps}")
    if message.epoch > allowed:
        raise Conflict("epoch", message.epoch, f"at most {allowed}")
    if message.epoch >= transaction.rows.last_shared.get(client, 0):  # else it has shared since
        opening.hear(transaction, client, message)


def upload(transaction: RoundTransaction, client: int, message: Upload) -> None:
    message = _in_units(message, transaction.settings)
    row = upload_row(client, message, transaction.settings)
    uploaded = transaction.rows.find(tables.uploads, message.round, client)
    if uploaded is None:
        _check_upload(transaction, client, message)
        entry = upload_entry(row, transaction.settings.money_digits)
        signed = _check_signature(transaction, UPLOADED, entry, message.signature)
        transaction.rows.add(tables.uploads, **row)
        transaction.record(UPLOADED, **entry, **signed)
    elif any(getattr(uploaded, name) != row[name] for name in FIXED):
        raise Conflict("dV", None, "the same as in your first upload: it is fixed for the round")


def answer(transaction: RoundTransaction, client: int, message: Answer) -> None:
    offer = _find_offer(transaction, client, message.round)
    if offer.accepted is None:
        _check_still_offered(transaction, offer)
        if message.attempt != offer.attempt:
            raise Conflict("attempt", message.attempt, f"{offer.attempt}, the latest one")
        _check_named(transaction, client, message.round, message.upload)
        entry = {"round": message.round, "attempt": message.attempt, "accepted": message.accepted}
        entry["client"] = client
        signed = _check_signature(transaction, ANSWERED, entry, message.signature)
        transaction.rows.accept(offer, bool(message.accepted))
        transaction.record(ANSWERED, **entry, **signed)
    elif offer.accepted != message.accepted:
        allowed = f"{str(bool(offer.accepted)).lower()}, as in your first answer"
        raise Conflict("accepted", message.accepted, allowed)


def delivery(transaction: RoundTransaction, client: int, message: Delivery) -> None:
    rows, number = transaction.rows, message.round
    offer = _find_offer(transaction, client, number)
    _check_named(transaction, client, number, message.upload)
    plain = _read_db(transaction, client, message)
    db = to_bytes(plain)
    delivered = rows.find(tables.deliveries, number, client)
    if delivered is None:
        _check_still_offered(transaction, offer)
        if offer.accepted is False:
            raise Conflict("round", number, "a round whose offer you did not decline")
        uploaded = rows.find(tables.uploads, number, client)
        sent = read_upload(uploaded, transaction.settings)
        _make(transaction, _delivery_checks(transaction, plain, sent))
        if message.scores is not None:
            check_scores(message.scores, sent.steps)
        entry = {"round": number, "client": client, "db": digest(db)}
        price = {"steps": sent.steps, "cost": sent.cost}
        signed = _check_signature(transaction, DELIVERED, entry | price, message.signature)
        rows.add(tables.deliveries, round=number, client=client, db=db)
        if message.scores is not None:
            kept = to_bytes(capped(message.scores, transaction.settings.reward_bound))
            rows.add(tables.scores, round=number, client=client, numbers=kept)
        if offer.accepted is None:
            rows.accept(offer, True)  # a delivery is an acceptance
        transaction.record(DELIVERED, **entry, **signed)
    elif delivered.db != db:
        raise Conflict("db", None, "the same as in your first delivery")


def _check_named(transaction: RoundTransaction, client: int, round: int, named: str | None) -> None:
    """Does the message belong to the upload that is here? Another process of this client may have
    sent that, with a copy of its state."""
    if named is None:
        return
    uploaded = transaction.rows.find(tables.uploads, round, client)
    if uploaded.numbers is not None and digest(uploaded.numbers)[:DIGEST] != named:
        allowed = "the digest of your upload to this round, which another process has sent"
        raise Conflict("upload", None, allowed)


def register_key(transaction: RoundTransaction, client: int, key: str) -> None:
    """Once: afterwards, only the operator can make room for another one."""
    if read_bytes(key, KEY_BYTES) is None:
        raise Refusal("key", None, f"a public key of Ed25519: {KEY_BYTES} bytes in base64")
    known = transaction.rows.keys[client]
    if known is None:
        set_key(transaction.connection, client, key)
        transaction.rows.keys[client] = key
        transaction.record("key", client=client, key=key)
    elif known != key:
        allowed = "the one that this client has registered: to change it, incfed client reset-key"
        raise Conflict("key", None, allowed)


def _check_signature(
    transaction: RoundTransaction, kind: str, entry: dict[str, Any], signature: str | None
) -> dict[str, str]:
    """Refusal if the signature is wrong. Returns the field of the entry for it, if there is one."""
    key, name = transaction.rows.keys[entry["client"]], transaction.federation.name
    wrong = fault(name, kind, entry, key, signature, transaction.settings)
    if wrong is not None:
        raise Refusal(SIGNATURE, None, f"that of this message by its sender's key: {wrong}")
    return {} if signature is None else {"signature": signature}


def _read_db(transaction: RoundTransaction, client: int, message: Delivery) -> Floats:
    """db, where that was sent as coordinates in the factor that the client uploaded."""
    if message.basis is None:
        return message.db
    uploaded = transaction.rows.find(tables.uploads, message.round, client)
    if uploaded.numbers is None:
        raise Conflict("round", message.round, "a round whose deadline has not passed")
    dV = read_upload(uploaded, transaction.settings).dV
    if dV.form != FACTOR or dV.checksum() != message.basis:
        raise Conflict("basis", None, "the factor of your upload: send db itself")
    if len(message.db) != dV.rank:
        raise Refusal("db", counted(len(message.db), "number"), counted(dV.rank, "coordinate"))
    return combine(dV, message.db)


def _check_upload(transaction: RoundTransaction, client: int, message: Upload) -> None:
    current, rows, settings = transaction.round, transaction.rows, transaction.settings
    if current is None or message.round != current.number or current.stage != OPEN:
        raise Conflict("round", message.round, "a round that is open for uploads")
    _check_rate(transaction, client, message.steps)
    _make(transaction, _upload_checks(transaction, message))
    epoch = transaction.federation.epoch
    # Before its last round, a client's dV may hold what it has shared already; and against an epoch
    # that was pruned, nothing can be checked.
    oldest = rows.last_shared.get(client, 0)
    if settings.download == EVERYONE:
        oldest = max(epoch - settings.lag, oldest, rows.first_epoch)
    elif not message.steps:  # it may still be entitled to the download that it shared for
        oldest = 0
    elif message.epoch not in rows.kept_epochs:
        raise Conflict("epoch", message.epoch, "one that was not pruned: download first")
    if not oldest <= message.epoch <= epoch:
        raise Conflict("epoch", message.epoch, f"from {oldest} to {epoch}: download first")


def _check_rate(transaction: RoundTransaction, client: int, steps: int) -> None:
    """Can the client have learned so much since it last shared?"""
    connection, settings = transaction.connection, transaction.settings
    if refusal := rates.excess(connection, {client: steps}, settings, transaction.now):
        raise refusal[client]


def _in_units(message: Costly, settings: Settings) -> Costly:
    """The message with its cost rounded up to minor units. Refusal if that is not possible."""
    check_cost(message.cost, settings.bounds)
    return message._replace(cost=next_unit(message.cost, settings.money_digits))


# ------------------------------------------------------------------- checks that may take long


def long_checks(
    transaction: RoundTransaction, client: int, handler: Handler, message: Any
) -> Iterable[Check]:
    """Those that a message will need, as far as that can be told before its transaction."""
    rows, settings, current = transaction.rows, transaction.settings, transaction.round
    if handler is signal and settings.rule.streams is not None:
        message = _in_units(message, settings)
        return _signal_checks(transaction, message)
    if current is None or handler is signal or message.round != current.number:
        return ()
    if handler is upload and current.stage == OPEN:
        message = _in_units(message, settings)
        return _upload_checks(transaction, message)
    uploaded = rows.find(tables.uploads, message.round, client)
    if handler is delivery and current.stage == OFFERED and uploaded is not None:
        plain = _read_db(transaction, client, message)
        return _delivery_checks(transaction, plain, read_upload(uploaded, settings))
    return ()


def _make(transaction: RoundTransaction, checks: Iterable[Check]) -> None:
    outcomes = transaction.caches.outcomes
    for check in checks:
        if is_large(transaction.settings.dim):
            outcomes.make(check)
        else:
            check.run(*check.given)


def _signal_checks(transaction: RoundTransaction, message: Signal) -> Iterator[Check]:
    yield Check("signal", check_signal, (message, transaction.settings.bounds))


def _upload_checks(transaction: RoundTransaction, message: Upload) -> Iterator[Check]:
    settings = transaction.settings
    yield Check("upload", check_upload, (message, settings.bounds))
    if message.steps and settings.limits.refuse_resale:
        yield transaction.not_resold(message.dV)


def _delivery_checks(transaction: RoundTransaction, db: Floats, sent: Upload) -> Iterator[Check]:
    given = db, sent.dV, sent.steps, transaction.settings.bounds
    yield Check("delivery", check_delivery, given)


def _find_offer(transaction: RoundTransaction, client: int, round: int) -> Any:
    offer = transaction.rows.find(tables.offers, round, client)
    if offer is None:
        raise Conflict("round", round, "a round in which you have an offer")
    return offer


def _check_still_offered(transaction: RoundTransaction, offer: Any) -> None:
    current = transaction.round
    if offer.failed or current.number != offer.round or current.stage != OFFERED:
        raise Conflict("round", offer.round, "a round whose deadline has not passed")
