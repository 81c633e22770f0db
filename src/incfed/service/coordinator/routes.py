"""The endpoints: /v1/... for clients, /healthz and /metrics for operators."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator
from sqlalchemy.exc import OperationalError

from ..._version import __version__
from ...ledger.clients import EnrolledClient
from ...ledger.settings import Settings
from ...protocol.checks import Refusal
from ...protocol.messages import Answer, Download
from .. import binary, codec, requests, wire
from ..binary import PACKED
from . import handlers
from .admission import Admission, AdmittedRoute, Visit
from .batching import Batcher
from .config import ServerConfig
from .coordinator import Coordinator
from .handlers import Handler, SentMessage
from .monitoring import CONTENT_TYPE, Metrics
from .notifications import Notifications
from .screening import Screening
from .starts import Caller, read
from .views import Wanted, view_federation

LONGEST_WAIT = 30.0  # seconds that a long poll may last
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": wire.ErrorView, "description": "A malformed request, or no Incfed-Protocol"},
    401: {"model": wire.ErrorView, "description": "No valid token"},
    409: {
        "model": wire.ErrorView,
        "description": "Does not fit the state of the federation",
    },
    413: {"model": wire.ErrorView, "description": "The body is too large"},
    422: {"model": wire.ErrorView, "description": "A field is wrong"},
    429: {"model": wire.ErrorView, "description": "Too many requests, or invalid tokens"},
    426: {"model": wire.ErrorView, "description": "An unsupported version of the protocol"},
}

for_clients = APIRouter(tags=["for clients"], responses=ERRORS, route_class=AdmittedRoute)
for_operators = APIRouter(tags=["for operators"])


class Services:
    """The objects that the endpoints use: `app.state.services`."""

    def __init__(
        self,
        coordinator: Coordinator,
        notifications: Notifications,
        metrics: Metrics,
        settings: Settings,
        server: ServerConfig,
    ) -> None:
        self.coordinator, self.notifications, self.metrics = coordinator, notifications, metrics
        self.settings, self.server = settings, server
        database = OperationalError  # it is down, or its disk is full: that hits every request
        authenticate = Batcher[str, EnrolledClient | None](coordinator.authenticate, database)
        self.admission = Admission(authenticate, server)
        self.screen = Screening(coordinator.screen, settings.dim)
        self.state = Batcher[Caller, wire.StateView](coordinator.states, database)
        self.download = Batcher[Wanted, Download](coordinator.downloads, database)
        self.handle = Batcher[SentMessage, wire.StateView](coordinator.handle, database)


async def get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(get_services)]


async def enter(request: Request) -> tuple[Services, Caller]:
    """The client that sent the request, and which start of it. `AdmittedRoute` has checked its
    token. Called by each endpoint: as a dependency, FastAPI would take longer over it than over
    all else."""
    services, visit = await get_services(request), request.state.visit
    start, history = (request.headers.get(name) for name in (requests.START, requests.HISTORY))
    if history is not None and not services.coordinator.knows(history):
        await run_in_threadpool(services.coordinator.check_history, visit.client, history)
    return services, Caller(visit.client, None if start is None else read(start))


def sent(caller: Caller, handler: Handler, message: Any) -> SentMessage:
    """A message, with the start of the client that it comes from."""
    return caller.client, handler, message, caller.start


Signature = Annotated[
    str | None,
    Header(alias=requests.SIGNATURE, max_length=100, description="Of your key, if you have one."),
]
RoundNumber = Annotated[int, Path(ge=1, le=wire.LARGEST, description="Number of the round.")]


async def act(
    services: Services, caller: Caller, handler: handlers.Handler, message: Any, response: Response
) -> wire.StateView:
    """Handle what goes into the ledger; a header of the reply says which entry it is."""
    await services.screen(caller.client, handler, message)
    recorded = handlers.Recorded(handler)
    state = await services.handle(sent(caller, recorded, message))
    if recorded.entry:
        response.headers[requests.ENTRY] = str(recorded.entry)
    return state


def _keep_bytes(body: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return body if isinstance(body, bytes) else check(body)


# FastAPI hands over what is not JSON as bytes: those of a packed message, read by `binary`.
OrPacked = WrapValidator(_keep_bytes)
_BYTES = {PACKED: {"schema": {"type": "string", "format": "binary"}}}
TAKES_PACKED: dict[str, Any] = {"requestBody": {"content": _BYTES}}


def accepts_packed(request: Request) -> bool:
    """Whether the client knows packed messages, by its Accept."""
    kinds = request.headers.get("accept", "").split(",")
    return PACKED in (kind.partition(";")[0].strip().lower() for kind in kinds)


def packed_body(request: Request, body: Any) -> bytes | None:
    """The body, if it is packed; None: it was JSON. Other kinds are refused."""
    if not isinstance(body, bytes):
        return None
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != PACKED:
        raise Refusal("Content-Type", kind or None, f"application/json or {PACKED}")
    return body


@for_clients.get(requests.FEDERATION, response_model_exclude=set(wire.SIMULATED))
async def federation(request: Request) -> wire.FederationView:
    """The settings that a client needs."""
    services, caller = await enter(request)
    state = await services.state(caller)
    settings = await run_in_threadpool(services.coordinator.settings)
    member = await run_in_threadpool(services.coordinator.member, caller.client)
    last = await run_in_threadpool(services.coordinator.last_start, caller.client)
    return view_federation(settings, member, state, last)


@for_clients.put(requests.KEY, response_model_exclude_defaults=True)
async def register_key(request: Request, body: wire.KeyBody) -> wire.StateView:
    """Register your public key: from then on, uploads, answers and deliveries must be signed."""
    services, caller = await enter(request)
    return await services.handle(sent(caller, handlers.register_key, body.key))


@for_clients.get(requests.STATE, response_model_exclude_defaults=True)
async def state(
    request: Request,
    after: Annotated[int, Query(ge=0, le=2**62, description="The version you know.")] = 0,
    wait: Annotated[
        float,
        Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="Seconds to wait for it."),
    ] = 0.0,
) -> wire.StateView:
    """The federation and its last round as you see them; waits for a version above `after`."""
    services, caller = await enter(request)
    visit: Visit = request.state.visit
    request.state.waits = visit.polls = True
    notifications, loop = services.notifications, asyncio.get_running_loop()
    end = loop.time() + wait
    while True:
        change = notifications.next_change()
        seen = await services.state(caller)
        left = end - loop.time()
        if seen.version > after or left <= 0 or notifications.stopping:
            return seen
        # look at the state now and then: a client that waits must count as seen
        often = max(0.5, services.settings.live_time / 4.0)
        await visit.wait(change, min(left, often))
        await asyncio.sleep(0)  # a turn of the loop, in which it notices who has left
        if visit.released or await request.is_disconnected():
            return seen  # nobody reads it; a client that has left must not count as seen


@for_clients.put(requests.STATE, response_model_exclude_defaults=True, openapi_extra=TAKES_PACKED)
async def signal(
    request: Request,
    body: Annotated[wire.SignalBody, OrPacked],
    signature: Signature = None,
) -> wire.StateView:
    """Say what you have not shared yet, if the coordinator decides when a round opens: it may open
    one now. Answers at once with the federation and its last round as you see them."""
    services, caller = await enter(request)
    packed, dim = packed_body(request, body), services.settings.dim
    if packed is None:
        message = codec.read_signal_body(body, dim)
    else:
        message = binary.read_signal(packed, dim)
    message = message._replace(signature=signature)
    await services.screen(caller.client, handlers.signal, message)
    return await services.handle(sent(caller, handlers.signal, message))


@for_clients.post(requests.ROUNDS)
async def open_round(
    request: Request,
    epoch: Annotated[
        int | None, Query(ge=0, le=wire.LARGEST, description="Only if this is the current epoch.")
    ] = None,
    after: Annotated[
        int | None, Query(ge=0, le=wire.LARGEST, description="Only if this was the last round.")
    ] = None,
    noisy: Annotated[
        bool, Query(description="You add noise to what you share: your call is judged by steps.")
    ] = False,
) -> wire.OpenedView:
    """Open a round, or join the one in progress."""
    services, caller = await enter(request)
    message = handlers.Open(epoch, after, noisy)
    opened = (await services.handle(sent(caller, handlers.open_round, message))).round
    assert opened is not None
    return wire.OpenedView(round=opened.number)


@for_clients.put(requests.UPLOAD, response_model_exclude_defaults=True, openapi_extra=TAKES_PACKED)
async def upload(
    number: RoundNumber,
    request: Request,
    body: Annotated[wire.UploadBody, OrPacked],
    response: Response,
    signature: Signature = None,
) -> wire.StateView:
    """Upload dV, which is fixed for this round from then on."""
    services, caller = await enter(request)
    packed, dim = packed_body(request, body), services.settings.dim
    if packed is None:
        message = codec.read_upload_body(number, body, dim)
    else:
        message = binary.read_upload(number, packed, dim)
    message = message._replace(signature=signature)
    return await act(services, caller, handlers.upload, message, response)


@for_clients.put(requests.ANSWER, response_model_exclude_defaults=True)
async def answer(
    number: RoundNumber, request: Request, body: wire.AnswerBody, response: Response,
    signature: Signature = None,
) -> wire.StateView:  # fmt: skip
    """Accept or decline an offer."""
    services, caller = await enter(request)
    message = Answer(number, body.attempt, body.accepted, body.upload, signature)
    return await act(services, caller, handlers.answer, message, response)


@for_clients.put(
    requests.DELIVERY, response_model_exclude_defaults=True, openapi_extra=TAKES_PACKED
)
async def delivery(
    number: RoundNumber,
    request: Request,
    body: Annotated[wire.DeliveryBody, OrPacked],
    response: Response,
    signature: Signature = None,
) -> wire.StateView:
    """Deliver db, as a participant of the round."""
    services, caller = await enter(request)
    packed, dim = packed_body(request, body), services.settings.dim
    if packed is None:
        message = codec.read_delivery_body(number, body, dim)
    else:
        message = binary.read_delivery(number, packed, dim)
    message = message._replace(signature=signature)
    return await act(services, caller, handlers.delivery, message, response)


@for_clients.get(
    requests.DOWNLOAD,
    response_model=wire.DownloadView,
    response_model_exclude_defaults=True,
    responses={200: {"content": _BYTES}},
)
async def download(
    request: Request,
    response: Response,
    since: Annotated[
        int | None, Query(ge=0, le=wire.LARGEST, description="The epoch you have.")
    ] = None,
    model: Annotated[
        bool, Query(description="False: only in which rounds you took part since then.")
    ] = True,
    own: Annotated[
        list[Annotated[int, Field(ge=0, le=wire.LARGEST)]],
        Query(max_length=100, description="Rounds whose data of yours you have: it is left out."),
    ] = [],  # noqa: B006
    uploaded: Annotated[
        str | None,
        Query(pattern="^[0-9]{1,9}-[0-9a-f]{16}$", description="Your last upload: round, digest."),
    ] = None,
) -> Any:
    """The shared statistics: what was added since an epoch, or everything. Where downloads are one
    for one, only as far as you are entitled to them. Packed, if your Accept says so; data of your
    own is left out of packed replies only."""
    services, caller = await enter(request)
    packed = accepts_packed(request)
    round, _, digest = (uploaded or "").partition("-")
    named = (int(round), digest) if digest else None
    mine = tuple(own) if packed else ()
    wanted = Wanted(caller.client, since, model, packed, mine, named, caller.start)
    found = await services.download(wanted)
    headers = {requests.HISTORY: found.history} if found.history else {}
    if packed:
        return Response(binary.write_download(found), media_type=PACKED, headers=headers)
    response.headers.update(headers)
    return codec.write_download(found)


@for_clients.get(requests.PROOF)
async def proof(
    request: Request,
    since: Annotated[int, Query(ge=0, le=2**62, description="Entries that you know.")] = 0,
    round: Annotated[
        int | None, Query(ge=0, le=wire.LARGEST, description="Your entries of it; 0: your keys.")
    ] = None,
) -> wire.ProofView:
    """That the ledger extends what it was, and holds what you did: Merkle proofs as in RFC 9162."""
    services, caller = await enter(request)
    found = await run_in_threadpool(services.coordinator.prove, caller.client, since, round)
    return codec.write_proof(found)


@for_operators.get("/healthz")
async def healthz(services: ServicesDep) -> dict[str, str]:
    """Whether the database answers."""
    await run_in_threadpool(services.coordinator.settings)
    return {"status": "ok", "incfed": __version__}


@for_operators.get("/metrics", response_class=Response)
async def metrics(services: ServicesDep) -> Response:
    """Metrics for Prometheus."""
    overview = await run_in_threadpool(services.coordinator.overview)
    return Response(services.metrics.page(overview), media_type=CONTENT_TYPE)
