"""The JSON messages between a client and the coordinator, defined once for both ends.

Every message is a dataclass. FastAPI takes them as models: it validates requests by them and
documents them on the OpenAPI page. A client needs no pydantic: it reads replies with `read`, which
follows the same annotations, and builds requests with the functions at the end of this file.

Arrays are base64 of little-endian float64 numbers: exact, and shorter than decimal digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from ..kernels.factor import Floats
from ..kernels.trust import SCORES
from ..protocol.checks import MOST_STEPS, Refusal
from ..protocol.floats import from_text, to_text
from ..protocol.heads import Head, Inclusion, Proof
from ..protocol.messages import Answer, Delivery, Download, Signal, Upload
from ..protocol.money import MOST_DIGITS, to_units
from ..protocol.packing import FACTOR, TRIANGLE, Packed
from ..support import inputs

Value = TypeVar("Value")
LARGEST = 2**31 - 1  # of a plain integer column in the database
Stage = Literal["open", "offered", "closed"]  # of a round, as a client sees it
OPEN, OFFERED, CLOSED = get_args(Stage)

# --------------------------------------------------------------------------------- annotations


@dataclass(frozen=True)
class NumberRange:
    """The range of a number; if it is `open`, the limits themselves are excluded."""

    low: int
    high: int | None = None
    open: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Called by pydantic, where there is one."""
        limits = {"gt" if self.open else "ge": self.low}
        if self.high is not None:
            limits["lt" if self.open else "le"] = self.high
        return {**handler(source), **limits}

    def check(self, name: str, value: object, kind: type) -> float:
        if kind is int:
            return inputs.integer(name, value, low=self.low, high=self.high)
        high, open = math.inf if self.high is None else self.high, self.open
        return inputs.number(name, value, low=self.low, high=high, open_low=open, open_high=open)


class Base64Text:
    """A string of base64."""

    def check(self, name: str, value: object, kind: type) -> str:
        if not isinstance(value, str):
            raise inputs.refuse(name, value, "a string of base64")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "pattern": r"^[A-Za-z0-9+/]*={0,2}$"}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {**handler(schema), "examples": [""]}


Natural = Annotated[int, NumberRange(0)]
Count = Annotated[int, NumberRange(0, LARGEST)]
Amount = Annotated[float, NumberRange(0)]
Positive = Annotated[float, NumberRange(0, open=True)]
Digits = Annotated[int, NumberRange(0, MOST_DIGITS)] | None  # of money; None: no minor units
Base64 = Annotated[str, Base64Text()]


