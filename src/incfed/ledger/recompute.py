"""Recomputes every decision, payment, V_g and b_g from what was recorded."""

from __future__ import annotations

import json
import math

import numpy as np
from sqlalchemy import Connection

from ..protocol import deciding
from ..protocol.deciding import Offers
from ..protocol.money import from_units
from ..protocol.open_round import OpenRound
from ..types import Floats
from .acts import round_settings
from .money import amounts, fractions
from .records import RUNNING, read_deliveries, read_epoch, read_round
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
        "decided": _decided,
        "barred": _barred,
        "closed": _closed,
        "void": _void,
        "paid_out": _paid_out,
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
    if now["paused"]:
        found.append("rounds were paused")
    return found


def _open(connection: Connection, replay: Replay, e: Row, failed: list[int]) -> OpenRound:
    round, settings = replay.rounds[e["round"]], round_settings(replay, e)
    past = {
        client: own._replace(gone=replay.clients[client]["revoked"])
        for client, own in replay.past.items()
    }
    return read_round(
        connection,
        settings,
        round=e["round"],
        epoch=round["epoch"],
        trigger=round["trigger"],
        spent=replay.spent,
        out=replay.out(e["round"], settings.barred_time) | set(failed),
        past=past,
        members=sum(not row["revoked"] for row in replay.clients.values()),
        last=replay.last,
    )


def _decided(connection: Connection, replay: Replay, e: Row) -> list[str]:
    round = e["round"]
    opened = _open(connection, replay, e, e["failed"])
    if e["attempt"] == 1:
        verdict, missed = deciding.decide_first(opened), []
    else:
        verdict, missed = _again(replay, e, opened), _missed(replay, round)
    found = _unbarred(replay, e)
    found += [] if sorted(e["failed"]) == missed else [f"not those who failed: {e['failed']}"]
    removed = {str(client): limit for client, limit in verdict.removed.items()}
    if removed != e.get("removed", {}):
        found.append(f"removed are {removed}")
    if verdict.data_only != e["data_only"]:
        found.append(f"data_only is {verdict.data_only}")
    if not math.isclose(e.get("gap", 0.0), verdict.gap, rel_tol=CLOSE, abs_tol=CLOSE):
        found.append(f"the gap is {verdict.gap:.10g}")
    found += _differ(e["offers"], verdict.payments, replay.digits)
    return found + _misbooked(replay, e)


def _void(connection: Connection, replay: Replay, e: Row) -> list[str]:
    uploaded = any(round == e["round"] for round, _ in replay.uploads)
    return ["somebody had uploaded"] if uploaded else []


def _barred(connection: Connection, replay: Replay, e: Row) -> list[str]:
    offer = replay.offers[e["round"], e["client"]]
    just = e["client"] in _missed(replay, e["round"]) and offer["accepted"] is not False
    just = just and e["round"] not in replay.interrupted
    just = just and e["until_time"] == round_settings(replay, e).barred_until(e["at"])
    return [] if just else [f"client {e['client']}: no reason to bar it so"]


def _unbarred(replay: Replay, e: Row) -> list[str]:
    """Clients that failed to deliver and were not barred for it."""
    until = round_settings(replay, e).barred_until(e["at"])
    if until is None or e["round"] in replay.interrupted:  # the coordinator itself was silent
        return []
    return [
        f"client {who} was not barred"
        for who in e["failed"]
        if replay.offers[e["round"], who]["accepted"] is not False
        and replay.clients[who]["barred_until"] != until
    ]


