"""The coordinator over HTTP: JSON in, JSON out; every refusal is a 4xx that names the field."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer
from fastapi_offline import FastAPIOffline
from sqlalchemy.exc import OperationalError

from ..._version import __version__
from ...ledger.clients import Member
from ...ledger.settings import Settings
from ...ledger.store import Store, changes
from ...protocol.messages import VERSION, Answer, Delivery, Download
from . import logs, wire
from .acts import Act, answers, delivers, opens, uploads
from .answers import Denied, UnknownProtocol, install
from .coordinator import Coordinator
from .failpoints import Reached, nowhere
from .looking import State
from .metrics import CONTENT_TYPE, Metrics
from .news import News
from .together import Together

LONGEST_WAIT = 30.0  # seconds a poll may last
TICK = 0.25  # seconds between looks at the deadlines
NEWS = ("opened", "decided", "closed", "void")  # what clients wait for
Result = TypeVar("Result")

bearer = HTTPBearer(auto_error=False, description="The token that `incfed client enrol` printed.")
Number = Annotated[int, Path(ge=1, le=wire.LARGEST, description="Of the round.")]
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": wire.ErrorView} for status in (400, 401, 409, 413, 422, 426)
}


class Desk:
    """Where requests come together."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        away = OperationalError  # the database, or room on its disk
        self.whose = Together[str, Member | None](coordinator.whose, away)
        self.state = Together[int, State](coordinator.states, away)
        self.download = Together[tuple[int, int | None], Download](coordinator.downloads, away)
        self.tell = Together[tuple[int, Act], State](coordinator.together, away)


async def client(
    request: Request,
    token: Annotated[Any, Depends(bearer)],
    protocol: Annotated[str | None, Header(alias="Incfed-Protocol")] = None,
) -> Member:
    """Who is asking."""
    if protocol != str(VERSION):
        raise UnknownProtocol(protocol)
    desk: Desk = request.app.state.desk
    member = None if token is None else await desk.whose(token.credentials)
    if member is None:
        raise Denied
    return member


Known = Annotated[Member, Depends(client)]


def make_app(
    store: Store,
    settings: Settings,
    *,
    clock: Callable[[], float] = time.time,
    reached: Reached = nowhere,
) -> FastAPI:
    """The application; it owns nothing but its watchers: the store is the caller's."""
    metrics = Metrics()

    def said(event: dict[str, Any]) -> None:
        logs.say(event)
        metrics.event(event)
        if event["event"] in NEWS:
            news.publish()

    coordinator = Coordinator(store, settings, clock, said=said, reached=reached)
    desk, news = Desk(coordinator), News(partial(changes, store))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        news.start()
        ticker = asyncio.create_task(_tick(coordinator, news))
        yield
        await news.stop()
        await ticker

    app = FastAPIOffline(
        title="incfed coordinator",
        version=__version__,
        summary="Rounds of an incentivized federation of bandits.",
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.desk, app.state.news = desk, news
    install(app, metrics, largest_body(settings.dim))
    _add_routes(app, desk, news, settings)
    _add_watching(app, coordinator, metrics)
    return app


def largest_body(dim: int) -> int:
    """Bytes of the largest honest upload, with room to spare."""
    return 4096 + 2 * 8 * dim * (dim + 1) // 2


def _add_routes(app: FastAPI, desk: Desk, news: News, settings: Settings) -> None:
    @app.get("/v1/federation", responses=ERRORS, tags=["for clients"])
    async def federation(member: Known) -> wire.FederationView:
        """The settings that a client needs."""
        present = await _do(desk.coordinator.settings)
        state = await desk.state(member.id)
        return wire.view_federation(present, member.id, member.name, state.epoch)

    @app.get("/v1/state", responses=ERRORS, tags=["for clients"])
    async def state(
        request: Request,
        member: Known,
        after: Annotated[int, Query(ge=0, le=2**62, description="A version.")] = 0,
        wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False)] = 0.0,
    ) -> wire.StateView:
        """What is going on for this client; waits until there is news after version `after`."""
        request.state.waits = True
        end = asyncio.get_running_loop().time() + wait
        while True:
            waiting = news.token()
            seen = await desk.state(member.id)
            left = end - asyncio.get_running_loop().time()
            if seen.version > after or left <= 0 or news.stopping:
                return wire.view_state(seen)
            # who waits is heard of now and then, or it would be taken for gone
            await news.wait(waiting, min(left, max(0.5, settings.live_time / 4.0)))
            if await request.is_disconnected():
                return wire.view_state(seen)  # to nobody; who has gone is not heard of

    @app.post("/v1/rounds", responses=ERRORS, tags=["for clients"])
    async def open_round(
        member: Known,
        epoch: Annotated[int | None, Query(ge=0, le=wire.LARGEST)] = None,
    ) -> wire.OpenedView:
        """Open a round, or join the one that runs (only while `epoch` is the present one)."""
        opened = (await desk.tell((member.id, opens(epoch)))).round
        assert opened is not None
        return wire.OpenedView(round=opened.number)

    @app.put("/v1/rounds/{number}/upload", responses=ERRORS, tags=["for clients"])
    async def upload(number: Number, body: wire.UploadBody, member: Known) -> wire.StateView:
        """dV, frozen for this round."""
        message = wire.upload_of(number, body, settings.dim)
        return wire.view_state(await desk.tell((member.id, uploads(message))))

    @app.put("/v1/rounds/{number}/answer", responses=ERRORS, tags=["for clients"])
    async def answer(number: Number, body: wire.AnswerBody, member: Known) -> wire.StateView:
        """Yes or no to an offer."""
        message = Answer(number, body.attempt, body.accepted)
        return wire.view_state(await desk.tell((member.id, answers(message))))

    @app.put("/v1/rounds/{number}/delivery", responses=ERRORS, tags=["for clients"])
    async def delivery(number: Number, body: wire.DeliveryBody, member: Known) -> wire.StateView:
        """db, from who takes part."""
        message = Delivery(number, wire.decode("db", body.db))
        return wire.view_state(await desk.tell((member.id, delivers(message))))

    @app.get("/v1/download", responses=ERRORS, tags=["for clients"])
    async def download(
        member: Known,
        since: Annotated[int | None, Query(ge=0, le=wire.LARGEST)] = None,
    ) -> wire.DownloadView:
        """The shared statistics: what is new since that epoch, or everything."""
        return wire.view_download(await desk.download((member.id, since)))


def _add_watching(app: FastAPI, coordinator: Coordinator, metrics: Metrics) -> None:
    @app.get("/healthz", tags=["for operators"])
    async def healthz() -> dict[str, str]:
        """Is the database there?"""
        await _do(coordinator.version)
        return {"status": "ok", "incfed": __version__}

    @app.get("/metrics", response_class=Response, tags=["for operators"])
    async def prometheus() -> Response:
        """Figures for Prometheus."""
        page = await _do(metrics.page, coordinator)
        return Response(page, media_type=CONTENT_TYPE)


async def _do(work: Callable[..., Result], *arguments: Any) -> Result:
    """The database blocks: not in the loop that everybody waits in."""
    return await run_in_threadpool(work, *arguments)


async def _tick(coordinator: Coordinator, news: News) -> None:
    trouble = ""  # said once, not four times a second
    while not news.stopping:
        try:
            await asyncio.to_thread(coordinator.tick)
            trouble = ""
        except Exception as error:  # the database may be back for the next one
            if trouble != (trouble := type(error).__name__):
                logs.LOG.error("a look at the deadlines failed", exc_info=error)
        await news.wait_for_stop(TICK)
