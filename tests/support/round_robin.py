"""A load balancer: each request goes to the next of several servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle

import httpx
from fastapi import FastAPI, Request, Response

NOT_PASSED_ON = ("connection", "content-length", "transfer-encoding")  # of one connection only


def round_robin(addresses: Sequence[str]) -> FastAPI:
    """To be served; `app.state.answered` counts the answers by address."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with httpx.AsyncClient(timeout=60.0) as app.state.http:
            yield

    app, turns = FastAPI(lifespan=lifespan), cycle(addresses)
    app.state.answered = Counter()

    @app.api_route("/{path:path}", methods=["GET", "POST", "PUT"])
    async def forward(request: Request, path: str) -> Response:
        address = next(turns)
        reply = await app.state.http.request(
            request.method, f"{address}/{path}", params=request.query_params,
            headers=request.headers.raw, content=await request.body(),
        )  # fmt: skip
        app.state.answered[address] += 1
        passed = {name: value for name, value in reply.headers.items() if name not in NOT_PASSED_ON}
        return Response(reply.content, reply.status_code, passed)

    return app
