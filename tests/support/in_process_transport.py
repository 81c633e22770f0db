"""A client's requests put to a coordinator without HTTP between them: the same bytes
both ways."""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import TypeAdapter
from sqlalchemy.exc import OperationalError

from incfed.ledger.clients import EnrolledClient
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Answer
from incfed.service import binary, wire
from incfed.service.coordinator.errors import Conflict
from incfed.service.coordinator.views import view_federation
from incfed.service.requests import Request
from support.single_messages import SingleCoordinator

DIM = 3
Reply = tuple[int, Any]  # status, JSON


@cache  # to build one takes longer than all else that a message needs
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def reply(
    coordinator: SingleCoordinator, who: int, request: Request, start: str | None = None
) -> Reply:
    """What the application would answer; a disk that is full is a 503. `start`: of the client."""
    try:
        coordinator.name_start(start)
        view = _view(coordinator, who, request)
        if isinstance(view, bytes):
            return 200, view
        kind: Any = type(view)
        return 200, _adapter(kind).dump_python(view, mode="json")
    except Refusal as refusal:
        status = 409 if isinstance(refusal, Conflict) else 422
        return status, {"field": refusal.field, "message": refusal.allowed}
    except OperationalError as error:
        if "full" not in str(error):
            raise
        return 503, {"field": "database", "message": "is unavailable: try again later"}
    finally:
        coordinator.name_start(None)  # what comes next is not of this client


def _view(coordinator: SingleCoordinator, who: int, request: Request) -> wire.Message | bytes:
    query = {
        name: [int(one) for one in found if one.isdecimal()]
        for name, found in parse_qs(urlsplit(request.path).query).items()
    }
    number, dim = request.number, coordinator.settings().dim
    packed = request.body if isinstance(request.body, bytes) else b""
    match request.kind:
        case "federation":
            client = EnrolledClient(who, f"client {who}", False, None)
            state = coordinator.state(who)
            last = coordinator.last_start(who)
            return view_federation(coordinator.settings(), client, state, last)
        case "state" | "poll":
            return coordinator.state(who)
        case "open":
            opened = coordinator.open_round(who, *query["epoch"], *query["after"]).round
            assert opened is not None
            return wire.OpenedView(round=opened.number)
        case "signal":
            return coordinator.signal(who, binary.read_signal(packed, dim))
        case "upload":
            return coordinator.upload(who, binary.read_upload(number, packed, dim))
        case "answer":
            answer = _adapter(wire.AnswerBody).validate_json(json.dumps(request.body))
            said = answer.attempt, answer.accepted, answer.upload
            return coordinator.answer(who, Answer(number, *said))
        case "delivery":
            return coordinator.deliver(who, binary.read_delivery(number, packed, dim))
        case "download":
            [since], own = query["since"], tuple(query.get("own", ()))
            named = parse_qs(urlsplit(request.path).query).get("uploaded", [""])[0].partition("-")
            uploaded = (int(named[0]), named[2]) if named[2] else None
            return binary.write_download(
                coordinator.download(who, since, request.model, True, own, uploaded)
            )
    raise AssertionError(request.kind)
