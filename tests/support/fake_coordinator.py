"""A coordinator for the tests of clients: one process, no disk, strict about what it is told.

It decides when everybody uploaded, or at `deadline()`. Who declines or does not deliver is left out
at the prices offered; a message that contradicts an earlier one is a `violation`.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import numpy as np

import incfed
from incfed.mechanisms import Decision
from incfed.protocol.messages import Upload
from incfed.protocol.open_round import OpenRound
from incfed.protocol.packing import combine, pack_matrix
from incfed.service import binary
from reference.mechanisms import FloatArray
from support.aggregator import Aggregator

Reply = tuple[int, Any]
DIGITS = 9  # of money


class Refusal(Exception):
    def __init__(self, status: int, field: str, message: str) -> None:
        self.status, self.said = status, {"field": field, "message": message}


class Round:
    def __init__(self, number: int) -> None:
        self.number, self.stage = number, "open"
        self.uploads: dict[int, Upload] = {}
        self.offers: dict[int, float] = {}
        self.answers: dict[int, bool] = {}
        self.delivered: dict[int, FloatArray] = {}
        self.decided: tuple[OpenRound, Decision] | None = None


class Record(NamedTuple):
    """A round that was closed."""

    number: int
    participants: list[int]
    payments: list[float]


class Fake:
    def __init__(
        self,
        count: int,
        dim: int,
        mechanism: incfed.Mechanism | None = None,
        **terms: Any,
    ) -> None:
        self.count, self.dim = count, dim
        self.terms: dict[str, Any] = {
            "ridge": 0.1, "noise": 0.1, "delta": 0.1, "exploration": None, "threshold": 0.5,
            "arm_norm": 1.0, "reward_bound": 10.0, "cost_limit": 1e6, "federation": "f1",
            "money_digits": DIGITS, "signatures": "registered", "answer_within": 10.0,
            "width": "paper", "width_scale": 1.0, "trust": None, "trigger": None,
            "download": "everyone", "privacy": None,
        }  # fmt: skip
        self.terms |= terms
        self.aggregator = Aggregator(
            count, dim, mechanism or incfed.PayEveryone(), float(self.terms["ridge"])
        )
        self.round: Round | None = None
        self.version, self.numbers = 1, 0
        self.rounds: dict[int, int] = {}  # by epoch
        self.closed: list[Record] = []
        self.given = [(np.zeros((dim, dim)), np.zeros(dim)) for _ in range(count)]
        self.steps_given = [0] * count
        self.shared: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}  # by client, round
        self.keys: dict[int, str] = {}
        self.violations: list[str] = []
        self.seen: list[tuple[int, str]] = []

    def handle(self, who: int, method: str, path: str, body: Any) -> Reply:
        address = urlsplit(path)
        query = parse_qs(address.query)
        parts = address.path.strip("/").split("/")[1:]
        self.seen.append((who, f"{method} {'/'.join(parts)}"))
        try:
            if parts == ["federation"]:
                named = {"id": who, "name": f"client-{who}"}
                said = {"client": named, "epoch": self.epoch, "key": self.keys.get(who)}
                return 200, {"dim": self.dim, **self.terms, **said}
            if parts == ["key"]:
                self.keys[who] = body["key"]
                return 200, {}
            if parts == ["state"]:
                return 200, self.state(who)
            if parts == ["download"]:
                return 200, self._download(who, int(query["since"][0]), query.get("own", []))
            if parts == ["rounds"] and method == "POST":
                return 200, {"round": self._open()}
            if len(parts) == 3 and parts[0] == "rounds" and method == "PUT":
                take = {"upload": self._upload, "answer": self._answer, "delivery": self._deliver}
                take[parts[2]](who, self._current(int(parts[1])), body)
                return 200, {}
        except Refusal as refusal:
            return refusal.status, refusal.said
        return 404, {"field": "path", "message": path}

    @property
    def epoch(self) -> int:
        return self.aggregator.epoch

    def state(self, who: int) -> dict[str, Any]:
        said: dict[str, Any] = {"version": self.version, "epoch": self.epoch, "round": None}
        if (now := self.round) is not None:
            offer = now.offers.get(who)
            said["round"] = {
                "number": now.number,
                "stage": now.stage,
                "uploaded": who in now.uploads,
                "offer": None if offer is None else {"attempt": 1, "payment": offer},
                "answered": who in now.answers,
                "delivered": who in now.delivered,
            }
        return said

    def deadline(self) -> None:
        """Whoever has not answered by now is left out."""
        if self.round is not None and self.round.stage == "open":
            self._decide(self.round)
        elif self.round is not None and self.round.stage == "offered":
            self._close(self.round)

    def _open(self) -> int:
        if self.round is None or self.round.stage == "closed":
            self.numbers += 1
            self.round = Round(self.numbers)
            self.version += 1
        return self.round.number

    def _current(self, number: int) -> Round:
        if self.round is None or number > self.round.number:
            raise Refusal(404, "round", "no such round")
        if number < self.round.number or self.round.stage == "closed":
            raise Refusal(409, "round", "it is closed")
        return self.round

    def _upload(self, who: int, now: Round, body: Any) -> None:
        sent, known = binary.read_upload(now.number, body, self.dim), now.uploads.get(who)
        if known is not None:
            if binary.write_upload(known._replace(epoch=sent.epoch), DIGITS) != body:
                self.violations.append(f"client {who} told round {now.number} two things")
            return
        if now.stage != "open":
            raise Refusal(409, "round", "too late to upload")
        if sent.epoch != self.epoch:
            raise Refusal(409, "epoch", "an old one")
        if np.trace(sent.dV.matrix()) > sent.steps * self.terms["arm_norm"] ** 2 * (1 + 1e-9):
            raise Refusal(422, "dV", "more trace than its steps allow")
        now.uploads[who] = sent
        self.version += 1
        if len(now.uploads) == self.count:
            self._decide(now)

    def _answer(self, who: int, now: Round, body: Any) -> None:
        if who not in now.offers or body["attempt"] != 1:
            raise Refusal(409, "attempt", "nothing was offered")
        if now.answers.setdefault(who, body["accepted"]) != body["accepted"]:
            self.violations.append(f"client {who} answered round {now.number} yes and no")
        self.version += 1
        self._settle(now)

    def _deliver(self, who: int, now: Round, body: Any) -> None:
        if who not in now.offers or not now.answers.setdefault(who, True):  # a delivery says yes
            self.violations.append(f"client {who} delivered after a no, or without an offer")
            raise Refusal(409, "round", "not yours")
        sent = binary.read_delivery(now.number, body, self.dim)
        db = sent.db if sent.basis is None else combine(now.uploads[who].dV, sent.db)
        if now.delivered.setdefault(who, db).tobytes() != db.tobytes():
            self.violations.append(f"client {who} delivered two things to round {now.number}")
        self.version += 1
        self._settle(now)

    def _decide(self, now: Round) -> None:
        seen, decision = now.decided = self.aggregator.decide(now.uploads)
        paid = zip(seen.clients, decision.payments.tolist(), strict=True)
        now.offers = {
            who: payment
            for (who, payment), member in zip(paid, decision.participants, strict=True)
            if member
        }
        now.stage = "offered"
        self.version += 1
        self._settle(now)

    def _settle(self, now: Round) -> None:
        accepted = {who for who, yes in now.answers.items() if yes}
        if len(now.answers) == len(now.offers) and accepted == set(now.delivered):
            self._close(now)

    def _close(self, now: Round) -> None:
        assert now.decided is not None
        seen, decision = now.decided
        members = np.array([who in now.delivered for who in seen.clients], np.bool_)
        final = Decision(members, np.where(members, decision.payments, 0.0))
        epoch, closed = self.aggregator.close(seen, final, lambda who: now.delivered[who])
        self.rounds[epoch] = now.number
        payments = closed.payments.tolist()
        self.closed.append(Record(now.number, closed.participants.tolist(), payments))
        for who, db in now.delivered.items():
            (V, b), dV = self.given[who], now.uploads[who].dV.matrix()
            self.given[who], self.shared[who, now.number] = (V + dV, b + db), (dV, db)
            self.steps_given[who] += now.uploads[who].steps
        now.stage = "closed"
        self.version += 1

    def _download(self, who: int, since: int, own: list[str]) -> bytes:
        """Without the client's own data of the rounds `own`."""
        news = self.aggregator.download(who, since, self.rounds)
        V, b = news.V.matrix(), news.b
        for round in news.shared.keys() & set(map(int, own)):
            dV, db = self.shared[who, round]
            V, b = V - dV, b - db
        return binary.write_download(news._replace(V=pack_matrix(V), b=b, money_digits=DIGITS))
