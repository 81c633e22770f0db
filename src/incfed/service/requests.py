"""The requests of a client: where each goes, what it says, and what to remember until the reply.

`binary` makes those that carry arrays.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict
from typing import Any, NamedTuple

from ..protocol.messages import Answer
from .wire import AnswerBody, KeyBody

FEDERATION = "/v1/federation"
STATE = "/v1/state"
ROUNDS = "/v1/rounds"
UPLOAD, ANSWER, DELIVERY = (f"{ROUNDS}/{{number}}/{n}" for n in ("upload", "answer", "delivery"))
DOWNLOAD = "/v1/download"
PROTOCOL = "Incfed-Protocol"  # the header that says which version of the protocol it speaks
START = "Incfed-Start"  # the header that says which start of the client a request comes from
KEY = "/v1/key"
PROOF = "/v1/proof"
# Headers: of requests; of replies, the head of the ledger, and the entry that the request made.
SIGNATURE, HEAD, ENTRY = "Incfed-Signature", "Incfed-Head", "Incfed-Entry"
# Of downloads, and then of all requests: the epoch and a hash of all that led to it.
HISTORY = "Incfed-History"


class Start(NamedTuple):
    """A start of a client. The nonce is random: copies of a folder arrive at the same number."""

    number: int = 0  # 0: none yet
    nonce: str = ""

    def next(self, known: int) -> Start:
        """`known`: the number of the last one that the coordinator knows."""
        return Start(max(self.number, known) + 1, secrets.token_hex(4))

    def __str__(self) -> str:
        return f"{self.number}-{self.nonce}"


class Request(NamedTuple):
    """A request of a client, and what it has to remember until the reply."""

    kind: str
    method: str
    path: str
    body: dict[str, Any] | bytes | None = None  # JSON, or packed
    wait: float = 0.0  # seconds that the coordinator may hold the reply back
    number: int = 0  # of the round; of a signal: in which this client last shared
    attempt: int = 0
    sequence: int = 0  # of a state: how many were requested so far; of a signal: steps ever
    version: int = 0  # of a poll: the version that the client knows
    asked: float = 0.0  # of a poll: when it was sent
    epoch: int = 0  # of a download: the coordinator's, as far as the client knows
    closed: bool = True  # of a download: is the round that this client uploaded to over?
    model: bool = True  # of a download: with the shared statistics,
    own: tuple[int, ...] = ()  # without this client's own data of these rounds
    signature: str | None = None
    history: str = ""  # the header; empty: the client knows of none


def get_federation() -> Request:
    return Request("federation", "GET", FEDERATION)


def put_key(key: str) -> Request:
    return Request("key", "PUT", KEY, asdict(KeyBody(key)))


def get_proof(since: int = 0, round: int | None = None) -> Request:
    """That the ledger extends its first `since` entries; with what this client did in a round (0:
    the keys that it registered)."""
    own = "" if round is None else f"&round={round}"
    return Request("proof", "GET", f"{PROOF}?since={since}{own}")


def get_state(after: int | None = None, wait: float = 0.0) -> Request:
    if after is None:
        return Request("state", "GET", STATE)
    path = f"{STATE}?after={after}&wait={wait:g}"
    return Request("poll", "GET", path, wait=wait, version=after)


def open_round(epoch: int, after: int | None = None, noisy: bool = False) -> Request:
    """`epoch`: the client's own; `after`: the last round that it knows of. A request that comes
    late, or twice, opens nothing. `noisy`: the client adds noise to what it shares."""
    last = "" if after is None else f"&after={after}"
    last += "&noisy=true" if noisy else ""
    return Request("open", "POST", f"{ROUNDS}?epoch={epoch}{last}")


def put_answer(answer: Answer) -> Request:
    number, attempt, accepted, upload, _ = answer
    body, path = AnswerBody(attempt, accepted, upload), ANSWER.format(number=number)
    said = {name: value for name, value in asdict(body).items() if value is not None}
    return Request("answer", "PUT", path, said, number=number, attempt=attempt)


def get_download(since: int, closed: bool, model: bool = True, uploaded: str = "") -> Request:
    """Without the model: only in which rounds this client took part. `uploaded`: the round that
    this client uploaded to, and the digest of that, "7-0123456789abcdef"."""
    path = f"{DOWNLOAD}?since={since}{'' if model else '&model=false'}"
    path += f"&uploaded={uploaded}" if uploaded else ""
    return Request("download", "GET", path, closed=closed, model=model)
