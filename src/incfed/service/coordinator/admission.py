"""Admission: who may ask, decided before the body of a request is read.

FastAPI reads bodies first. Here a route checks the token first, so that a caller without one can
make the coordinator read nothing, look little up and log next to nothing. A token that was good
before is taken for good: whether it was revoked since is looked up once, with what is asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from ...ledger.clients import EnrolledClient
from ...protocol.messages import VERSION
from ...support.addresses import caller
from ..requests import HISTORY, PROTOCOL, START
from .config import ServerConfig
from .errors import RepeatedKey, TooMany, Unauthorized, UnknownProtocol
from .monitoring import BurstLog

PERIOD = 60.0  # seconds in which `bad_tokens` are counted
REMEMBERED = 10_000  # callers with bad tokens, and tokens that were good


class Visit:
    """A request in progress. If it is a poll, it can be asked to come to an end."""

    def __init__(self, client: int) -> None:
        self.client = client
        self.polls = self.released = False
        self._limit: asyncio.Timeout | None = None

    async def wait(self, change: asyncio.Event, seconds: float) -> None:
        """Until the change, or the release, for at most so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0.0 if self.released else seconds) as self._limit:
                await change.wait()

    def release(self) -> None:
        self.released = True
        if self._limit is not None and self._limit.when() is not None:
            with suppress(RuntimeError):  # it is over anyway
                self._limit.reschedule(0.0)


class Admission:
    """Checks tokens, with `authenticate`, and counts what each client has in progress."""

    def __init__(
        self,
        authenticate: Callable[[str], Awaitable[EnrolledClient | None]],
        server: ServerConfig,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authenticate, self._server, self._clock = authenticate, server, clock
        self._visits: defaultdict[int, list[Visit]] = defaultdict(list)
        self._bad: dict[str, deque[float]] = {}  # by caller, when
        self._good: dict[bytes, int] = {}  # clients by digests of tokens, the least recent first
        self._log = BurstLog("invalid tokens", clock)

    async def client(self, request: Request) -> int:
        """Who sends this request, by its head."""
        protocol = request.headers.get(PROTOCOL)
        if protocol != str(VERSION):
            raise UnknownProtocol(protocol)
        token, digest = _token(request)
        found = self._good.pop(digest, None)
        if found is None:
            found = await self._look_up(token, _address(request))
        self._good[digest] = found
        if len(self._good) > REMEMBERED:
            del self._good[next(iter(self._good))]
        return found

    async def _look_up(self, token: str, who: str) -> int:
        # Behind one address may be others: tokens that were good before do not come here.
        if self._too_many(who):
            self._log.note(who)
            allowed = f"valid: too many were not, wait {PERIOD:.0f} seconds"
            raise TooMany("Authorization", allowed, PERIOD)
        found = await self._authenticate(token) if token else None
        if found is None:
            self._note_bad(who)
            raise Unauthorized
        return found.id

    def forget(self, request: Request) -> None:
        """Its token turned out to be revoked."""
        self._good.pop(_token(request)[1], None)
        self._note_bad(_address(request))

    @contextmanager
    def visit(self, client: int) -> Iterator[Visit]:
        """A request in progress. If there are too many of this client, its oldest poll is released;
        if there is none, the request is refused."""
        mine, most = self._visits[client], self._server.requests_per_client
        if sum(not visit.released for visit in mine) >= most:
            oldest = next((visit for visit in mine if visit.polls and not visit.released), None)
            if oldest is None:
                raise TooMany("request", f"one of at most {most} at a time")
            oldest.release()
        visit = Visit(client)
        mine.append(visit)
        try:
            yield visit
        finally:
            mine.remove(visit)
            if not mine:
                self._visits.pop(client, None)

    def _too_many(self, who: str) -> bool:
        times = self._bad.get(who)
        if times is None or len(times) < self._server.bad_tokens:
            return False
        return self._clock() - times[0] < PERIOD  # as many as are allowed, and all of late

    def _note_bad(self, who: str) -> None:
        if who not in self._bad and len(self._bad) >= REMEMBERED:
            for address in list(self._bad)[: REMEMBERED // 2]:
                del self._bad[address]
        times = self._bad.setdefault(who, deque(maxlen=self._server.bad_tokens))
        times.append(self._clock())
        self._log.note(who)


def _token(request: Request) -> tuple[str, bytes]:
    """The token that it came with, if any, and the digest of that."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    token = token.strip() if scheme.lower() == "bearer" else ""
    return token, hashlib.sha256(token.encode()).digest()


def _address(request: Request) -> str:
    return caller(request.client.host if request.client else "unknown")


class AdmittedRoute(APIRoute):
    """A route for clients: `request.state.visit` is there before the body is."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            admission: Admission = request.app.state.services.admission
            with admission.visit(await admission.client(request)) as visit:
                request.state.visit = visit
                try:
                    return await handle(StrictRequest(request.scope, request.receive))
                except Unauthorized:
                    admission.forget(request)
                    raise

        return admitted


def describe_admission(schema: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI schema, with what every request of a client comes with: endpoints do not name
    it."""
    if "securitySchemes" in schema["components"]:
        return schema  # it is written once
    scheme = {"type": "http", "scheme": "bearer"}
    scheme["description"] = "The token that `incfed client enrol` printed."
    schema["components"]["securitySchemes"] = {"HTTPBearer": scheme}
    headers = [
        {"name": name, "in": "header", "required": name == PROTOCOL, "schema": {"type": "string"}}
        for name in (PROTOCOL, START, HISTORY)
    ]
    for path, operations in schema["paths"].items():
        for operation in operations.values() if path.startswith("/v1/") else ():
            operation["security"] = [{"HTTPBearer": []}]
            operation.setdefault("parameters", []).extend(headers)
    return schema


class StrictRequest(Request):
    """Refuses JSON in which a key stands twice: two readers could take two values."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = json.loads(await self.body(), object_pairs_hook=_without_repeats)
        return self._json


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKey
    return found
