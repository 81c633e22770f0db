"""The messages as JSON: what a request may look like, and what is answered.

Arrays of floats are base64 of float64, little-endian: exact, and smaller than digits.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ...kernels.factor import Floats
from ...ledger.settings import Settings
from ...protocol.checks import Refusal
from ...protocol.floats import from_text, to_text
from ...protocol.messages import Download, Upload
from ...protocol.packing import FACTOR, Packed
from ...support.inputs import counted
from .looking import State

LARGEST = 2**31 - 1  # of a database's plain integers
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*={0,2}$", examples=[""])]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, ser_json_inf_nan="null")


class Matrix(Message):
    """A symmetric matrix: its upper triangle row by row, or the rows of a triangular factor."""

    form: Literal["triangle", "factor"]
    numbers: Base64


class UploadBody(Message):
    epoch: Count
    steps: Annotated[int, Field(ge=0, le=10**9)]
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    dV: Matrix


class AnswerBody(Message):
    attempt: Count
    accepted: bool


class DeliveryBody(Message):
    db: Base64


class ClientView(Message):
    id: int
    name: str


class FederationView(Message):
    """What a client has to know."""

    federation: str  # its identity: the name, and a random part
    dim: int
    ridge: float
    noise: float
    delta: float
    exploration: float | None
    threshold: float | None
    arm_norm: float
    reward_bound: float
    cost_limit: float
    client: ClientView
    epoch: int


class OfferView(Message):
    attempt: int
    payment: float


class RoundView(Message):
    number: int
    stage: Literal["open", "offered", "closed"]
    uploaded: bool
    offer: OfferView | None
    answered: bool
    delivered: bool


class StateView(Message):
    version: int
    epoch: int
    round: RoundView | None


class OpenedView(Message):
    round: int


class DownloadView(Message):
    epoch: int
    since: int | None
    V: Matrix
    b: Base64
    shared: dict[str, float]


class ErrorView(Message):
    """Which field is wrong, what it was (if that is short), and what is allowed."""

    field: str
    value: str | int | float | bool | None = None
    message: str


def decode(field: str, text: str) -> Floats:
    try:
        return from_text(text)
    except ValueError:
        raise Refusal(field, None, "base64 of float64 numbers, little-endian") from None


def upload_of(round: int, body: UploadBody, dim: int) -> Upload:
    numbers = decode("dV.numbers", body.dV.numbers)
    if body.dV.form == FACTOR and len(numbers) % dim:
        raise Refusal("dV.numbers", counted(len(numbers), "number"), f"whole rows of {dim}")
    packed = Packed(body.dV.form, dim, np.ascontiguousarray(numbers))
    return Upload(round, body.epoch, body.steps, body.cost, packed)


def view_state(state: State) -> StateView:
    """A round that came to nothing is closed, as far as a client is concerned."""
    seen = state.round
    round = seen and RoundView(
        number=seen.number,
        stage=_stage(seen.stage),
        uploaded=seen.uploaded,
        offer=seen.offer and OfferView(attempt=seen.offer.attempt, payment=seen.offer.payment),
        answered=seen.answered,
        delivered=seen.delivered,
    )
    return StateView(version=state.version, epoch=state.epoch, round=round)


def _stage(stage: str) -> Literal["open", "offered", "closed"]:
    if stage == "open":
        return "open"
    return "offered" if stage == "offered" else "closed"


def view_download(news: Download) -> DownloadView:
    return DownloadView(
        epoch=news.epoch,
        since=news.since,
        V=Matrix(
            form="factor" if news.V.form == FACTOR else "triangle", numbers=to_text(news.V.numbers)
        ),
        b=to_text(news.b),
        shared={str(round): paid for round, paid in news.shared.items()},
    )


def view_federation(settings: Settings, client: int, name: str, epoch: int) -> FederationView:
    return FederationView(
        federation=settings.identity,
        dim=settings.dim,
        ridge=settings.ridge,
        noise=settings.noise,
        delta=settings.delta,
        exploration=settings.exploration,
        threshold=settings.threshold,
        arm_norm=settings.arm_norm,
        reward_bound=settings.reward_bound,
        cost_limit=settings.cost_limit,
        client=ClientView(id=client, name=name),
        epoch=epoch,
    )
