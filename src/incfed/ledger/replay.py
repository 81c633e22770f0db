"""Replays the entries: what every table must contain if they are true."""

from __future__ import annotations

import json
from typing import Any

from ..protocol.money import from_units
from ..rules.limits import Limits, Past
from ..rules.rounds import DIGITS
from .chain import START, canonical
from .clients import is_barred
from .money import amounts
from .past import Sent, remember
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
        self.payouts: dict[tuple[str, int, int], Row] = {}
        self.withdrawals: dict[int, Row] = {}
        self.operators: dict[str, Row] = {}
        self.last = START  # the hash of the last entry
        self.digits = DIGITS  # of money: the same in all settings
        self.pruned_round, self.pruned_epoch = 0, 0
        self.interrupted: set[int] = set()  # rounds with a silence of the coordinator
        self._offered: dict[int, dict[int, Row]] = {}  # the same offers, by round
        self._sent: dict[int, set[int]] = {}
        self._uploads: dict[int, dict[int, Sent]] = {}  # of clients with data, by round
        self.past: dict[int, Past] = {}  # what limits depend on
        self.last_shared: dict[int, int] = {}  # in which round each client did

    @property
    def now(self) -> Row:
        return self.federation[1]

    def standing(self, round: int) -> dict[int, Row]:
        """Offers that were not declined or missed so far, by client."""
        own = sorted(self._offered.get(round, {}).items())
        return {client: row for client, row in own if not row["failed"]}

    def delivered(self, round: int) -> set[int]:
        return self._sent.get(round, set())

    def out(self, round: int, barred_time: float) -> set[int]:
        """Clients that are excluded from the round: barred, or failed in it."""
        failed = {who for who, row in self._offered.get(round, {}).items() if row["failed"]}
        opened = self.rounds[round]["opened"]
        return failed | {
            who
            for who, row in self.clients.items()
            if is_barred(row["barred_until"], opened, barred_time)
        }

    def unshared_since(self, client: int) -> float:
        """When the round opened in which a client last shared, or when it enrolled: what it has not
        shared is younger."""
        last = self.last_shared.get(client)
        found: float = self.clients[client]["enrolled"]
        return found if last is None else float(self.rounds[last]["opened"])

    def last_shared_epoch(self, client: int) -> int:
        """That a client's last share made; 0: it has shared nothing."""
        last = self.last_shared.get(client)
        if last is None:
            return 0
        return int(self.payments[self.now["name"], last, client]["epoch"])

    @property
    def spent(self) -> float:
        """All payments so far."""
        return from_units(self.now["posted_units"], self.digits)

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
            "paid_out": self._paid_out,
            "operator": self._operator,
            "paused": self._paused,
            "resumed": self._paused,
        }[e["kind"]](e)

    def _founded(self, e: Row) -> None:
        row = {"name": e["name"], "settings": 1, "version": 1, "round": 0, "epoch": 0}
        money = {"reserved_units": 0, "posted_units": 0}
        self.federation[1] = {**row, **money, "paused": False}
        self.epochs[0] = {"round": 0, "V": e["V"], "b": e["b"]}

    def _settings(self, e: Row) -> None:
        self.settings[e["settings"]] = {"body": canonical(e["body"]), "by": e.get("by")}
        self.digits = e["body"]["money_digits"]
        if e["settings"] > 1:
            self.now["settings"] = e["settings"]
            self.now["version"] += 1

    def _enrolled(self, e: Row) -> None:
        row = {"name": e["name"], "token": e["token"], "revoked": False}
        row |= {"enrolled": e["at"], "barred_until": None, "key": None}
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
        if "silence" in e:
            self.interrupted.add(e["round"])

    def _uploaded(self, e: Row) -> None:
        row = {name: e[name] for name in ("epoch", "steps", "form", "numbers")}
        self.uploads[e["round"], e["client"]] = {**row, "cost_units": e["cost"]}
        if e["steps"] > 0:
            sent = Sent(from_units(e["cost"], self.digits), e["steps"])
            self._uploads.setdefault(e["round"], {})[e["client"]] = sent

    def _decided(self, e: Row) -> None:
        for client in e["failed"]:
            self.offers[e["round"], client]["failed"] = True
        for client, payment in e["offers"].items():
            fresh = {"accepted": None, "failed": False}
            offer = self.offers.setdefault((e["round"], int(client)), fresh)
            offer.update(attempt=e["attempt"], payment_units=payment)
            self._offered.setdefault(e["round"], {})[int(client)] = offer
        changes = {"stage": OFFERED, "attempt": e["attempt"], "deadline": e["deadline"]}
        self.rounds[e["round"]].update(changes)
        self.now["reserved_units"] = e["reserved"]
        self.now["version"] += 1

    def _answered(self, e: Row) -> None:
        self.offers[e["round"], e["client"]]["accepted"] = e["accepted"]

    def _delivered(self, e: Row) -> None:
        self.deliveries[e["round"], e["client"]] = {"db": e["db"]}
        self._sent.setdefault(e["round"], set()).add(e["client"])
        self.offers[e["round"], e["client"]]["accepted"] = True

    def _barred(self, e: Row) -> None:
        self.clients[e["client"]]["barred_until"] = e["until_time"]

    def _closed(self, e: Row) -> None:
        self.epochs[e["epoch"]] = {"round": e["round"], "V": e["V"], "b": e["b"]}
        for client, amount in e["payments"].items():
            key = self.now["name"], e["round"], int(client)
            self.payments[key] = {"epoch": e["epoch"], "amount_units": amount}
            self.last_shared[int(client)] = e["round"]
        self.now["reserved_units"] = 0
        self.now["posted_units"] += sum(e["payments"].values())
        self.now["epoch"] = e["epoch"]
        self._remember(e)
        self._end(e, CLOSED)

    def _remember(self, e: Row) -> None:
        body = json.loads(self.settings[self.rounds[e["round"]]["settings"]]["body"])
        limits = Limits(**body["limits"])
        payments = amounts(e["payments"], self.digits)
        uploads = self._uploads.pop(e["round"], {})
        self.past |= remember(self.past, limits, uploads, payments, self.digits)

    def _void(self, e: Row) -> None:
        self._end(e, VOID)

    def _withdrawn(self, e: Row) -> None:
        self.past[e["client"]] = self.past[e["client"]]._replace(steps=0)
        self.epochs[e["epoch"]] = {"round": e["round"], "V": e["V"], "b": e["b"]}
        self.withdrawals[e["epoch"]] = {
            "client": e["client"], "first": e["first"], "last": e["round"]
        }  # fmt: skip
        self.now["epoch"] = e["epoch"]
        self.now["version"] += 1

    def _pruned(self, e: Row) -> None:
        self.pruned_round, self.pruned_epoch = e["round"], e["epoch"]

    def _paid_out(self, e: Row) -> None:
        for round in e["payments"]:
            key = self.now["name"], int(round), e["client"]
            self.payouts[key] = {"by": e["by"], "at": e["at"]}

    def _operator(self, e: Row) -> None:
        row = {name: e[name] for name in ("token", "role", "revoked")}
        self.operators[e["name"]] = row

    def _paused(self, e: Row) -> None:
        self.now["paused"] = e["kind"] == "paused"
        self.now["version"] += 1

    def _end(self, e: Row, stage: str) -> None:
        self.rounds[e["round"]].update(stage=stage, ended=e["at"], deadline=None)
        self.now["version"] += 1
