"""A client's requests put to a coordinator without HTTP between them: the same JSON both ways."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import TypeAdapter
from sqlalchemy.exc import OperationalError

from incfed.ledger.clients import Member
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Answer
from incfed.service import wire
from incfed.service.coordinator.errors import Conflict
from incfed.service.coordinator.views import view_federation
from incfed.service.wire import Request
from support.single_messages import SingleCoordinator

DIM = 3
Reply = tuple[int, Any]  # status, JSON


def reply(coordinator: SingleCoordinator, who: int, request: Request) -> Reply:
    """What the application would answer; a disk that is full is a 503."""
    try:
        view = _view(coordinator, who, request)
        return 200, TypeAdapter(type(view)).dump_python(view, mode="json")
    except Refusal as refusal:
        status = 409 if isinstance(refusal, Conflict) else 422
        return status, {"field": refusal.field, "message": refusal.allowed}
    except OperationalError as error:
        if "full" not in str(error):
            raise
        return 503, {"field": "database", "message": "is unavailable: try again later"}


def _view(coordinator: SingleCoordinator, who: int, request: Request) -> wire.Message:
    query = {
        name: int(one)
        for name, [one] in parse_qs(urlsplit(request.path).query).items()
        if one.isdecimal()
    }
    body, number = json.dumps(request.body), request.number
    match request.kind:
        case "federation":
            client = Member(who, f"client {who}", False, 0, None)
            return view_federation(coordinator.settings(), client, coordinator.state(who).epoch)
        case "state" | "poll":
            return coordinator.state(who)
        case "open":
            opened = coordinator.open_round(who, query.get("epoch")).round
            assert opened is not None
            return wire.OpenedView(round=opened.number)
        case "signal":
            said = TypeAdapter(wire.SignalBody).validate_json(body)
            return coordinator.signal(who, wire.read_signal_body(said, coordinator.settings().dim))
        case "upload":
            upload = TypeAdapter(wire.UploadBody).validate_json(body)
            dim = coordinator.settings().dim
            return coordinator.upload(who, wire.read_upload_body(number, upload, dim))
        case "answer":
            answer = TypeAdapter(wire.AnswerBody).validate_json(body)
            return coordinator.answer(who, Answer(number, answer.attempt, answer.accepted))
        case "delivery":
            delivery = TypeAdapter(wire.DeliveryBody).validate_json(body)
            dim = coordinator.settings().dim
            return coordinator.deliver(who, wire.read_delivery_body(number, delivery, dim))
        case "download":
            return wire.write_download(coordinator.download(who, query["since"], request.model))
    raise AssertionError(request.kind)