class Message:
    """Pydantic's settings: no unknown fields, no conversion of values, no NaN; infinity is null."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "strict": True,
        "allow_inf_nan": False,
        "ser_json_inf_nan": "null",
    }

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return {**handler(source), "strict": False}  # of the object itself: it comes as a dict


# ------------------------------------------------------------------------------------ messages


@dataclass(frozen=True)
class Matrix(Message):
    """A symmetric matrix: its upper triangle row by row, or the rows of a triangular factor."""

    form: Literal["triangle", "factor"]
    numbers: Base64


@dataclass(frozen=True)
class SignalBody(Message):
    """What a client has not shared yet, as sums."""

    epoch: Count
    learned: Annotated[int, NumberRange(0, 2**62)]
    steps: Annotated[int, NumberRange(0, MOST_STEPS)]
    growth: Amount
    cost: Amount
    # If rows are streamed: x of the last steps, or all that is not shared yet.
    rows: Base64 | None = None
    dV: Matrix | None = None


@dataclass(frozen=True)
class UploadBody(Message):
    """What a client has learned since it last shared, and its price for sharing it."""

    epoch: Count
    steps: Annotated[int, NumberRange(0, MOST_STEPS)]
    cost: Amount
    dV: Matrix


@dataclass(frozen=True)
class AnswerBody(Message):
    """Whether a client accepts an offer."""

    attempt: Count
    accepted: bool
    upload: str | None = None  # the digest of your upload, 16 hexadecimal digits


@dataclass(frozen=True)
class DeliveryBody(Message):
    """The second half of what a participant shares."""

    db: Base64
    scores: Base64 | None = None  # trust "auto": squared errors of each of its models
    upload: str | None = None  # the digest of your upload, 16 hexadecimal digits


@dataclass(frozen=True)
class KeyBody(Message):
    """The public key of a client (Ed25519)."""

    key: Base64


@dataclass(frozen=True)
class ClientView(Message):
    """The client that asks."""

    id: Natural
    name: str


@dataclass(frozen=True)
class PrivacyView(Message):
    """The noise that clients add to what they share."""

    epsilon: Positive
    delta: Annotated[float, NumberRange(0, 1, open=True)]


@dataclass(frozen=True)
class FederationView(Message):
    """The settings that a client needs."""

    federation: str  # its identity: the name and a random part
    dim: Annotated[int, NumberRange(1, inputs.MOST_DIM)]
    ridge: Positive
    noise: Amount
    delta: Annotated[float, NumberRange(0, 1, open=True)]
    exploration: Amount | None
    threshold: Amount | None  # None: infinite
    arm_norm: Positive
    reward_bound: Positive
    cost_limit: Amount
    client: ClientView
    epoch: Natural
    # Not sent at their defaults, and unknown to a client of version 0.1, which then goes by the
    # threshold: that is null where another trigger applies, so it never asks for a round.
    trigger: dict[str, Any] | None = None  # its kind and numbers; None: the paper's
    download: Literal["everyone", "one-for-one"] = "everyone"
    width: Literal["paper", "mixture"] = "paper"
    width_scale: Amount = 1.0
    trust: Amount | Literal["auto"] | None = None  # of clients that say nothing; None: infinite
    privacy: PrivacyView | None = None
    packed: bool = False  # whether the coordinator takes packed messages; see `binary`
    money_digits: Digits = None
    revision: Natural = 1  # grows when the operator changes the settings
    start: Natural = 0  # the number of the client's last start; 0: it has said none yet
    signatures: Literal["registered", "required"] | None = None  # who signs; None: nobody can
    key: str | None = None  # the one that this client has registered


@dataclass(frozen=True)
class OfferView(Message):
    """What a client is offered for taking part, in money."""

    attempt: Natural
    payment: Amount
    units: Natural | None = None  # the same in minor units, if the federation has money_digits


@dataclass(frozen=True)
class RoundView(Message):
    """The last round, as one client sees it."""

    number: Natural
    stage: Stage
    uploaded: bool
    offer: OfferView | None
    answered: bool
    delivered: bool
    taken: Natural | None = None  # streaming rows: the last of your steps in the upload,
    taken_by: str | None = None  # and the random part of the start that streamed them


@dataclass(frozen=True)
class StateView(Message):
    """The federation as one client sees it. The version grows with every change."""

    version: Natural
    epoch: Natural
    round: RoundView | None
    revision: Natural = 1  # of the settings

    def over(self, number: int) -> bool:
        """Has this round closed? A closed round is never opened again."""
        now = self.round
        return now is None or now.number > number or (now.number == number and now.stage == CLOSED)

    @property
    def active(self) -> RoundView | None:
        """The round that is not closed yet."""
        return None if self.round is None or self.round.stage == CLOSED else self.round


@dataclass(frozen=True)
class OpenedView(Message):
    """The round that was opened or joined."""

    round: Natural


@dataclass(frozen=True)
class DownloadView(Message):
    """The shared statistics: whole, or what was added after `since`."""

    epoch: Natural
    since: Natural | None
    V: Matrix
    b: Base64
    shared: dict[str, float]  # rounds in which this client took part, and its payments
    # trust "auto": the mean score of each model over all that was shared, mean squared norm of arms
    scores: Base64 | None = None
    money_digits: Digits = None
    units: dict[str, int] | None = None  # the payments in minor units, if there are money_digits
    withdrawn: Natural = 0  # what this client shared up to this round was taken out


@dataclass(frozen=True)
class EntryView(Message):
    """An entry of the ledger, and hashes that prove that it is in it."""

    number: Natural
    body: str
    path: list[str]


@dataclass(frozen=True)
class ProofView(Message):
    """The head of the ledger; hashes that prove that it extends an older one; your entries."""

    number: Natural
    hash: str
    root: str
    consistency: list[str]
    entries: list[EntryView]


@dataclass(frozen=True)
class ErrorView(Message):
    """The field that is wrong, its value (if short), and what is allowed."""

    field: str
    value: str | int | float | bool | None
    message: str


# ------------------------------------------------------------------------------- reading replies


def read(kind: type[Value], said: object, name: str = "") -> Value:
    """A message of this kind from JSON; InputError names the field that is wrong.

    Unknown fields are ignored: a newer coordinator may send more.
    """
    hints, optional = _hints(kind)  # type: ignore[arg-type]
    if not isinstance(said, dict):
        allowed = f"an object with {', '.join(field for field, _ in hints)}"
        raise inputs.refuse(name or "reply", said, allowed)
    prefix = f"{name}." if name else ""
    return kind(
        **{
            key: _value(prefix + key, hint, said.get(key))
            for key, hint in hints
            if key in said or key not in optional
        }
    )


@cache
def _hints(kind: Any) -> tuple[list[tuple[str, Any]], set[str]]:
    """The annotation of each field, and the fields that may be left out."""
    hints = get_type_hints(kind, include_extras=True)
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    return [(field.name, hints[field.name]) for field in fields(kind)], optional


def _value(name: str, hint: Any, value: object) -> Any:
    options = get_args(hint)
    if type(None) in options:
        words = [one for one in options if get_origin(one) is Literal and isinstance(value, str)]
        return None if value is None else _value(name, (words or options)[0], value)
    if get_origin(hint) is Literal:
        return inputs.choice(name, value, options)
    if get_origin(hint) is Annotated:
        kind, rule = options
        return rule.check(name, value, kind)
    if isinstance(hint, type) and is_dataclass(hint):
        return read(hint, value, name)
    if hint is bool:
        return inputs.flag(name, value)
    if hint is str and not isinstance(value, str):
        raise inputs.refuse(name, value, "a string")
    return value


def read_download(said: object, dim: int) -> Download:
    view = read(DownloadView, said)
    if not isinstance(view.shared, dict):
        raise inputs.refuse("shared", view.shared, "an object of rounds and payments")
    shared = {}
    for round, paid in view.shared.items():
        if not round.isdecimal():
            raise inputs.refuse("shared", round, "numbers of rounds")
        shared[int(round)] = inputs.number(f"shared.{round}", paid, low=0.0)
    V, b = read_matrix("V", view.V, dim), read_floats("b", view.b, dim)
    scores = None if view.scores is None else read_floats("scores", view.scores, SCORES)
    digits, withdrawn = view.money_digits, view.withdrawn
    return Download(
        view.epoch, view.since, V, b, shared, scores=scores, money_digits=digits,
        withdrawn=withdrawn,
    )  # fmt: skip


def write_proof(proof: Proof) -> ProofView:
    entries = [EntryView(*one) for one in proof.entries]
    return ProofView(*proof.head, proof.consistency, entries)


def read_proof(said: object) -> Proof:
    view = read(ProofView, said)
    own = [read(EntryView, one, "entries") for one in view.entries]
    for hashes in (view.consistency, *(one.path for one in own)):
        if not isinstance(hashes, list) or not all(isinstance(one, str) for one in hashes):
            raise inputs.refuse("proof", None, "lists of hashes")
    found = [Inclusion(one.number, one.body, one.path) for one in own]
    return Proof(Head.read(f"{view.number} {view.hash} {view.root}"), view.consistency, found)


def read_floats(name: str, text: str, count: int | None = None) -> Floats:
    """`count` finite numbers (None: any number of them). What is refused is never repeated: it may
    be data."""
    allowed = f"{'' if count is None else f'{count} '}finite float64 numbers in base64"
    try:
        numbers = from_text(text)
    except ValueError:
        raise Refusal(name, inputs.counted(len(text), "character"), allowed) from None
    if count is not None and len(numbers) != count:
        raise Refusal(name, inputs.counted(len(numbers), "number"), allowed)
    if not np.isfinite(numbers).all():
        raise Refusal(name, "a number that is not finite", allowed)
    return numbers


def read_matrix(name: str, matrix: Matrix, dim: int) -> Packed:
    count = dim * (dim + 1) // 2 if matrix.form == TRIANGLE else None
    numbers = read_floats(f"{name}.numbers", matrix.numbers, count)
    if matrix.form == FACTOR and (len(numbers) % dim or len(numbers) > dim * dim):
        allowed = f"at most {inputs.counted(dim, 'row')} of {inputs.counted(dim, 'number')}"
        raise Refusal(f"{name}.numbers", inputs.counted(len(numbers), "number"), allowed)
    return Packed(matrix.form, dim, numbers)


class BadReply(ValueError):
    """A reply of the coordinator that cannot be right."""


def reply(read: Callable[[], Value]) -> Value:
    """What `read` returns; BadReply instead of InputError: nobody's input is to blame."""
    try:
        return read()
    except inputs.InputError as error:
        raise BadReply(f"the coordinator's reply: {error}") from None


