"""Plays the events of a federation's life through the service: what knows today's API is here.

A trace's inputs say nothing of wire formats, tables or files:

    settings: the [federation] of a config
    members: {"name": ..., "key": a seed, if it signs what it sends} of each client; its id is its
    place here
    events: in order of time, each {"at": seconds since the start, "do": ..., ...} with

        poll       clients      these are there, and ask for the state
        open       client, epoch, after, noisy
        signal     client, epoch, learned, steps, growth, price; rows or dV, if they are streamed
        upload     client, round, epoch, steps, price, dV
        answer     client, round, attempt, accepted
        deliver    client, round, db; scores, if there are any
        download   client, since, model
        key        client       it registers its key
        restart                 the coordinator was away since the event before, and is started anew
        pause, resume; change (settings); withdraw, revoke, pay_out (client)
                                what an operator does

    dV is {"factor": rows of R}, {"matrix": rows of dV}.

The coordinator looks at its clock every half second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from incfed.errors import InputError
from incfed.ledger.audit import audit
from incfed.ledger.clients import enrol, revoke
from incfed.ledger.federation import change_settings, set_paused
from incfed.ledger.payouts import mark_paid_out
from incfed.ledger.records import read_epoch
from incfed.ledger.roster import history
from incfed.ledger.settings import Settings
from incfed.ledger.withdrawal import withdraw
from incfed.protocol.checks import Refusal
from incfed.protocol.floats import to_bytes
from incfed.protocol.messages import Answer, Delivery, Signal, Upload
from incfed.protocol.money import to_units
from incfed.protocol.packing import FACTOR, Packed, pack_matrix
from incfed.protocol.statements import ANSWERED, DELIVERED, UPLOADED, statement, upload_fields
from incfed.support.signing import digest, public_key, sign
from support.federation import Clock
from support.single_messages import SingleCoordinator
from support.sqlite import Disk

TICK = 0.5  # seconds
BY = "operator"
DECISION = "attempt", "failed", "offers", "data_only", "gap", "removed"
OUTCOME = "payments", "ratio", "idle", "communication", "short"


def play(inputs: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """All that came of these inputs."""
    driver = Driver(inputs["settings"], inputs["members"], folder)
    try:
        for event in inputs["events"]:
            driver.play(event)
        return driver.outputs()
    finally:
        driver.close()


class Driver:
    """A federation in one process, with a clock that moves from event to event."""

    def __init__(
        self, config: Mapping[str, Any], members: list[dict[str, Any]], folder: Path
    ) -> None:
        self._config, self._members = dict(config), members
        self._clock = Clock()
        self._start = self._clock.now
        self._store = Disk(folder).store
        self._ticks = self._count = 0  # of the coordinator, and events
        self._rounds: dict[int, dict[str, Any]] = {}
        self._refused: list[list[Any]] = []
        self._downloads: list[dict[str, Any]] = []
        self._uploads: dict[tuple[int, int], Upload] = {}  # by client and round, to sign deliveries
        self._settings = Settings.read(self._config, folder)
        self._folder = folder
        self._begin()
        with self._store.write() as connection:
            for member in members:
                enrol(connection, member["name"], self._clock())

    def close(self) -> None:
        self._store.close()

    def play(self, event: Mapping[str, Any]) -> Any:
        """What came of this event; None: it was refused."""
        self._pass_time(event["at"], running=event["do"] != "restart")
        try:
            return getattr(self, f"_{event['do']}")(event)
        except Refusal as refusal:
            self._refused.append([self._count, getattr(refusal, "status", 422), refusal.field])
        except InputError:  # what an operator does is not refused by a field
            self._refused.append([self._count, None, event["do"]])
        finally:
            self._count += 1
        return None

    def outputs(self) -> dict[str, Any]:
        """Every decision, refusal and download, V_g and b_g of each epoch, and what each client
        got."""
        dim, now = self._settings.dim, self._clock()
        with self._store.read() as connection:
            epochs = [
                read_epoch(connection, epoch, dim)
                for epoch in range(self._coordinator.overview().epoch + 1)
            ]
            clients = [history(connection, client, now) for client in range(len(self._members))]
            findings = audit(connection).findings
        return {
            "rounds": list(self._rounds.values()),
            "refused": self._refused,
            "downloads": self._downloads,
            "epochs": [{"V": V[np.triu_indices(dim)], "b": b} for V, b in epochs],
            "spent": self._units(self._coordinator.overview().spent),
            "clients": [
                {
                    "state": known.client.state,
                    "rounds": known.client.rounds,
                    "steps": known.client.steps,
                    "nats": known.client.nats,
                    "paid": self._units(known.client.paid),
                    "paid_out": self._units(known.paid_out),
                }
                for known in clients
            ],
            "findings": len(findings),
        }

    # ------------------------------------------------------------------------------ clients

    def _poll(self, event: Mapping[str, Any]) -> Any:
        return self._coordinator.all_states(event["clients"])

    def _open(self, event: Mapping[str, Any]) -> Any:
        return self._coordinator.open_round(
            event["client"], event["epoch"], event["after"], noisy=event["noisy"]
        )

    def _signal(self, event: Mapping[str, Any]) -> Any:
        rows = np.array(event["rows"]) if "rows" in event else None
        dV = _packed(event["dV"], self._settings.dim) if "dV" in event else None
        figures = {name: event[name] for name in ("epoch", "learned", "steps", "growth")}
        signal = Signal(**figures, cost=event["price"], rows=rows, dV=dV)
        return self._coordinator.signal(event["client"], signal)

    def _upload(self, event: Mapping[str, Any]) -> Any:
        figures = {name: event[name] for name in ("round", "epoch", "steps")}
        dV = _packed(event["dV"], self._settings.dim)
        upload = Upload(**figures, cost=event["price"], dV=dV)
        client = event["client"]
        self._uploads.setdefault((client, upload.round), upload)
        signature = self._signed(client, UPLOADED, upload_fields(client, upload))
        return self._coordinator.upload(client, upload._replace(signature=signature))

    def _answer(self, event: Mapping[str, Any]) -> Any:
        said = {name: event[name] for name in ("round", "attempt", "accepted")}
        client = event["client"]
        signature = self._signed(client, ANSWERED, {**said, "client": client})
        return self._coordinator.answer(client, Answer(**said, signature=signature))

    def _deliver(self, event: Mapping[str, Any]) -> Any:
        client, round, db = event["client"], event["round"], np.array(event["db"])
        scores = np.array(event["scores"]) if "scores" in event else None
        sent = self._uploads.get((client, round))
        price = {} if sent is None else {"steps": sent.steps, "cost": sent.cost}
        fields = {"round": round, "client": client, "db": digest(to_bytes(db)), **price}
        signature = self._signed(client, DELIVERED, fields)
        delivery = Delivery(round, db, scores=scores, signature=signature)
        return self._coordinator.deliver(client, delivery)

    def _download(self, event: Mapping[str, Any]) -> Any:
        found = self._coordinator.download(event["client"], event["since"], event["model"])
        self._downloads.append({
            "event": self._count, "epoch": found.epoch, "withdrawn": found.withdrawn,
            "shared": {round: self._units(paid) for round, paid in found.shared.items()},
            "scores": found.scores,
        })  # fmt: skip
        return found

    def _key(self, event: Mapping[str, Any]) -> Any:
        key = public_key(self._private(event["client"]))
        return self._coordinator.register_key(event["client"], key)

    def _private(self, client: int) -> bytes:
        return hashlib.sha256(f"key {self._members[client]['key']}".encode()).digest()

    def _signed(self, client: int, kind: str, fields: Mapping[str, Any]) -> str | None:
        """The signature of a client that signs."""
        if "key" not in self._members[client]:
            return None
        identity = self._coordinator.settings().identity
        return sign(self._private(client), statement(identity, kind, fields))

    # ---------------------------------------------------------------------------- operators

    def _restart(self, event: Mapping[str, Any]) -> Any:
        self._begin()
        return True

    def _pause(self, event: Mapping[str, Any], paused: bool = True) -> Any:
        with self._store.write() as connection:
            set_paused(connection, paused, BY, self._clock())
        return True

    def _resume(self, event: Mapping[str, Any]) -> Any:
        return self._pause(event, paused=False)

    def _change(self, event: Mapping[str, Any]) -> Any:
        self._config |= event["settings"]
        new = Settings.read(self._config, self._folder)
        changes = {name: getattr(new, name) for name in event["settings"]}
        with self._store.write() as connection:
            return change_settings(connection, changes, BY, self._clock())

    def _withdraw(self, event: Mapping[str, Any]) -> Any:
        with self._store.write() as connection:
            return withdraw(connection, event["client"], self._clock(), by=BY)

    def _revoke(self, event: Mapping[str, Any]) -> Any:
        with self._store.write() as connection:
            return revoke(connection, event["client"], self._clock(), BY)

    def _pay_out(self, event: Mapping[str, Any]) -> Any:
        with self._store.write() as connection:
            return mark_paid_out(connection, event["client"], BY, self._clock())

    # --------------------------------------------------------------------- time and outputs

    def _begin(self) -> None:
        self._coordinator = SingleCoordinator(
            self._store, self._settings, self._clock, on_event=self._note
        )

    def _pass_time(self, at: float, running: bool) -> None:
        """Until then, with a coordinator that is running or not."""
        for tick in range(self._ticks + 1, int(at / TICK) + 1):
            self._clock.now = self._start + tick * TICK
            if running:
                self._coordinator.tick()
        self._ticks, self._clock.now = int(at / TICK), self._start + at

    def _note(self, said: dict[str, Any]) -> None:
        """Keep what an event of a round says, without digests and signatures."""
        kind, now = said["event"], self._clock.now - self._start
        if "round" not in said:
            return
        if kind == "opened":
            self._rounds[said["round"]] = {
                "round": said["round"], "trigger": said["client"], "epoch": said["epoch"],
                "opened": now, "uploads": {}, "answers": [], "decisions": [], "barred": [],
                "deadlines": [],
            }  # fmt: skip
        round = self._rounds[said["round"]]
        if kind == "uploaded":
            round["uploads"][said["client"]] = [said["epoch"], said["steps"], said["cost"]]
        elif kind in ("answered", "delivered"):
            round["answers"].append([said["client"], said.get("accepted", kind)])
        elif kind == "decided":
            round["decisions"].append({"at": now} | _chosen(said, DECISION))
        elif kind == "barred":
            round["barred"].append([said["client"], said["until_time"] - self._start])
        elif kind == "deadline":
            round["deadlines"].append([now, said["deadline"] - self._start])
        elif kind in ("closed", "void"):
            round |= {"state": kind, "ended": now} | _chosen(said, OUTCOME)

    def _units(self, amount: float) -> int:
        return to_units(amount, self._config["money_digits"])


def _chosen(said: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: said[name] for name in names if name in said}


def _packed(dV: Mapping[str, Any], dim: int) -> Packed:
    if "matrix" in dV:
        return pack_matrix(np.array(dV["matrix"]))
    return Packed(FACTOR, dim, np.array(dV["factor"], float).ravel())
