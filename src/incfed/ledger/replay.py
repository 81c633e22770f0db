"""Replays the entries: what every table must contain if they are true."""

from __future__ import annotations

from typing import Any

from .chain import canonical
from .records import CLOSED, OFFERED, OPEN, VOID

Row = dict[str, Any]


class Replay:
    """Every table, by primary key; digests take the place of blobs."""

    def __init__(self) -> None:
        self.federation: dict[int, Row] = {}
        self.settings: dict[int, Row] = {}
        self.clients: dict[int, Row] = {}
        self.rounds: dict[int, Row] = {}
        self.uploads: dict[tuple[int, int], Row] = {}
        self.offers: dict[tuple[int, int], Row] = {}
        self.deliveries: dict[tuple[int, int], Row] = {}
        self.epochs: dict[int, Row] = {}
        self.payments: dict[tuple[str, int, int], Row] = {}
        self.withdrawals: dict[int, Row] = {}
        self.pruned_round, self.pruned_epoch = 0, 0
        self._offered: dict[int, dict[int, Row]] = {}  # the same offers, by round
        self._sent: dict[int, set[int]] = {}

    @property
    def now(self) -> Row:
        return self.federation[1]

    def standing(self, round: int) -> dict[int, Row]:
        """Offers that were not declined or missed so far, by client."""
        own = sorted(self._offered.get(round, {}).items())
        return {client: row for client, row in own if not row["failed"]}

    def delivered(self, round: int) -> set[int]:
        return self._sent.get(round, set())

    def out(self, round: int) -> set[int]:
        """Clients that are excluded from the round: barred, or failed in it."""
        failed = {who for who, row in self._offered.get(round, {}).items() if row["failed"]}
        return failed | {client for client, row in self.clients.items() if row["barred"] >= round}

    def apply(self, e: Row) -> None:
        """Apply one entry. A KeyError: it refers to something that does not exist."""
        {
            "founded": self._founded,
            "settings": self._settings,
            "enrolled": self._enrolled,
            "revoked": self._revoked,
            "key": self._key,
            "opened": self._opened,
            "deadline": self._deadline,
            "uploaded": self._uploaded,
            "decided": self._decided,
            "answered": self._answered,
            "delivered": self._delivered,
            "barred": self._barred,
            "closed": self._closed,
            "void": self._void,
            "withdrawn": self._withdrawn,
            "pruned": self._pruned,
        }[e["kind"]](e)

    def _founded(self, e: Row) -> None:
        row = {"name": e["name"], "settings": 1, "version": 1, "round": 0, "epoch": 0}
        self.federation[1] = {**row, "spent": 0.0}
        self.epochs[0] = {"round": 0, "V": e["V"], "b": e["b"]}

    def _settings(self, e: Row) -> None:
        self.settings[e["settings"]] = {"body": canonical(e["body"])}
        if e["settings"] > 1:
            self.now["settings"] = e["settings"]
            self.now["version"] += 1

    def _enrolled(self, e: Row) -> None:
        row = {"name": e["name"], "token": e["token"], "revoked": False, "barred": 0}
        row["key"] = None
        self.clients[e["client"]] = row

    def _revoked(self, e: Row) -> None:
        self.clients[e["client"]]["revoked"] = True

    def _key(self, e: Row) -> None:
        self.clients[e["client"]]["key"] = e["key"]

    def _opened(self, e: Row) -> None:
        self.rounds[e["round"]] = {
            "stage": OPEN, "settings": e["settings"], "epoch": e["epoch"], "trigger": e["client"],
            "opened": e["at"], "deadline": e["deadline"], "attempt": 0, "ended": None,
        }  # fmt: skip
        self.now["round"] = e["round"]
        self.now["version"] += 1

    def _deadline(self, e: Row) -> None:
        self.rounds[e["round"]]["deadline"] = e["deadline"]

    def _uploaded(self, e: Row) -> None:
        names = ("epoch", "steps", "cost", "form", "numbers")
        self.uploads[e["round"], e["client"]] = {name: e[name] for name in names}

    def _decided(self, e: Row) -> None:
        for client in e["failed"]:
            self.offers[e["round"], client]["failed"] = True
        for client, payment in e["offers"].items():
            fresh = {"accepted": None, "failed": False}
            offer = self.offers.setdefault((e["round"], int(client)), fresh)
            offer.update(attempt=e["attempt"], payment=payment)
            self._offered.setdefault(e["round"], {})[int(client)] = offer
        changes = {"stage": OFFERED, "attempt": e["attempt"], "deadline": e["deadline"]}
        self.rounds[e["round"]].update(changes)
        self.now["version"] += 1

    def _answered(self, e: Row) -> None:
        self.offers[e["round"], e["client"]]["accepted"] = e["accepted"]

    def _delivered(self, e: Row) -> None:
        self.deliveries[e["round"], e["client"]] = {"db": e["db"]}
        self._sent.setdefault(e["round"], set()).add(e["client"])
        self.offers[e["round"], e["client"]]["accepted"] = True

    def _barred(self, e: Row) -> None:
        self.clients[e["client"]]["barred"] = e["until"]

    def _closed(self, e: Row) -> None:
        self.epochs[e["epoch"]] = {"round": e["round"], "V": e["V"], "b": e["b"]}
        for client, amount in e["payments"].items():
            key = self.now["name"], e["round"], int(client)
            self.payments[key] = {"epoch": e["epoch"], "amount": amount}
        self.now["epoch"] = e["epoch"]
        self._end(e, CLOSED)

    def _void(self, e: Row) -> None:
        self._end(e, VOID)

    def _withdrawn(self, e: Row) -> None:
        self.epochs[e["epoch"]] = {"round": e["round"], "V": e["V"], "b": e["b"]}
        self.withdrawals[e["epoch"]] = {
            "client": e["client"], "first": e["first"], "last": e["round"]
        }  # fmt: skip
        self.now["epoch"] = e["epoch"]
        self.now["version"] += 1

    def _pruned(self, e: Row) -> None:
        self.pruned_round, self.pruned_epoch = e["round"], e["epoch"]

    def _end(self, e: Row, stage: str) -> None:
        self.rounds[e["round"]].update(stage=stage, ended=e["at"], deadline=None)
        self.now["version"] += 1
