"""Errors: why a request is refused, and how that is answered: 4xx with {field, value, message}.

Every refusal is counted and logged, without what the client sent.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import (
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
    TimeoutError,
)
from starlette.exceptions import HTTPException

from ...protocol.checks import Refusal
from ...protocol.messages import VERSION
from ...support.inputs import counted
from ..requests import PROTOCOL
from .monitoring import LOG, Metrics, Outage
from .refusals import Refusals


class Conflict(Refusal):
    """The message is well-formed, but does not fit the state of the federation."""

    status = 409


class Unauthorized(Refusal):
    """No token, a wrong one or a revoked one: the answer does not say which."""

    status = 401
    quiet = True  # logged by `admission`, once a burst
    headers: ClassVar = {"WWW-Authenticate": "Bearer"}

    def __init__(self) -> None:
        super().__init__("Authorization", None, "'Bearer' followed by a valid token")


class TooMany(Refusal):
    """More than one caller may have, for so many seconds."""

    status = 429
    quiet = True

    def __init__(self, field: str, allowed: str, wait: float = 1.0) -> None:
        super().__init__(field, None, allowed)
        self.headers = {"Retry-After": str(max(1, math.ceil(wait)))}


class UnknownProtocol(Refusal):
    def __init__(self, got: str | None) -> None:
        super().__init__(PROTOCOL, got, str(VERSION))
        self.status = 400 if got is None else 426


class TooLarge(HTTPException):
    """Raised while the body is read, where FastAPI lets only an HTTPException through."""

    def __init__(self, largest: int) -> None:
        super().__init__(413, f"must be at most {counted(largest, 'byte')}")


class RepeatedKey(HTTPException):
    """Raised while the body is read, like `TooLarge`."""

    def __init__(self) -> None:
        super().__init__(400, "must not have the same key twice in an object")


def is_outage(error: Exception) -> bool:
    """Whether it says that the database cannot be used now; else there is a mistake in a query."""
    return isinstance(error, OperationalError | InterfaceError | TimeoutError) or (
        isinstance(error, DBAPIError) and error.connection_invalidated
    )


def add_exception_handlers(
    app: FastAPI, metrics: Metrics, refusals: Refusals, outage: Outage
) -> None:
    def answer(
        status: int,
        field: str,
        value: object,
        message: str,
        *,
        headers: Any = None,
        quiet: bool = False,
    ) -> JSONResponse:
        metrics.refused(field)
        fields = {"event": "refused", "status": status, "field": field}
        if not quiet:
            LOG.info("refused", extra={"fields": fields})
        body = {"field": field, "value": _short(value), "message": message}
        return JSONResponse(body, status, headers)

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> JSONResponse:
        status, message = getattr(error, "status", 422), f"must be {error.allowed}"
        headers, quiet = getattr(error, "headers", None), getattr(error, "quiet", False)
        visit = getattr(request.state, "visit", None)
        if visit is not None and not quiet and status != 409:  # a conflict is no fault
            refusals.note(visit.client, error.field)
        return answer(status, error.field, error.value, message, headers=headers, quiet=quiet)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        kind = first["type"]
        if kind == "json_invalid":
            return answer(422, "body", None, "must be JSON")
        if kind == "unexpected_keyword_argument":  # what the sender wrote is not repeated
            return answer(422, "(unknown)", None, "is not a field of this message")
        place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
        return answer(422, ".".join(place) or "body", first.get("input"), first["msg"])

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        field = "body" if error.status_code in (400, 413) else "request"
        return answer(error.status_code, field, None, str(error.detail), headers=error.headers)

    @app.exception_handler(SQLAlchemyError)
    async def database_failed(request: Request, error: SQLAlchemyError) -> JSONResponse:
        if is_outage(error):
            outage.failed(error, requests=1)
        else:
            fields = {
                "error": type(error).__name__,
                "next": "the caller got 503, and may repeat it",
            }
            LOG.error("the database failed", extra={"fields": fields})
        body = {"field": "database", "value": None, "message": "is unavailable: try again later"}
        return JSONResponse(body, 503, {"Retry-After": "1"})


def _short(value: object) -> Any:
    """Numbers and short words are repeated in the answer; what may be data never is."""
    if isinstance(value, bool | int) and abs(value) < 2**53:
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    short = isinstance(value, str) and len(value) <= 60 and value.isascii() and value.isprintable()
    return value if short else None