# ----------------------------------------------------------- protocol messages to and from JSON


def write_matrix(packed: Packed) -> Matrix:
    return Matrix("factor" if packed.form == FACTOR else "triangle", to_text(packed.numbers))


def write_download(download: Download) -> DownloadView:
    shared = {str(round): paid for round, paid in download.shared.items()}
    V, b = write_matrix(download.V), to_text(download.b)
    scores = None if download.scores is None else to_text(download.scores)
    digits, units = download.money_digits, None
    if digits is not None:
        units = {round: to_units(paid, digits) for round, paid in shared.items()}
    return DownloadView(
        download.epoch, download.since, V, b, shared, scores, digits, units, download.withdrawn
    )


def read_upload_body(round: int, body: UploadBody, dim: int) -> Upload:
    """`check_upload` judges whether its numbers are possible."""
    return Upload(round, body.epoch, body.steps, body.cost, read_matrix("dV", body.dV, dim))


def read_delivery_body(round: int, body: DeliveryBody, dim: int) -> Delivery:
    """`check_delivery` judges whether its numbers are possible."""
    scores = None if body.scores is None else read_floats("scores", body.scores, SCORES)
    db = read_floats("db", body.db, dim)
    return Delivery(round, db, scores=scores, upload=body.upload)


def read_signal_body(body: SignalBody, dim: int) -> Signal:
    """`check_signal` judges whether its numbers are possible."""
    rows = None
    if body.rows is not None:
        numbers = read_floats("rows", body.rows)
        if len(numbers) % dim or len(numbers) > dim * dim:
            allowed = f"at most {inputs.counted(dim, 'row')} of {inputs.counted(dim, 'number')}"
            raise Refusal("rows", inputs.counted(len(numbers), "number"), allowed)
        rows = numbers.reshape(-1, dim)
    dV = None if body.dV is None else read_matrix("dV", body.dV, dim)
    return Signal(body.epoch, body.learned, body.steps, body.growth, body.cost, rows, dV)


