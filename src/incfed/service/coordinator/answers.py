"""What goes wrong, as 4xx answers {field, value, message}; counted, logged without payloads."""

from __future__ import annotations

import time
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...protocol.checks import Refusal
from ...protocol.messages import VERSION
from ...support.inputs import counted
from .acts import Conflict, Revoked
from .logs import LOG
from .metrics import Metrics


class Denied(Exception):
    """No token, a wrong one, or one that was revoked: nobody is told which."""


class UnknownProtocol(Exception):
    def __init__(self, got: str | None) -> None:
        self.got = got


class TooLarge(HTTPException):
    """Raised while the body is read, where FastAPI lets only its own kind of error through."""

    def __init__(self) -> None:
        super().__init__(413)


def install(app: FastAPI, metrics: Metrics, largest: int) -> None:
    """Handlers for all of it, a limit on bodies, and a count of every request."""

    def answer(
        status: int, field: str, value: object, message: str, *, invented: bool = False
    ) -> JSONResponse:
        field = "(unknown)" if invented else field  # a sender's own words are not repeated
        metrics.refused(field)
        LOG.info("refused", extra={"fields": {"event": "refused", "status": status,
                                              "field": field}})  # fmt: skip
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        body = {"field": field, "value": _short(value), "message": message}
        return JSONResponse(body, status, headers)

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> JSONResponse:
        status = 409 if isinstance(error, Conflict) else 422
        return answer(status, error.field, error.value, f"must be {error.allowed}")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
        kind = first["type"]
        if kind == "json_invalid":
            return answer(422, "body", None, "must be JSON")
        if kind == "extra_forbidden":
            return answer(422, "", None, "a field that means nothing here", invented=True)
        return answer(422, ".".join(place) or "body", first.get("input"), first["msg"])

    @app.exception_handler(Denied)
    @app.exception_handler(Revoked)
    async def denied(request: Request, error: Exception) -> JSONResponse:
        return answer(401, "Authorization", None, "must be Bearer and a token that is valid")

    @app.exception_handler(UnknownProtocol)
    async def unknown(request: Request, error: UnknownProtocol) -> JSONResponse:
        status = 400 if error.got is None else 426
        return answer(status, "Incfed-Protocol", error.got, f"must be {VERSION}")

    @app.exception_handler(TooLarge)
    async def too_large(request: Request, error: TooLarge) -> JSONResponse:
        return answer(413, "body", None, f"must be at most {counted(largest, 'byte')}")

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> JSONResponse:
        field = "body" if error.status_code == 400 else "request"
        response = answer(error.status_code, field, None, str(error.detail))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(SQLAlchemyError)
    async def away(request: Request, error: SQLAlchemyError) -> JSONResponse:
        LOG.error("the database failed", extra={"fields": {"error": type(error).__name__}})
        body = {"field": "database", "value": None, "message": "is away: try again later"}
        return JSONResponse(body, 503, {"Retry-After": "1"})

    app.add_middleware(Gate, metrics=metrics, largest=largest)


class Gate:
    """Around every request: no body beyond the limit is read, and the answer is counted. HEAD is
    answered as GET is, without the body: load balancers ask so."""

    def __init__(self, app: ASGIApp, metrics: Metrics, largest: int) -> None:
        self.app, self.metrics, self.largest = app, metrics, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, read = time.perf_counter(), 500, 0
        head = scope["method"] == "HEAD"
        if head:
            scope = {**scope, "method": "GET"}

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.largest:
                raise TooLarge
            return message

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            await self.app(scope, limited, watched)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            waits = scope.get("state", {}).get("waits", False)
            taken = None if waits else time.perf_counter() - began
            self.metrics.answered(route, status, taken)


def _short(value: object) -> Any:
    """Numbers and short words are said again; never what may be data."""
    if isinstance(value, bool | int) and abs(value) < 2**53:
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    short = isinstance(value, str) and len(value) <= 60 and value.isascii() and value.isprintable()
    return value if short else None
