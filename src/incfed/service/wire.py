"""The messages between a client and the coordinator, defined once for both ends.

Every message is a dataclass. FastAPI takes them as models: it validates requests by them and
documents them on the OpenAPI page. A client reads replies
with `codec.read`, which follows the same annotations.

Arrays are base64 of little-endian float64 numbers: exact, and shorter than decimal digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from ..protocol.checks import MOST_STEPS
from ..rules.clients import ClientRules
from ..rules.rounds import MOST_DIGITS
from ..rules.rule import names, served
from ..values import NotAllowed, Number, Value, Whole

LARGEST = 2**31 - 1  # of a plain integer column in the database
Stage = Literal["open", "offered", "closed"]  # of a round, as a client sees it
OPEN, OFFERED, CLOSED = get_args(Stage)
SIMULATED = frozenset(names(ClientRules)) - frozenset(served(ClientRules))  # only simulations
BASE64 = re.compile(r"^[A-Za-z0-9+/]*={0,2}$")

# --------------------------------------------------------------------------------- annotations


class Base64Value(Value[str]):
    """A string of base64."""

    @property
    def allowed(self) -> str:
        return "a string of base64"

    def take(self, value: Any) -> str:
        if not isinstance(value, str) or not BASE64.fullmatch(value):
            raise NotAllowed
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": BASE64.pattern, "examples": [""]}


Natural = Annotated[int, Whole(0)]
Count = Annotated[int, Whole(0, LARGEST)]
Amount = Annotated[float, Number(0.0, as_float=True)]
Positive = Annotated[float, Number(0.0, above=True, as_float=True)]
Digits = Annotated[int, Whole(0, MOST_DIGITS)]  # of money
Base64 = Annotated[str, Base64Value()]


class Message:
    """Pydantic's settings: no unknown fields, no conversion of values, no NaN; infinity is null."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "extra": "forbid",
        "strict": True,
        "allow_inf_nan": False,
        "ser_json_inf_nan": "null",
    }

    required: ClassVar[frozenset[str]] = frozenset()  # fields that are always sent, default or not
    ignored: ClassVar[frozenset[str]] = frozenset()  # fields that are never sent

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
    """The data that a client has not shared yet, as sums."""

    epoch: Count
    learned: Annotated[int, Whole(0, 2**62)]
    steps: Annotated[int, Whole(0, MOST_STEPS)]
    growth: Amount
    cost: Amount
    # If rows are streamed: x of the last steps, or all that is not shared yet.
    rows: Base64 | None = None
    dV: Matrix | None = None


@dataclass(frozen=True)
class UploadBody(Message):
    """The data that a client has learned since it last shared, and its price for sharing it."""

    epoch: Count
    steps: Annotated[int, Whole(0, MOST_STEPS)]
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
    delta: Annotated[float, Number(0.0, 1.0, above=True, below=True, as_float=True)]


@dataclass(frozen=True, kw_only=True)
class FederationView(Message, ClientRules):
    """The rules that a client needs, and what the coordinator knows of it."""

    required = frozenset(served(ClientRules))
    ignored = SIMULATED
    federation: str  # its identity: the name and a random part
    client: ClientView
    epoch: Natural
    answer_within: Positive  # seconds that a client has at each stage of a round
    # As data: its kind and numbers. None: the paper's.
    trigger: dict[str, Any] | None = None  # type: ignore[assignment]
    privacy: PrivacyView | None = None  # type: ignore[assignment]
    policy: None = None  # each client's own affair
    revision: Natural = 1  # grows when the operator changes the settings
    start: Natural = 0  # the number of the client's last start; 0: it has said none yet
    key: str | None = None  # the one that this client has registered


@dataclass(frozen=True)
class OfferView(Message):
    """The payment that a client is offered for taking part, in money."""

    attempt: Natural
    payment: Amount
    units: Natural | None = None  # the same in minor units


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
    money_digits: Digits
    units: dict[str, int]  # the payments in minor units
    # trust "auto": the mean score of each model over all that was shared, mean squared norm of arms
    scores: Base64 | None = None
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
