"""The requests of a client, and what the coordinator's state looks like from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ...kernels.factor import Floats
from ...protocol.floats import to_text
from ...protocol.messages import Answer, Download, Upload
from ...support import inputs
from .codec import read_floats, read_packed, write_packed

Value = TypeVar("Value")
OPEN, OFFERED, CLOSED = "open", "offered", "closed"


class Request(NamedTuple):
    kind: str
    method: str
    path: str
    body: dict[str, Any] | None = None
    wait: float = 0.0  # how long the answer may take by design
    number: int = 0  # the round that it concerns; of `state`: the version that is known
    attempt: int = 0
    asked: float = 0.0  # of a poll: when
    closed: bool = True  # of a download: is the round that was told something over?


def federation() -> Request:
    return Request("federation", "GET", "/v1/federation")


def state(after: int | None = None, wait: float = 0.0) -> Request:
    if after is None:
        return Request("state", "GET", "/v1/state")
    path = f"/v1/state?after={after}&wait={wait:g}"
    return Request("poll", "GET", path, wait=wait, number=after)


def open_round(epoch: int) -> Request:
    """`epoch`: the trigger's own; come late, or come again, this opens nothing."""
    return Request("open", "POST", f"/v1/rounds?epoch={epoch}")


def upload(message: Upload) -> Request:
    n = message.round
    body = {
        "epoch": message.epoch,
        "steps": message.steps,
        "cost": message.cost,
        "dV": write_packed(message.dV),
    }
    return Request("upload", "PUT", f"/v1/rounds/{n}/upload", body, number=n)


def answer(message: Answer) -> Request:
    n, attempt = message.round, message.attempt
    body = {"attempt": attempt, "accepted": message.accepted}
    return Request("answer", "PUT", f"/v1/rounds/{n}/answer", body, number=n, attempt=attempt)


def delivery(round: int, db: Floats) -> Request:
    body = {"db": to_text(db)}
    return Request("delivery", "PUT", f"/v1/rounds/{round}/delivery", body, number=round)


def download(since: int, closed: bool) -> Request:
    return Request("download", "GET", f"/v1/download?since={since}", closed=closed)


class RoundState(NamedTuple):
    number: int
    stage: str
    uploaded: bool
    attempt: int | None  # of the offer to this client; None: there is none
    payment: float
    answered: bool
    delivered: bool


class State(NamedTuple):
    version: int
    epoch: int
    round: RoundState | None

    def over(self, number: int) -> bool:
        """Has this round closed? Once it has, it has for ever."""
        now = self.round
        return now is None or now.number > number or (now.number == number and now.stage == CLOSED)

    @property
    def active(self) -> RoundState | None:
        """The round that is open, to uploads or for what follows them."""
        return None if self.round is None or self.round.stage == CLOSED else self.round


def read_state(said: Any) -> State:
    if not isinstance(said, dict):
        raise inputs.refuse("state", said, "an object")
    version = inputs.integer("version", said.get("version"), low=0)
    epoch = inputs.integer("epoch", said.get("epoch"), low=0)
    now = said.get("round")
    if now is None:
        return State(version, epoch, None)
    if not isinstance(now, dict):
        raise inputs.refuse("round", now, "an object or null")
    offer, attempt, payment = now.get("offer"), None, 0.0
    if offer is not None:
        if not isinstance(offer, dict):
            raise inputs.refuse("round.offer", offer, "an object or null")
        attempt = inputs.integer("round.offer.attempt", offer.get("attempt"), low=0)
        payment = inputs.number("round.offer.payment", offer.get("payment"), low=0.0)
    round = RoundState(
        number=inputs.integer("round.number", now.get("number"), low=0),
        stage=inputs.choice("round.stage", now.get("stage"), (OPEN, OFFERED, CLOSED)),
        uploaded=inputs.flag("round.uploaded", now.get("uploaded")),
        attempt=attempt,
        payment=payment,
        answered=inputs.flag("round.answered", now.get("answered")),
        delivered=inputs.flag("round.delivered", now.get("delivered")),
    )
    return State(version, epoch, round)


def read_opened(said: Any) -> int:
    number = said.get("round") if isinstance(said, dict) else said
    return inputs.integer("round", number, low=0)


def read_download(said: Any, dim: int) -> Download:
    if not isinstance(said, dict) or not isinstance(said.get("shared"), dict):
        raise inputs.refuse("download", type(said).__name__, "an object, with what was shared")
    since = said.get("since")
    shared = {}
    for round, paid in said["shared"].items():
        if not (isinstance(round, str) and round.isdecimal()):
            raise inputs.refuse("shared", round, "numbers of rounds")
        shared[int(round)] = inputs.number(f"shared.{round}", paid, low=0.0)
    return Download(
        epoch=inputs.integer("epoch", said.get("epoch"), low=0),
        since=None if since is None else inputs.integer("since", since, low=0),
        V=read_packed("V", said.get("V"), dim),
        b=read_floats("b", said.get("b"), dim),
        shared=shared,
    )


class BadReply(ValueError):
    """The coordinator's answer makes no sense."""


def sense(read: Callable[[], Value]) -> Value:
    """What `read` reads; a BadReply where an answer is to blame, not an input."""
    try:
        return read()
    except inputs.InputError as error:
        raise BadReply(f"the coordinator's answer: {error}") from None
