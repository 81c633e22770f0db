"""The FastAPI application: its parts, its background tasks and its middleware."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..._version import __version__
from ...console.access import PATH
from ...console.app import make_console
from ...ledger.database import Database
from ...ledger.settings import Settings
from .admission import describe_admission
from .config import ServerConfig
from .coordinator import Coordinator
from .errors import TooLarge, add_exception_handlers, is_outage
from .front_page import front_page
from .heads import HeadMiddleware
from .monitoring import LOG, Metrics, Outage, log_event
from .notifications import Notifications
from .refusals import Refusals
from .routes import Services, for_clients, for_operators

TICK = 0.25  # seconds between checks of the deadlines
NOTIFY = ("opened", "decided", "closed", "void")  # events that clients wait for

PUBLIC = ("/v1/", "/healthz")  # and the front page
NOWHERE = "/nowhere"  # no page is there


def make_app(
    store: Database,
    settings: Settings,
    *,
    server: ServerConfig | None = None,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """The application, as operators see it. Closing the store is up to the caller."""
    metrics, outage = Metrics(), Outage()
    notifications, refusals = Notifications(store), Refusals()

    def on_event(event: dict[str, Any]) -> None:
        log_event(event)
        metrics.event(event)
        if event["event"] in NOTIFY:
            notifications.publish()

    coordinator = Coordinator(store, settings, clock, on_event)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        notifications.start()
        ticker = asyncio.create_task(_check_deadlines(coordinator, notifications, refusals, outage))
        yield
        await notifications.stop()
        await ticker

    app = FastAPIOffline(
        title="incfed coordinator",
        version=__version__,
        summary="Rounds of an incentivized federation of bandits.",
        lifespan=lifespan,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # it has metrics of its own
    )
    written = app.openapi
    app.openapi = lambda: describe_admission(written())  # type: ignore[method-assign]
    app.state.services = Services(
        coordinator, notifications, metrics, settings, server or ServerConfig()
    )
    app.include_router(for_clients)
    app.include_router(for_operators)
    app.include_router(front_page)
    if find_spec("plotly") is not None:  # an extra
        app.mount(PATH, make_console(store, clock=clock))
    add_exception_handlers(app, metrics, refusals, outage)
    app.add_middleware(HeadMiddleware, coordinator=coordinator)
    app.add_middleware(RequestMiddleware, metrics=metrics, largest=largest_body(settings.dim))
    return app


def largest_body(dim: int) -> int:
    """Bytes of the largest valid upload, with some room."""
    return 4096 + 2 * 8 * dim * (dim + 1) // 2


async def _check_deadlines(
    coordinator: Coordinator, notifications: Notifications, refusals: Refusals, outage: Outage
) -> None:
    last_error = ""  # logged once, not four times a second
    while not notifications.stopping:
        try:
            await asyncio.to_thread(_tick, coordinator, refusals)
            last_error = ""
            outage.succeeded()
        except Exception as error:  # the next time may be better
            if is_outage(error):
                outage.failed(error)
            elif last_error != (last_error := type(error).__name__):
                LOG.error("checking the deadlines failed", exc_info=error)
        await asyncio.sleep(TICK)


def _tick(coordinator: Coordinator, refusals: Refusals) -> None:
    coordinator.tick()
    refusals.flush(coordinator.store, coordinator.clock())


class PublicApp:
    """The part of the application for callers: the rest is for operators, and needs no token."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        public = scope["type"] != "http" or scope["path"].startswith(PUBLIC) or scope["path"] == "/"
        if not public:
            scope = {**scope, "path": NOWHERE, "raw_path": NOWHERE.encode()}  # refused as usual
        await self.app(scope, receive, send)


class RequestMiddleware:
    """Limits the size of bodies, counts answers, and answers HEAD like GET without the body, which
    load balancers ask for."""

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

        async def limited_receive() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.largest:
                raise TooLarge(self.largest)
            return message

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            await self.app(scope, limited_receive, watched_send)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            waits = scope.get("state", {}).get("waits", False)
            taken = None if waits else time.perf_counter() - began
            self.metrics.answered(route, status, taken)
