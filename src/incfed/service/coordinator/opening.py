"""When a round opens: a client calls for one, or what clients say between rounds is worth one.

What a client says is judged at once, or as soon as that is possible: while its calls have to wait
(`conduct`), a round is in progress or rounds are paused, it is kept, and a tick judges it later.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from sqlalchemy import insert

from ...ledger import tables
from ...ledger.clients import members
from ...ledger.records import OPEN, upload_entry, upload_row
from ...ledger.signatures import fault, must_sign
from ...protocol.checks import Refusal
from ...protocol.messages import Signal, Upload
from ...protocol.packing import FACTOR, Packed
from ...protocol.statements import STREAMED, stream_fields
from ...protocol.triggers import ROWS
from ..requests import SIGNATURE
from . import conduct, heartbeat, listening, rates
from .errors import Conflict
from .round import RoundTransaction
from .transaction import LIVE

AWAY = 10.0  # seconds after which it is looked at again whether a client is back


def open_round(transaction: RoundTransaction, client: int, noisy: bool = False) -> None:
    """A new round, unless one is in progress. `noisy`: the caller adds noise to what it shares."""
    if transaction.running:
        return
    federation, now = transaction.federation, transaction.now
    connection = transaction.connection
    settings = transaction.caches.settings(connection, federation.settings)
    number, deadline = federation.round + 1, now + settings.upload_time
    transaction.settings = settings
    transaction.round = SimpleNamespace(
        number=number,
        stage=OPEN,
        settings=federation.settings,
        epoch=federation.epoch,
        trigger=client,
        opened=now,
        deadline=deadline,
        attempt=0,
        ended=None,
    )
    connection.execute(insert(tables.rounds).values(vars(transaction.round)))
    heartbeat.begin(connection, now)
    conduct.called(connection, client, now, noisy)
    transaction.update_federation(round=number)
    transaction.record("opened", round=number, client=client, epoch=federation.epoch,
                       settings=federation.settings, deadline=deadline)  # fmt: skip


def hear(transaction: RoundTransaction, client: int, signal: Signal) -> None:
    """Hear a signal of a client between rounds. If it is of a new step, it may call for a round."""
    settings = transaction.settings
    rows = settings.rule.streams == ROWS
    if transaction.running and not rows and client == transaction.round.trigger:
        return  # what it called for the round with stands until that is verified

    def check(dV: Packed) -> None:
        _check_resale(transaction, dV)
        _check_signature(transaction, client, signal, dV)

    nonce = transaction.nonce(client)
    if listening.hear(transaction.connection, client, signal, settings, nonce, check):
        _judge(transaction, client)


def unjudged(transaction: RoundTransaction) -> list[int]:
    """The clients of which something can be judged now that was not judged when they said it."""
    if transaction.running or transaction.federation.paused:
        return []
    if transaction.settings.rule.streams is None:
        return []
    waiting = transaction.caches.unjudged
    if waiting is None:  # this process has just started: another one may have kept something
        waiting = dict.fromkeys(listening.speakers(transaction.connection), transaction.now)
        transaction.caches.unjudged = waiting
    return sorted(client for client, when in list(waiting.items()) if when <= transaction.now)


def judge_kept(transaction: RoundTransaction) -> None:
    """Judge what was kept, as far as that is possible by now: once, since it is judged together.
    What a client said that is not live is kept: it may come back."""
    due, judged = unjudged(transaction), False
    live = transaction.connection.scalars(LIVE, transaction.live_between()).all() if due else []
    for client in due:
        gone = client not in live
        _keep(transaction, client, transaction.now + AWAY if gone else None)
        if not gone and not judged:
            judged = _judge(transaction, client)


def _keep(transaction: RoundTransaction, client: int, until: float | None) -> None:
    """Judge what this client said at that time; None: that is done."""
    waiting = transaction.caches.unjudged
    if waiting is not None:
        waiting.pop(client, None)
        if until is not None:
            waiting[client] = until


def _judge(transaction: RoundTransaction, client: int) -> bool:
    """Open a round in the name of this client, if what clients said is worth one. False: that
    cannot be judged yet."""
    connection, settings, now = transaction.connection, transaction.settings, transaction.now
    if transaction.running or transaction.federation.paused:
        _keep(transaction, client, now)
        return False
    wait = conduct.wait(connection, client, settings, now, transaction.last_opened)
    if wait > 0.0:  # it is heard, but opens nothing now
        _keep(transaction, client, now + wait)
        return False
    live = set(connection.scalars(LIVE, transaction.live_between())) | {client}
    barred = transaction.barred(members(connection), now)
    clients = live - barred - conduct.ignored(connection, settings, now)
    judge, rows = transaction.caches.judge, settings.rule.streams == ROWS
    worthwhile = judge.opens if rows else judge.calls
    if worthwhile(connection, settings, transaction.federation.epoch, clients):
        open_round(transaction, client)
        if rows:
            _take_streams(transaction, live)
    return True


def _take_streams(transaction: RoundTransaction, clients: set[int]) -> None:
    """The rows that clients have streamed are their uploads: nobody has to send them again. Of who
    has streamed nothing, or nothing that may be taken, nothing is awaited."""
    connection, settings, round = transaction.connection, transaction.settings, transaction.round
    sent = listening.streamed(connection, settings, round.epoch, clients)
    steps = {client: stream.upload.steps for client, stream in sent.items()}
    keys = {member.id: member.key for member in members(connection)}
    out = set(rates.excess(connection, steps, settings, transaction.now))
    for client, (upload, *_) in sent.items():  # what it said may be older than the settings
        try:
            _check_resale(transaction, upload.dV)
        except Refusal:
            out.add(client)
        if upload.signature is None and must_sign(keys[client], settings):
            out.add(client)
    sent = {client: stream for client, stream in sent.items() if client not in out}
    listening.forget(connection, out)  # else it would be news for ever; they say it again
    listening.take(connection, sent)
    nothing = Packed(FACTOR, settings.dim, np.empty(0))
    for client in sorted(clients):
        found = sent.get(client)
        upload = Upload(0, round.epoch, 0, 0.0, nothing) if found is None else found.upload
        row = upload_row(client, upload._replace(round=round.number), settings)
        transaction.rows.add(tables.uploads, **row)
        said = {} if found is None else found.said
        transaction.record("uploaded", **upload_entry(row, settings.money_digits), **said)


def _check_resale(transaction: RoundTransaction, dV: Packed) -> None:
    """Refusal if it is only what clients have downloaded. The outcome is kept: when a round opens,
    what was heard in this epoch is not checked again."""
    if transaction.settings.limits.refuse_resale:
        transaction.caches.outcomes.make(transaction.not_resold(dV))


def _check_signature(
    transaction: RoundTransaction, client: int, signal: Signal, dV: Packed
) -> None:
    """Refusal if the client has not signed what it has streamed. Conflict if that may be because
    the two of us have not the same: then it sends all of it."""
    key, name = transaction.rows.keys[client], transaction.federation.name
    fields = stream_fields(client, signal, dV, transaction.rows.last_round(client))
    wrong = fault(name, STREAMED, fields, key, signal.signature, transaction.settings)
    if wrong is not None and signal.signature is not None and signal.rows is not None:
        raise Conflict("rows", None, f"what you have signed: {wrong}. Send dV instead")
    if wrong is not None:
        raise Refusal(SIGNATURE, None, f"that of all that you have streamed: {wrong}")
