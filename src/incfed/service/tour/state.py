"""The state of a tour, built from the clients' reports and the entries of the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...ledger.money import amounts
from .options import TourOptions


@dataclass
class ClientStatus:
    """A client, as it last reported."""

    name: str
    cost: float
    pid: int = 0
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
    """A round, as far as the ledger tells."""

    number: int
    opener: int
    stage: str = "open"  # offered, closed, void
    uploaded: set[int] = field(default_factory=set)
    offers: dict[int, float] = field(default_factory=dict)
    delivered: set[int] = field(default_factory=set)
    payments: dict[int, float] = field(default_factory=dict)
    data_only: bool = False
    ratio: float = 0.0
    left: float = 0.0  # of the budget, after it


class TourState:
    """The clients, the rounds and the money of a tour, and what happened, in sentences."""

    def __init__(self, options: TourOptions) -> None:
        known = zip(options.names, options.costs, strict=True)
        self.clients = [ClientStatus(name, cost) for name, cost in known]
        self.budget, self.spent = options.budget, 0.0
        self.rounds: list[RoundStatus] = []
        self.closed = 0  # rounds
        self.earlier_steps = 0  # made in earlier tours
        self.messages: list[str] = []  # what happened, in sentences

    @property
    def left(self) -> float:
        return self.budget - self.spent

    def total(self, figure: str) -> Any:
        """The sum of a figure over all clients."""
        return sum(getattr(client, figure) for client in self.clients)

    def say(self, text: str) -> None:
        self.messages.append(text)

    def report(self, who: int, report: dict[str, Any]) -> None:
        client = self.clients[who]
        if client.state == "starting":
            self.earlier_steps += report["steps"]
        for name, value in report.items():
            setattr(client, name, value)
        client.state = "up"

    def record(self, entry: dict[str, Any]) -> None:
        """Take in the next entry of the ledger."""
        match entry["kind"]:
            case "opened":
                self.rounds.append(RoundStatus(entry["round"], entry["client"]))
                name = self._names([entry["client"]])
                self.say(f"Round {entry['round']}: opened by {name}, which has learned enough.")
            case "uploaded":
                self.rounds[-1].uploaded.add(entry["client"])
            case "decided":
                self._decided(self.rounds[-1], entry)
            case "delivered":
                self.rounds[-1].delivered.add(entry["client"])
            case "closed":
                self._closed(self.rounds[-1], entry)
            case "void":
                round = self.rounds[-1]
                round.stage, round.left = "void", self.left
                self.say(f"Round {round.number} ended without a decision: {entry['reason']}.")
            case "barred":
                name = self._names([entry["client"]])
                time = f"{entry['until_time'] - entry['at']:g} s"
                self.say(f"{name} did not deliver as asked: left out of rounds for {time}.")

    def _decided(self, round: RoundStatus, entry: dict[str, Any]) -> None:
        round.stage, round.data_only = "offered", entry["data_only"]
        round.offers = amounts(entry["offers"], entry["money_digits"])
        if entry["failed"]:
            lost = self._names(entry["failed"])
            self.say(f"Round {round.number}: {lost} did not deliver; decided again without.")
        if round.data_only:
            why = "the rest of the budget does not cover the payments"
            self.say(f"Round {round.number}: {why}, so it offers only data.")

    def _closed(self, round: RoundStatus, entry: dict[str, Any]) -> None:
        round.stage, round.ratio = "closed", entry["ratio"]
        round.payments = amounts(entry["payments"], entry["money_digits"])
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

    def name(self, who: int) -> str:
        """The name of a client, which may be one that somebody else has enrolled."""
        return self.clients[who].name if who < len(self.clients) else f"client {who}"

    def _names(self, who: list[int]) -> str:
        if len(self.clients) > 2 and sorted(who) == list(range(len(self.clients))):
            return "all"
        return " ".join(map(self.name, who))