# ------------------------------------------------------------------------------------- requests

FEDERATION = "/v1/federation"
STATE = "/v1/state"
ROUNDS = "/v1/rounds"
UPLOAD, ANSWER, DELIVERY = (f"{ROUNDS}/{{number}}/{n}" for n in ("upload", "answer", "delivery"))
DOWNLOAD = "/v1/download"
START = "Incfed-Start"  # the header that says which start of the client a request comes from
KEY = "/v1/key"
PROOF = "/v1/proof"
# Headers: of requests; of replies, the head of the ledger, and the entry that the request made.
SIGNATURE, HEAD, ENTRY = "Incfed-Signature", "Incfed-Head", "Incfed-Entry"
# Of downloads, and then of all requests: the epoch and a hash of all that led to it.
HISTORY = "Incfed-History"


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


def put_signal(signal: Signal) -> Request:
    """A poll that says what is not shared yet; the reply is the state as it is then."""
    rows = None if signal.rows is None else to_text(signal.rows.ravel())
    dV = None if signal.dV is None else write_matrix(signal.dV)
    body = asdict(SignalBody(*signal[:5], rows, dV))
    return Request("signal", "PUT", STATE, body, sequence=signal.learned)


def open_round(epoch: int, after: int | None = None) -> Request:
    """`epoch`: the client's own; `after`: the last round that it knows of. A request that comes
    late, or twice, opens nothing."""
    last = "" if after is None else f"&after={after}"
    return Request("open", "POST", f"{ROUNDS}?epoch={epoch}{last}")


def put_upload(upload: Upload) -> Request:
    body = UploadBody(upload.epoch, upload.steps, upload.cost, write_matrix(upload.dV))
    path = UPLOAD.format(number=upload.round)
    return Request("upload", "PUT", path, asdict(body), number=upload.round)


def put_answer(answer: Answer) -> Request:
    number, attempt, accepted, upload, _ = answer
    body, path = AnswerBody(attempt, accepted, upload), ANSWER.format(number=number)
    said = {name: value for name, value in asdict(body).items() if value is not None}
    return Request("answer", "PUT", path, said, number=number, attempt=attempt)


def put_delivery(delivery: Delivery) -> Request:
    number, body = delivery.round, {"db": to_text(delivery.db)}
    if delivery.scores is not None:  # a coordinator of version 0.1 does not know them
        body["scores"] = to_text(delivery.scores)
    if delivery.upload is not None:
        body["upload"] = delivery.upload
    return Request("delivery", "PUT", DELIVERY.format(number=number), body, number=number)


def get_download(since: int, closed: bool, model: bool = True, uploaded: str = "") -> Request:
    """Without the model: only in which rounds this client took part. `uploaded`: the round that
    this client uploaded to, and the digest of that, "7-0123456789abcdef"."""
    path = f"{DOWNLOAD}?since={since}{'' if model else '&model=false'}"
    path += f"&uploaded={uploaded}" if uploaded else ""
    return Request("download", "GET", path, closed=closed, model=model)