def _closed(connection: Connection, replay: Replay, e: Row) -> list[str]:
    opened = _open(connection, replay, e, [])
    owed = _offered(replay, e["round"])
    short = deciding.shortfall(opened, owed)
    owed = owed if short is None else {}
    found = _differ(e["payments"], owed, replay.digits) + _misbooked(replay, e)
    if e.get("short") != short:
        found.append(f"it fell short of {short}")
    if _missed(replay, e["round"]):
        found.append(f"not delivered: {_missed(replay, e['round'])}")
    sent = read_deliveries(connection, e["round"])
    server, closed = deciding.close(opened, Offers(owed, False), [sent[who] for who in owed])
    shared = server.shared
    V, b = read_epoch(connection, e["epoch"], len(shared.b))
    for name, kept, again in (("V_g", V, shared.V), ("b_g", b, shared.b)):
        if not _same(kept, again):
            found.append(f"{name} is not the sum of what was shared")
    for name in ("communication", "ratio", "idle"):
        if not math.isclose(e[name], getattr(closed, name), rel_tol=CLOSE):
            found.append(f"{name} is {getattr(closed, name):.10g}")
    if e["epoch"] != replay.now["epoch"] + 1:
        found.append(f"epoch {e['epoch']} after {replay.now['epoch']}")
    if not opened.server.money.affords(owed):
        found.append("the budget is overspent")
    return found


def _paid_out(connection: Connection, replay: Replay, e: Row) -> list[str]:
    found = []
    for round, recorded in e["payments"].items():
        key = replay.now["name"], int(round), e["client"]
        owed = replay.payments.get(key)
        if owed is None or recorded != owed["amount_units"]:
            found.append(f"client {e['client']} was not paid {recorded} in round {round}")
        if key in replay.payouts:
            found.append(f"round {round} was paid out to client {e['client']} before")
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
    body = json.loads(settings["body"])
    dim = body["dim"]
    subtract = bool(e.get("subtracted"))
    again = remaining(connection, shares, [*past, new], body, subtract)
    kept = read_epoch(connection, e["epoch"], dim)
    for name, stored, computed in zip(("V_g", "b_g"), kept, again, strict=True):
        if not _same(stored, computed):
            found.append(f"{name} is not what remains without the data of that client")
    return found


def _again(replay: Replay, e: Row, opened: OpenRound) -> Offers:
    here = replay.delivered(e["round"])
    kept = {who: paid for who, paid in _offered(replay, e["round"]).items() if who in here}
    add = replay.rounds[e["round"]]["attempt"] < round_settings(replay, e).attempts
    return deciding.decide_again(opened, kept, add=add)


def _offered(replay: Replay, round: int) -> dict[int, float]:
    """The payments of the offers that stand, by client."""
    return {
        client: from_units(row["payment_units"], replay.digits)
        for client, row in replay.standing(round).items()
    }


def _missed(replay: Replay, round: int) -> list[int]:
    """Clients whose offer stands and that have not delivered."""
    return sorted(set(replay.standing(round)) - replay.delivered(round))


def _misbooked(replay: Replay, e: Row) -> list[str]:
    """Where the sums in minor units are not those of the offers and payments: what is reserved for
    offers that stand, what is voided of offers that failed, and what is posted."""
    failed = e.get("failed", [])
    amounts = e["offers"] if e["kind"] == "decided" else e["payments"]
    sums = {"reserved" if e["kind"] == "decided" else "posted": sum(amounts.values())}
    if failed:
        lost = [replay.offers[e["round"], who]["payment_units"] for who in failed]
        sums["voided"] = sum(lost)
    sums["money_digits"] = replay.digits
    found = fractions(amounts.values())
    return found + [f"{name} is {due}" for name, due in sums.items() if e.get(name) != due]


def _differ(recorded: dict[str, int], computed: dict[int, float], digits: int) -> list[str]:
    said = amounts(recorded, digits)
    if list(said) != list(computed) and sorted(said) != sorted(computed):
        return [f"participants are {sorted(computed)}, not {sorted(said)}"]
    return [
        f"client {client} is owed {computed[client]:.10g}, not {amount:.10g}"
        for client, amount in said.items()
        if amount != computed[client]
    ]


def _same(kept: Floats, again: Floats) -> bool:
    return bool(np.allclose(kept, again, rtol=CLOSE, atol=CLOSE * (1.0 + np.abs(again).max())))
