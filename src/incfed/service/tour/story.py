"""What has happened so far: from what the clients report and what the coordinator logs."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plan import Plan

KEPT = 12  # rounds that are shown


@dataclass
class Shop:
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
    alone: float = 0.0  # regret of one who shares nothing and sees the same
    problem: str | None = None
    state: str = "starting"  # up, down


@dataclass
class Round:
    number: int
    caller: int | None  # None: it was open before this began
    stage: str = "open"  # offered, closed, void
    uploaded: set[int] = field(default_factory=set)
    offers: dict[int, float] = field(default_factory=dict)
    delivered: set[int] = field(default_factory=set)
    payments: dict[int, float] = field(default_factory=dict)
    data_only: bool = False
    ratio: float = 0.0
    left: float = 0.0  # of the budget, after it


class Story:
    def __init__(self, plan: Plan, closed: int = 0, spent: float = 0.0) -> None:
        """`closed`, `spent`: so many rounds and so much money before this began."""
        self.shops = [Shop(*one) for one in zip(plan.names, plan.costs, strict=True)]
        self.budget, self.spent = plan.budget, spent
        self.rounds: deque[Round] = deque(maxlen=KEPT)
        self.closed = closed
        self.before = 0  # steps that clients had made when they came
        self.words: list[str] = []  # all of them; who shows them keeps count

    @property
    def left(self) -> float:
        return self.budget - self.spent

    @property
    def steps(self) -> int:
        return sum(shop.steps for shop in self.shops)

    def say(self, text: str) -> None:
        self.words.append(text)

    def reported(self, who: int, report: dict[str, Any]) -> None:
        shop = self.shops[who]
        if shop.state == "starting":
            self.before += report["steps"]
        for name, value in report.items():
            setattr(shop, name, value)
        shop.state = "up"

    def logged(self, line: dict[str, Any]) -> None:
        """A line of the coordinator's log; those that are no event of a round are passed over."""
        if "event" not in line or "round" not in line:
            return
        if line["event"] == "opened":
            self.rounds.append(Round(line["round"], line["client"]))
            name = self.shops[line["client"]].name
            self.say(f"Round {line['round']}: {name} has learned enough to call for it.")
            return
        tell = getattr(self, f"_{line['event']}", None)
        if tell is not None:
            if not self.rounds or self.rounds[-1].number < line["round"]:
                self.rounds.append(Round(line["round"], None))
            tell(next(one for one in self.rounds if one.number == line["round"]), line)

    def _uploaded(self, round: Round, line: dict[str, Any]) -> None:
        round.uploaded.add(line["client"])

    def _decided(self, round: Round, line: dict[str, Any]) -> None:
        round.stage, round.data_only = "offered", line["data_only"]
        round.offers = {int(who): pay for who, pay in line["offers"].items()}
        if line["failed"]:
            lost = self._names(line["failed"])
            self.say(f"Round {round.number}: {lost} did not deliver; decided once more without.")
        if round.data_only:
            why = "what is left of the budget does not cover the payments"
            self.say(f"Round {round.number}: {why}, so it offers data alone.")

    def _delivered(self, round: Round, line: dict[str, Any]) -> None:
        round.delivered.add(line["client"])

    def _closed(self, round: Round, line: dict[str, Any]) -> None:
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

    def _void(self, round: Round, line: dict[str, Any]) -> None:
        round.stage, round.left = "void", self.left
        self.say(f"Round {round.number} came to nothing: {line['reason']}.")

    def _barred(self, round: Round, line: dict[str, Any]) -> None:
        name = self.shops[line["client"]].name
        self.say(f"{name} had been asked, and failed: left out up to round {line['until']}.")

    def _names(self, who: list[int]) -> str:
        if len(who) == len(self.shops) > 2:
            return "all"
        return " ".join(self.shops[k].name for k in who)


class Tail:
    """The lines of JSON that are added to a file, from its present end on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = path.stat().st_size if path.exists() else 0
        self._rest = b""

    def new(self) -> list[dict[str, Any]]:
        try:
            with open(self._path, "rb") as file:
                file.seek(self._place)
                data = file.read()
        except FileNotFoundError:
            return []
        self._place += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        found = []
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:  # a traceback, say
                continue
            if isinstance(said, dict):
                found.append(said)
        return found
