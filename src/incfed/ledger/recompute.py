"""Every decision, payment and V_g, b_g once more, from what was recorded."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from sqlalchemy import Connection

from ..kernels.factor import Floats
from ..protocol import deciding
from ..protocol.checks import check_delivery, check_upload
from ..protocol.deciding import Table, Verdict
from . import tables
from .records import (
    RUNNING,
    from_bytes,
    lay_table,
    read_deliveries,
    read_epoch,
    read_own,
    read_upload,
)
from .replay import Model, Row
from .settings import Settings

CLOSE = 1e-9  # relative: another machine rounds differently


def disagreements(connection: Connection, model: Model, e: Row) -> list[str]:
    """What entry `e` says against what follows from all before it (`model`).

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
    }.get(e["kind"])
    return [] if check is None else check(connection, model, e)


def _changed(connection: Connection, model: Model, e: Row) -> list[str]:
    Settings.of(e["body"])  # MissingCode: better now than after half of the entries
    return [] if e["settings"] == len(model.settings) + 1 else ["not the next settings"]


def _opened(connection: Connection, model: Model, e: Row) -> list[str]:
    now = model.now
    found = [
        f"{name} {e[name]}, where {expected} was due"
        for name, expected in (("round", now["round"] + 1), ("epoch", now["epoch"]),
                               ("settings", now["settings"]))
        if e[name] != expected
    ]  # fmt: skip
    if now["round"] and model.rounds[now["round"]]["stage"] in RUNNING:
        found.append(f"round {now['round']} was still running")
    if model.clients[e["client"]]["revoked"]:
        found.append(f"client {e['client']} was shut out")
    return found


def _settings(model: Model, e: Row) -> Settings:
    number = model.rounds[e["round"]]["settings"]
    return Settings.of(json.loads(model.settings[number]["body"]))


def _table(connection: Connection, model: Model, e: Row, failed: list[int]) -> Table:
    round = model.rounds[e["round"]]
    return lay_table(
        connection,
        _settings(model, e),
        round=e["round"],
        epoch=round["epoch"],
        trigger=round["trigger"],
        spent=model.now["spent"],
        out=model.out(e["round"]) | set(failed),
    )


def _uploaded(connection: Connection, model: Model, e: Row) -> list[str]:
    settings = _settings(model, e)
    row = read_own(connection, tables.uploads, e["round"], e["client"])
    check_upload(read_upload(row, settings.dim), settings.limits)
    return []


def _delivered(connection: Connection, model: Model, e: Row) -> list[str]:
    settings = _settings(model, e)
    row = read_own(connection, tables.uploads, e["round"], e["client"])
    upload = read_upload(row, settings.dim)
    sent = read_own(connection, tables.deliveries, e["round"], e["client"])
    check_delivery(from_bytes(sent.db), upload.dV, upload.steps, settings.limits)
    return []


def _decided(connection: Connection, model: Model, e: Row) -> list[str]:
    round = e["round"]
    table = _table(connection, model, e, e["failed"])
    if e["attempt"] == 1:
        verdict, missed = deciding.decide(table), []
    else:
        verdict, missed = _again(model, e, table), _missed(model, round)
    found = _unbarred(model, e)
    found += [] if sorted(e["failed"]) == missed else [f"not those who failed: {e['failed']}"]
    if verdict.data_only != e["data_only"]:
        found.append(f"data_only is {verdict.data_only}")
    return found + _differ(e["offers"], verdict.payments)


def _void(connection: Connection, model: Model, e: Row) -> list[str]:
    uploaded = any(round == e["round"] for round, _ in model.uploads)
    return ["somebody had uploaded"] if uploaded else []


def _barred(connection: Connection, model: Model, e: Row) -> list[str]:
    offer = model.offers[e["round"], e["client"]]
    just = e["client"] in _missed(model, e["round"]) and offer["accepted"] is not False
    until = e["round"] + _settings(model, e).barred_rounds
    return [] if just and e["until"] == until else [f"client {e['client']}: no reason to bar it so"]


def _unbarred(model: Model, e: Row) -> list[str]:
    """Who let others down, and was not barred for it."""
    rounds = _settings(model, e).barred_rounds
    return [
        f"client {who} was not barred"
        for who in e["failed"]
        if rounds
        and model.offers[e["round"], who]["accepted"] is not False
        and model.clients[who]["barred"] != e["round"] + rounds
    ]


def _closed(connection: Connection, model: Model, e: Row) -> list[str]:
    standing = model.standing(e["round"])
    owed = {client: row["payment"] for client, row in standing.items()}
    found = _differ(e["payments"], owed)
    if _missed(model, e["round"]):
        found.append(f"not delivered: {_missed(model, e['round'])}")
    table = _table(connection, model, e, [])
    sent = read_deliveries(connection, e["round"])
    shared, closed = deciding.close(table, Verdict(owed, False), [sent[who] for who in owed])
    V, b = read_epoch(connection, e["epoch"], table.dim)
    for name, kept, again in (("V_g", V, shared.V), ("b_g", b, shared.b)):
        if not _same(kept, again):
            found.append(f"{name} is not the sum of what was shared")
    for name in ("communication", "ratio", "idle"):
        if not math.isclose(e[name], getattr(closed, name), rel_tol=CLOSE):
            found.append(f"{name} is {getattr(closed, name):.10g}")
    if e["epoch"] != model.now["epoch"] + 1:
        found.append(f"epoch {e['epoch']} after {model.now['epoch']}")
    if not table.affords(Verdict(owed, False)):
        found.append("the budget is overspent")
    model.now["spent"] += Verdict(owed, False).total
    return found


def _again(model: Model, e: Row, table: Table) -> Verdict:
    here = model.delivered(e["round"])
    kept = {who: row["payment"] for who, row in model.standing(e["round"]).items() if who in here}
    add = model.rounds[e["round"]]["attempt"] < _settings(model, e).attempts
    return deciding.decide_again(table, kept, add=add)


def _missed(model: Model, round: int) -> list[int]:
    """Whose offer stands, and who has not delivered."""
    return sorted(set(model.standing(round)) - model.delivered(round))


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
