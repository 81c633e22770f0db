"""Recomputes every decision, payment, V_g and b_g from what was recorded."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from sqlalchemy import Connection

from ..kernels.factor import Floats
from ..protocol import deciding
from ..protocol.checks import check_delivery, check_upload
from ..protocol.deciding import Offers, RoundInputs
from . import tables
from .records import (
    RUNNING,
    from_bytes,
    read_deliveries,
    read_epoch,
    read_own,
    read_round_inputs,
    read_upload,
)
from .replay import Replay, Row
from .settings import Settings
from .withdrawal import Share, Withdrawal, remaining

CLOSE = 1e-9  # relative tolerance: another machine may round differently


def disagreements(connection: Connection, replay: Replay, e: Row) -> list[str]:
    """Where entry `e` differs from what follows from all entries before it (`replay`).

    Raises Pruned where the statistics are gone.
    """
    check = {
        "settings": _changed,
        "opened": _opened,
        "uploaded": _uploaded,
        "decided": _decided,
        "delivered": _delivered,
        "barred": _barred,
        "closed": _closed,
        "void": _void,
        "withdrawn": _withdrawn,
    }.get(e["kind"])
    return [] if check is None else check(connection, replay, e)


def _changed(connection: Connection, replay: Replay, e: Row) -> list[str]:
    Settings.of(e["body"])  # MissingCode now, rather than after half of the entries
    return [] if e["settings"] == len(replay.settings) + 1 else ["not the next settings"]


def _opened(connection: Connection, replay: Replay, e: Row) -> list[str]:
    now = replay.now
    found = [
        f"{name} {e[name]}, where {expected} was due"
        for name, expected in (("round", now["round"] + 1), ("epoch", now["epoch"]),
                               ("settings", now["settings"]))
        if e[name] != expected
    ]  # fmt: skip
    if now["round"] and replay.rounds[now["round"]]["stage"] in RUNNING:
        found.append(f"round {now['round']} was still running")
    if replay.clients[e["client"]]["revoked"]:
        found.append(f"client {e['client']} was revoked")
    return found


def round_settings(replay: Replay, e: Row) -> Settings:
    """The settings of the round that an entry is about."""
    number = replay.rounds[e["round"]]["settings"]
    return Settings.of(json.loads(replay.settings[number]["body"]))


def _inputs(connection: Connection, replay: Replay, e: Row, failed: list[int]) -> RoundInputs:
    round = replay.rounds[e["round"]]
    return read_round_inputs(
        connection,
        round_settings(replay, e),
        round=e["round"],
        epoch=round["epoch"],
        trigger=round["trigger"],
        spent=replay.now["spent"],
        out=replay.out(e["round"]) | set(failed),
    )


def _uploaded(connection: Connection, replay: Replay, e: Row) -> list[str]:
    settings = round_settings(replay, e)
    if (e["round"], e["client"]) in replay.uploads:
        return [f"client {e['client']} had uploaded before"]
    row = read_own(connection, tables.uploads, e["round"], e["client"])
    check_upload(read_upload(row, settings.dim), settings.limits)
    return []


def _delivered(connection: Connection, replay: Replay, e: Row) -> list[str]:
    settings = round_settings(replay, e)
    if (e["round"], e["client"]) in replay.deliveries:
        return [f"client {e['client']} had delivered before"]
    row = read_own(connection, tables.uploads, e["round"], e["client"])
    upload = read_upload(row, settings.dim)
    sent = read_own(connection, tables.deliveries, e["round"], e["client"])
    check_delivery(from_bytes(sent.db), upload.dV, upload.steps, settings.limits)
    return []


def _decided(connection: Connection, replay: Replay, e: Row) -> list[str]:
    round = e["round"]
    inputs = _inputs(connection, replay, e, e["failed"])
    if e["attempt"] == 1:
        verdict, missed = deciding.decide_first(inputs), []
    else:
        verdict, missed = _again(replay, e, inputs), _missed(replay, round)
    found = _unbarred(replay, e)
    found += [] if sorted(e["failed"]) == missed else [f"not those who failed: {e['failed']}"]
    if verdict.data_only != e["data_only"]:
        found.append(f"data_only is {verdict.data_only}")
    if not math.isclose(e.get("gap", 0.0), verdict.gap, rel_tol=CLOSE, abs_tol=CLOSE):
        found.append(f"the gap is {verdict.gap:.10g}")
    return found + _differ(e["offers"], verdict.payments)


def _void(connection: Connection, replay: Replay, e: Row) -> list[str]:
    uploaded = any(round == e["round"] for round, _ in replay.uploads)
    return ["somebody had uploaded"] if uploaded else []


def _barred(connection: Connection, replay: Replay, e: Row) -> list[str]:
    offer = replay.offers[e["round"], e["client"]]
    just = e["client"] in _missed(replay, e["round"]) and offer["accepted"] is not False
    until = e["round"] + round_settings(replay, e).barred_rounds
    return [] if just and e["until"] == until else [f"client {e['client']}: no reason to bar it so"]


def _unbarred(replay: Replay, e: Row) -> list[str]:
    """Clients that failed to deliver and were not barred for it."""
    rounds = round_settings(replay, e).barred_rounds
    return [
        f"client {who} was not barred"
        for who in e["failed"]
        if rounds
        and replay.offers[e["round"], who]["accepted"] is not False
        and replay.clients[who]["barred"] != e["round"] + rounds
    ]


def _closed(connection: Connection, replay: Replay, e: Row) -> list[str]:
    standing = replay.standing(e["round"])
    owed = {client: row["payment"] for client, row in standing.items()}
    found = _differ(e["payments"], owed)
    if _missed(replay, e["round"]):
        found.append(f"not delivered: {_missed(replay, e['round'])}")
    inputs = _inputs(connection, replay, e, [])
    sent = read_deliveries(connection, e["round"])
    shared, closed = deciding.close(inputs, Offers(owed, False), [sent[who] for who in owed])
    V, b = read_epoch(connection, e["epoch"], inputs.dim)
    for name, kept, again in (("V_g", V, shared.V), ("b_g", b, shared.b)):
        if not _same(kept, again):
            found.append(f"{name} is not the sum of what was shared")
    for name in ("communication", "ratio", "idle"):
        if not math.isclose(e[name], getattr(closed, name), rel_tol=CLOSE):
            found.append(f"{name} is {getattr(closed, name):.10g}")
    if e["epoch"] != replay.now["epoch"] + 1:
        found.append(f"epoch {e['epoch']} after {replay.now['epoch']}")
    if not inputs.money.affords(Offers(owed, False)):
        found.append("the budget is overspent")
    replay.now["spent"] += Offers(owed, False).total
    return found


def _withdrawn(connection: Connection, replay: Replay, e: Row) -> list[str]:
    now, settings = replay.now, replay.settings[replay.now["settings"]]
    found = []
    if now["round"] and replay.rounds[now["round"]]["stage"] in RUNNING:
        found.append(f"round {now['round']} was still running")
    if (e["epoch"], e["round"]) != (now["epoch"] + 1, now["round"]):
        found.append(f"epoch {e['epoch']} after {now['epoch']}, in round {now['round']}")
    shares = [
        Share(row["epoch"], round, client) for (_, round, client), row in replay.payments.items()
    ]
    past = [Withdrawal(epoch, **row) for epoch, row in sorted(replay.withdrawals.items())]
    new = Withdrawal(e["epoch"], e["client"], e["first"], e["round"])
    dim = json.loads(settings["body"])["dim"]
    again = remaining(connection, shares, [*past, new], dim)
    kept = read_epoch(connection, e["epoch"], dim)
    for name, one, other in zip(("V_g", "b_g"), kept, again, strict=True):
        if not _same(one, other):
            found.append(f"{name} is not the sum of what the others shared")
    return found


def _again(replay: Replay, e: Row, inputs: RoundInputs) -> Offers:
    here = replay.delivered(e["round"])
    kept = {who: row["payment"] for who, row in replay.standing(e["round"]).items() if who in here}
    add = replay.rounds[e["round"]]["attempt"] < round_settings(replay, e).attempts
    return deciding.decide_again(inputs, kept, add=add)


def _missed(replay: Replay, round: int) -> list[int]:
    """Clients whose offer stands and that have not delivered."""
    return sorted(set(replay.standing(round)) - replay.delivered(round))


def _differ(recorded: dict[str, Any], computed: dict[int, float]) -> list[str]:
    said = {int(client): amount for client, amount in recorded.items()}
    if list(said) != list(computed) and sorted(said) != sorted(computed):
        return [f"participants are {sorted(computed)}, not {sorted(said)}"]
    return [
        f"client {client} is owed {computed[client]:.10g}, not {amount:.10g}"
        for client, amount in said.items()
        if not math.isclose(amount, computed[client], rel_tol=CLOSE, abs_tol=CLOSE)
    ]


def _same(kept: Floats, again: Floats) -> bool:
    return bool(np.allclose(kept, again, rtol=CLOSE, atol=CLOSE * (1.0 + np.abs(again).max())))
