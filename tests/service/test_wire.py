"""The wire as JSON: requests, replies, and what is wrong with them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from incfed.errors import InputError
from incfed.protocol.messages import Answer, Download
from incfed.protocol.packing import Packed
from incfed.service import codec, requests, wire

FACTOR = Packed("factor", 2, np.array([1.0, 0.0]))
TRIANGLE = Packed("triangle", 2, np.array([1.0, 0.5, 1.0]))
ROUND = {"number": 1, "stage": "closed", "uploaded": True, "offer": None, "answered": False,
         "delivered": False}  # fmt: skip
STATE: dict[str, Any] = {"version": 3, "epoch": 1, "round": ROUND}


@pytest.mark.parametrize(
    ("request_", "method", "path", "body"),
    [
        (requests.get_federation(), "GET", "/v1/federation", None),
        (requests.get_state(), "GET", "/v1/state", None),
        (requests.get_state(1, 25.0), "GET", "/v1/state?after=1&wait=25", None),
        (requests.open_round(0), "POST", "/v1/rounds?epoch=0", None),
        (
            requests.put_answer(Answer(1, 1, True)), "PUT", "/v1/rounds/1/answer",
            {"attempt": 1, "accepted": True},
        ),
        (requests.get_download(0, closed=True), "GET", "/v1/download?since=0", None),
    ],
)  # fmt: skip
def test_requests(request_: requests.Request, method: str, path: str, body: Any) -> None:
    assert (request_.method, request_.path, request_.body) == (method, path, body)


def test_replies_are_understood() -> None:
    opened = STATE | {"version": 2, "epoch": 0, "round": ROUND | {"stage": "open"}}
    assert codec.read(wire.StateView, opened) == wire.StateView(
        2, 0, wire.RoundView(1, "open", True, None, False, False)
    )
    closed = codec.read(wire.StateView, STATE)
    assert closed.over(1)
    assert closed.active is None
    offer = {"attempt": 1, "payment": 1.5, "units": 150}
    offered = codec.read(
        wire.StateView, STATE | {"round": ROUND | {"stage": "offered", "offer": offer}}
    ).active
    assert offered is not None
    assert offered.offer == wire.OfferView(1, 1.5, 150)
    assert codec.read(wire.OpenedView, {"round": 1}).round == 1


@pytest.mark.parametrize("V", [FACTOR, TRIANGLE], ids=["factor", "triangle"])
def test_a_download_as_json(V: Packed) -> None:
    sent = Download(1, None, V, np.array([0.75, -0.5]), {1: 1.5}, money_digits=2)
    said = json.loads(json.dumps(asdict(codec.write_download(sent))))
    assert (said["shared"], said["units"]) == ({"1": 1.5}, {"1": 150})
    got = codec.read(wire.DownloadView, said)
    assert (got.epoch, got.since, got.money_digits) == (1, None, 2)
    np.testing.assert_array_equal(codec.read_matrix("V", got.V, 2).matrix(), V.matrix())
    np.testing.assert_array_equal(codec.read_floats("b", got.b), sent.b)


def test_fields_of_a_newer_coordinator_are_ignored() -> None:
    said = STATE
    newer = {**said, "mood": "good", "round": {**said["round"], "weather": "fine"}}
    assert codec.read(wire.StateView, newer) == codec.read(wire.StateView, said)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"version": 1.5}, "version: got 1.5, must be a whole number"),
        ({"epoch": -1}, "epoch: got -1, must be a whole number of at least 0"),
        ({"round": 7}, "round: got 7, must be an object"),
        ({"round": {}}, "round.number: got None"),
        ({"round": {"number": 1, "stage": "void"}}, "round.stage: got 'void', must be one of"),
        ({"round": {"number": 1, "stage": "open", "uploaded": 1}}, "round.uploaded: got 1"),
    ],
)
def test_a_reply_that_is_wrong_is_refused_by_field(change: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as refused:
        codec.read(wire.StateView, {**STATE, **change})
    assert str(refused.value).startswith(error)


def test_both_ends_check_alike() -> None:
    """What pydantic accepts at the coordinator, `read` accepts without it, and the reverse."""
    good = {"epoch": 0, "steps": 1, "cost": 2, "dV": {"form": "factor", "numbers": ""}}
    kind, adapter = wire.UploadBody, TypeAdapter(wire.UploadBody)
    assert adapter.validate_python(good) == codec.read(kind, good)
    assert asdict(codec.read(kind, good)) == good
    for field, value in (
        ("epoch", -1), ("epoch", 2**31), ("epoch", "0"), ("epoch", 1.0), ("epoch", True),
        ("steps", 10**9 + 1), ("cost", -0.1), ("cost", "1"), ("cost", float("nan")),
        ("cost", float("inf")), ("dV", None), ("dV", {"form": "square", "numbers": ""}),
    ):  # fmt: skip
        bad = {**good, field: value}
        with pytest.raises(ValueError, match=field):
            adapter.validate_python(bad)
        with pytest.raises(InputError, match=field):
            codec.read(kind, bad)
