"""The state of a tour, built from the clients' reports and the coordinator's log."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .options import TourOptions

KEPT = 12  # rounds that are shown


@dataclass
class ClientStatus:
    """A client, as it last reported."""

    name: str
    cost: float
    steps: int = 0
    epoch: int = 0
    pending: int = 0
    earned: float = 0.0
    scalars: int = 0
    bytes: int = 0
    regret: float = 0.0
    alone: float = 0.0  # regret of a learner that sees the same and shares nothing
    problem: str | None = None
    state: str = "starting"  # up, down


@dataclass
class RoundStatus:
    """A round, as far as the log tells."""

    number: int
    opener: int | None  # None: it was open before the tour began
    stage: str = "open"  # offered, closed, void
    uploaded: set[int] = field(default_factory=set)
    offers: dict[int, float] = field(default_factory=dict)
    delivered: set[int] = field(default_factory=set)
    payments: dict[int, float] = field(default_factory=dict)
    data_only: bool = False
    ratio: float = 0.0
    left: float = 0.0  # of the budget, after it


class TourState:
    def __init__(self, options: TourOptions, closed: int = 0, spent: float = 0.0) -> None:
        """`closed`, `spent`: rounds and money of earlier tours in this folder."""
        self.clients = [
            ClientStatus(*one) for one in zip(options.names, options.costs, strict=True)
        ]
        self.budget, self.spent = options.budget, spent
        self.rounds: deque[RoundStatus] = deque(maxlen=KEPT)
        self.closed = closed
        self.earlier_steps = 0  # made in earlier tours
        self.messages: list[str] = []  # what happened, in sentences

    @property
    def left(self) -> float:
        return self.budget - self.spent

    @property
    def steps(self) -> int:
        return sum(one.steps for one in self.clients)

    def say(self, text: str) -> None:
        self.messages.append(text)

    def report(self, who: int, report: dict[str, Any]) -> None:
        client = self.clients[who]
        if client.state == "starting":
            self.earlier_steps += report["steps"]
        for name, value in report.items():
            setattr(client, name, value)
        client.state = "up"

    def log(self, line: dict[str, Any]) -> None:
        """Take in a line of the coordinator's log; only events of rounds matter."""
        if "event" not in line or "round" not in line:
            return
        if line["event"] == "opened":
            self.rounds.append(RoundStatus(line["round"], line["client"]))
            name = self.clients[line["client"]].name
            self.say(f"Round {line['round']}: opened by {name}, which has learned enough.")
            return
        handle = getattr(self, f"_{line['event']}", None)
        if handle is not None:
            if not self.rounds or self.rounds[-1].number < line["round"]:
                self.rounds.append(RoundStatus(line["round"], None))
            handle(next(one for one in self.rounds if one.number == line["round"]), line)

    def _uploaded(self, round: RoundStatus, line: dict[str, Any]) -> None:
        round.uploaded.add(line["client"])

    def _decided(self, round: RoundStatus, line: dict[str, Any]) -> None:
        round.stage, round.data_only = "offered", line["data_only"]
        round.offers = {int(who): pay for who, pay in line["offers"].items()}
        if line["failed"]:
            lost = self._names(line["failed"])
            self.say(f"Round {round.number}: {lost} did not deliver; decided again without.")
        if round.data_only:
            why = "the rest of the budget does not cover the payments"
            self.say(f"Round {round.number}: {why}, so it offers only data.")

    def _delivered(self, round: RoundStatus, line: dict[str, Any]) -> None:
        round.delivered.add(line["client"])

    def _closed(self, round: RoundStatus, line: dict[str, Any]) -> None:
        round.stage, round.ratio = "closed", line["ratio"]
        round.payments = {int(who): pay for who, pay in line["payments"].items()}
        self.closed += 1
        self.spent += sum(round.payments.values())
        round.left = self.left
        free = [who for who, pay in round.payments.items() if not pay]
        paid = [who for who, pay in round.payments.items() if pay]
        parts = []
        if free:
            parts.append(f"{self._names(free)} shared for data")
        if paid:
            verb = "" if free else " shared"
            parts.append(f"{self._names(paid)}{verb} for {sum(round.payments.values()):.2f}")
        self.say(f"Round {round.number}: {', '.join(parts) or 'nobody shared'}.")

    def _void(self, round: RoundStatus, line: dict[str, Any]) -> None:
        round.stage, round.left = "void", self.left
        self.say(f"Round {round.number} ended without a decision: {line['reason']}.")

    def _barred(self, round: RoundStatus, line: dict[str, Any]) -> None:
        name = self.clients[line["client"]].name
        self.say(f"{name} did not deliver as asked: excluded until round {line['until']}.")

    def _names(self, who: list[int]) -> str:
        if len(who) == len(self.clients) > 2:
            return "all"
        return " ".join(self.clients[k].name for k in who)


class LogTail:
    """Reads the lines of JSON that are added to a log from now on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0
        self._rest = b""

    def new(self) -> list[dict[str, Any]]:
        try:
            with open(self._path, "rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = []
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:  # for example, of a traceback
                continue
            if isinstance(entry, dict):
                found.append(entry)
        return found
