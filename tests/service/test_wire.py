"""The wire: both ends still say what version 0.1 said.

messages_0_1.json holds a whole round between the client and the coordinator of version 0.1.0: each
request as it was sent, with the reply that it got.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from pydantic import TypeAdapter

import incfed
from incfed.ledger.clients import enrol
from incfed.ledger.database import Database
from incfed.ledger.settings import Settings
from incfed.protocol.messages import Answer, Delivery, Upload
from incfed.protocol.packing import Packed
from incfed.service import codec, requests, wire
from incfed.service.coordinator.app import make_app
from incfed.support.inputs import InputError
from support.serving import serving

RECORDED: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("messages_0_1.json").read_text(encoding="utf-8")
)
GOOD = [one for one in RECORDED if one["status"] == 200]


def one(kind: str, text: str = "") -> Any:
    """The JSON of the last good reply to such a request, of those that contain `text`."""
    return json.loads([x["reply"] for x in GOOD if x["kind"] == kind and text in x["reply"]][-1])


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[tuple[httpx.Client, list[str], str]]:
    """Its address, the tokens of two clients, and the identity of the federation."""
    store = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    settings = Settings(
        dim=2, mechanism=incfed.PayEveryone(), threshold=1.0, ridge=1.0, answer_time=5.0
    )
    app = make_app(store, settings, clock=lambda: 1_000_000.0)
    tokens = []
    for k in range(2):
        with store.write() as connection:
            tokens.append(enrol(connection, f"client {k}", 0.0)[1])
    identity = app.state.services.coordinator.settings().identity
    with serving(app) as address, httpx.Client(base_url=address, timeout=60.0) as http:
        yield http, tokens, identity
    store.close()


def alike(new: Any, old: Any) -> None:
    """The same JSON, in the same order; numbers to nine digits."""
    if isinstance(old, dict):
        assert list(new) == list(old)
        for key in old:
            alike(new[key], old[key])
    else:
        assert type(new) is type(old)
        assert new == (pytest.approx(old, rel=1e-9) if isinstance(old, float) else old)


def test_a_client_of_0_1_is_answered_as_before(
    coordinator: tuple[httpx.Client, list[str], str],
) -> None:
    http, tokens, identity = coordinator
    for old in RECORDED:
        headers = {"Authorization": f"Bearer {tokens[old['client']]}", "Incfed-Protocol": "1"}
        headers["Content-Type"] = "application/json"
        got = http.request(old["method"], old["path"], content=old["body"], headers=headers)
        assert got.status_code == old["status"], got.text
        new, before = got.json(), json.loads(old["reply"].replace("IDENTITY", identity))
        if got.status_code != 200:  # the words may be better now
            assert new.pop("message")
            assert before.pop("message")
        alike(new, before)


def test_requests_are_those_of_0_1() -> None:
    factor = Packed("factor", 2, np.array([1.0, 0.0]))
    triangle = Packed("triangle", 2, np.array([1.0, 0.5, 1.0]))
    made = [
        requests.get_federation(),
        requests.get_state(),
        requests.get_state(1, 25.0),
        requests.open_round(0),
        requests.put_upload(Upload(1, 0, 1, 2.0, factor)),
        requests.put_upload(Upload(1, 0, 2, 3.5, triangle)),
        requests.put_answer(Answer(1, 1, True)),
        requests.put_delivery(Delivery(1, np.array([0.25, -0.5]))),
        requests.get_download(0, closed=True),
    ]
    with httpx.Client(base_url="http://here") as http:
        sent = [http.build_request(one.method, one.path, json=one.body) for one in made]
    recorded = [(one["kind"], one["method"], one["path"], one["body"] or "") for one in GOOD]
    for request, built in zip(made, sent, strict=True):
        body = built.content.decode()
        assert (request.kind, request.method, request.path, body) in recorded
    assert {one.kind for one in made} == {one["kind"] for one in RECORDED}


def test_replies_of_0_1_are_understood() -> None:
    settings = codec.read(wire.FederationView, one("federation"))
    assert (settings.federation, settings.dim, settings.threshold) == ("IDENTITY", 2, 1.0)
    assert settings.client == wire.ClientView(0, "client 0")
    assert codec.read(wire.StateView, one("poll")) == wire.StateView(
        2, 0, wire.RoundView(1, "open", False, None, False, False)
    )
    closed = codec.read(wire.StateView, one("state"))
    assert closed.over(1)
    assert closed.active is None
    offered = codec.read(wire.StateView, one("state", "offered")).active
    assert offered is not None
    assert offered.offer is not None
    assert (offered.offer.attempt, offered.answered) == (1, False)
    assert codec.read(wire.OpenedView, one("open")).round == 1
    whole = codec.read_download(one("download", "triangle"), 2)
    assert (whole.epoch, whole.since, list(whole.shared)) == (1, None, [1])
    np.testing.assert_array_equal(whole.V.matrix(), [[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_array_equal(whole.b, [0.75, -0.5])
    assert codec.read_download(one("download"), 2).V.rank == 0


def test_fields_of_a_newer_coordinator_are_ignored() -> None:
    said = one("state")
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
        codec.read(wire.StateView, {**one("state"), **change})
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
