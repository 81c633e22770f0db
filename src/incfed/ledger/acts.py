"""Acts of clients, for the audit: was what an entry says allowed when it was done?

The stage of the round, who may act in it, the bounds and limits of uploads, resale, and whether an
upload is what the client streamed for it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from sqlalchemy import Connection

from ..protocol.checks import Refusal, check_delivery, check_upload
from ..protocol.resale import Downloaded
from ..protocol.statements import ANSWERED, DELIVERED, FIELDS, UPLOADED
from ..rules.rounds import EVERYONE
from . import tables
from .money import fractions
from .records import OFFERED, OPEN, RUNNING, from_bytes, read_own, read_upload
from .replay import Replay, Row
from .settings import Settings
from .sketches import checked_sketches

STAGES = {  # in which an entry about a round can be made
    UPLOADED: (OPEN,), "void": (OPEN,), "deadline": RUNNING, "decided": RUNNING,
    ANSWERED: (OFFERED,), DELIVERED: (OFFERED,), "barred": (OFFERED,), "closed": (OFFERED,),
}  # fmt: skip


class Acts:
    """Checks the acts in a ledger, one after the other."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last = -1, Downloaded([])

    def faults(self, replay: Replay, e: Row) -> Iterator[str]:
        """Yield each fault of an entry, given all entries before it: first those that these tell
        by themselves, then those that statistics tell. Pruned if the statistics are gone."""
        kind = e["kind"]
        if kind in STAGES:
            yield from _misplaced(replay, e)
        if kind in FIELDS and replay.clients[e["client"]]["revoked"]:
            yield f"client {e['client']} was revoked"
        if kind == UPLOADED:
            yield from self._uploaded(replay, e)
        elif kind == ANSWERED:
            yield from _answered(replay, e)
        elif kind == DELIVERED:
            yield from self._delivered(replay, e)

    @property
    def wrong_sketches(self) -> list[str]:
        """Sketches, by which resale is recognised, that are not those of V_g; as far as any were
        needed."""
        if "_sketches" not in vars(self):
            return []
        return [f"sketches {epoch}: not those of V_g" for epoch in self._sketches[2]]

    def _uploaded(self, replay: Replay, e: Row) -> Iterator[str]:
        who, settings = f"client {e['client']}", round_settings(replay, e)
        if (e["round"], e["client"]) in replay.uploads:
            yield f"{who} had uploaded before"
            return
        yield from fractions([e["cost"]])
        yield from _outdated(replay, e, settings)
        if e["steps"] > settings.most_steps(e["at"] - replay.unshared_since(e["client"])):
            yield f"{who}: more steps than steps_per_second allows"
        row = read_own(self._connection, tables.uploads, e["round"], e["client"])
        upload = read_upload(row, settings)
        check_upload(upload, settings.bounds)
        if e["steps"] and settings.limits.refuse_resale:
            try:
                self._downloaded(replay.now["epoch"]).check(upload.dV)
            except Refusal:
                yield f"{who}: only what was downloaded before (limits.refuse_resale)"

    def _delivered(self, replay: Replay, e: Row) -> Iterator[str]:
        who, key = f"client {e['client']}", (e["round"], e["client"])
        if key in replay.deliveries:
            yield f"{who} had delivered before"
            return
        settings, offer = round_settings(replay, e), replay.offers.get(key)
        if offer is None or offer["failed"]:
            yield f"{who} had no offer"
            return
        if offer["accepted"] is False:
            yield f"{who} had declined its offer"
        upload = read_upload(read_own(self._connection, tables.uploads, *key), settings)
        sent = read_own(self._connection, tables.deliveries, *key)
        check_delivery(from_bytes(sent.db), upload.dV, upload.steps, settings.bounds)

    def _downloaded(self, epoch: int) -> Downloaded:
        """The data that clients could have downloaded when this was the current epoch."""
        if self._last[0] != epoch:
            epochs, known, _ = self._sketches
            self._last = epoch, known.first(bisect_right(epochs, epoch))
        return self._last[1]

    @cached_property
    def _sketches(self) -> tuple[list[int], Downloaded, list[int]]:
        """Epochs, in order, what could be downloaded in all of them, and those with a wrong one."""
        known, wrong = checked_sketches(self._connection)
        return list(known), Downloaded(list(known.values())), wrong


def round_settings(replay: Replay, e: Row) -> Settings:
    """The settings of the round that an entry is about."""
    number = replay.rounds[e["round"]]["settings"]
    return Settings.of(json.loads(replay.settings[number]["body"]))


def _misplaced(replay: Replay, e: Row) -> list[str]:
    """Where the round was not at that stage."""
    number, round = e["round"], replay.rounds[e["round"]]
    allowed = STAGES[e["kind"]]
    if e["kind"] == "decided":
        allowed = (OPEN,) if e["attempt"] == 1 else (OFFERED,)
    found = [] if number == replay.now["round"] else ["not about the last round"]
    if round["stage"] not in allowed:
        found.append(f"the round was {round['stage']}, not {' or '.join(allowed)}")
    if e["kind"] == "decided" and e["attempt"] != round["attempt"] + 1:
        found.append(f"attempt {e['attempt']} after {round['attempt']}")
    return found


def _answered(replay: Replay, e: Row) -> list[str]:
    who, offer = f"client {e['client']}", replay.offers.get((e["round"], e["client"]))
    if offer is None or offer["failed"]:
        return [f"{who} had no offer"]
    if offer["attempt"] != e["attempt"]:
        return [f"{who}: the offer was of attempt {offer['attempt']}"]
    return [] if offer["accepted"] is None else [f"{who} had answered before"]


def _outdated(replay: Replay, e: Row, settings: Settings) -> list[str]:
    """Where an upload may hold what its client has shared before, or is for another epoch."""
    who, current = f"client {e['client']}", replay.now["epoch"]
    oldest = replay.last_shared_epoch(e["client"])
    if settings.download == EVERYONE:
        oldest = max(oldest, current - settings.lag)
    elif not e["steps"]:
        oldest = 0
    found = []
    if not oldest <= e["epoch"] <= current:
        found.append(f"{who}: epoch {e['epoch']} is not from {oldest} to {current}")
    if "learned" in e:  # it was streamed
        due = current if settings.download == EVERYONE else e["known"]
        if e["epoch"] != due:
            found.append(f"{who}: epoch {e['epoch']}, where {due} was due")
        if e["since"] != replay.last_shared.get(e["client"], 0):
            found.append(f"{who}: some of these steps were shared before")
    return found
