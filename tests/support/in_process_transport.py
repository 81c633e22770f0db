"""A client's requests put to a coordinator without HTTP between them: the same JSON both ways."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sqlalchemy.exc import OperationalError

from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Answer, Delivery
from incfed.service.client.requests import Request
from incfed.service.coordinator import wire
from incfed.service.coordinator.acts import Conflict
from incfed.service.coordinator.coordinator import Coordinator

DIM = 3
Reply = tuple[int, Any]  # status, JSON


def reply(coordinator: Coordinator, who: int, request: Request) -> Reply:
    """What the application would answer; a disk that is full is a 503."""
    try:
        return 200, _view(coordinator, who, request).model_dump(mode="json")
    except Refusal as refusal:
        status = 409 if isinstance(refusal, Conflict) else 422
        return status, {"field": refusal.field, "message": refusal.allowed}
    except OperationalError as error:
        if "full" not in str(error):
            raise
        return 503, {"field": "database", "message": "is away: try again later"}


def _view(coordinator: Coordinator, who: int, request: Request) -> wire.Message:
    query = {name: int(one) for name, [one] in parse_qs(urlsplit(request.path).query).items()}
    body, number = json.dumps(request.body), request.number
    match request.kind:
        case "federation":
            epoch = coordinator.state(who).epoch
            return wire.view_federation(coordinator.settings(), who, f"client {who}", epoch)
        case "state" | "poll":
            return wire.view_state(coordinator.state(who))
        case "open":
            opened = coordinator.open_round(who, query.get("epoch")).round
            assert opened is not None
            return wire.OpenedView(round=opened.number)
        case "upload":
            upload = wire.upload_of(number, wire.UploadBody.model_validate_json(body), DIM)
            return wire.view_state(coordinator.upload(who, upload))
        case "answer":
            answer = wire.AnswerBody.model_validate_json(body)
            message = Answer(number, answer.attempt, answer.accepted)
            return wire.view_state(coordinator.answer(who, message))
        case "delivery":
            db = wire.decode("db", wire.DeliveryBody.model_validate_json(body).db)
            return wire.view_state(coordinator.deliver(who, Delivery(number, db)))
        case "download":
            return wire.view_download(coordinator.download(who, query["since"]))
    raise AssertionError(request.kind)
