"""Every reply to a client carries the head of the ledger: clients keep heads, and compare them."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..requests import HEAD
from .coordinator import Coordinator


class HeadMiddleware:
    """Adds the header to replies under /v1/."""

    def __init__(self, app: ASGIApp, coordinator: Coordinator) -> None:
        self.app, self.coordinator = app, coordinator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_head(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                header = HEAD.lower().encode(), str(self.coordinator.head).encode()
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        ours = scope["type"] == "http" and scope["path"].startswith("/v1/")
        await self.app(scope, receive, with_head if ours else send)
