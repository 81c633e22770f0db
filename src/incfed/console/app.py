"""The console as an application of its own: mounted by the coordinator, or served by `incfed
console`. Its pages load nothing from elsewhere."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .._version import __version__
from ..errors import InputError, refuse
from ..ledger.database import Database, DatabaseError
from ..ledger.operators import Operator
from .access import PATH, Console, ConsoleDep, Viewer, check_origin, log_in, log_out
from .changes import changing
from .federation import reading
from .runs import saved

if TYPE_CHECKING:
    from jinja2 import Template

HERE = Path(str(files(__package__)))
DOCS = "/api/docs"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
DOCS_POLICY = "frame-ancestors 'none'"  # its page brings scripts of its own
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
VIEWS = ("now", "rounds", "clients", "ledger", "runs")


@dataclass(frozen=True)
class Token:
    """The one that `incfed operator add` printed."""

    token: str


def make_console(
    store: Database | None = None,
    folder: Path | None = None,
    *,
    login: bool = True,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """A console over a federation's database, a folder of saved results, or both."""
    app = FastAPIOffline(
        title="incfed console",
        version=__version__,
        summary="A federation and saved results, as JSON.",
        docs_url=DOCS,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.console = Console(store, folder, login, clock)
    app.include_router(reading)
    app.include_router(changing)
    app.include_router(saved)
    _add_session(app)
    _add_pages(app)
    _add_errors(app)
    app.add_middleware(Guard)
    return app


def _add_session(app: FastAPI) -> None:
    @app.post("/api/login", tags=["session"])
    def login(request: Request, response: Response, console: ConsoleDep, token: Token) -> Operator:
        """Give a session to the owner of this token."""
        check_origin(request)
        return log_in(console, request, response, token.token)

    @app.post("/api/logout", tags=["session"], status_code=204)
    def logout(request: Request, response: Response) -> None:
        """End the session in this browser."""
        check_origin(request)
        log_out(response)

    @app.get("/api/me", tags=["session"])
    def me(who: Viewer) -> Operator:
        """Who is logged in."""
        return who


def _add_pages(app: FastAPI) -> None:
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    app.mount("/plotly", StaticFiles(directory=_plotly()), name="plotly")

    @app.get("/", include_in_schema=False)
    @app.get("/{view}", include_in_schema=False)
    @app.get("/{view}/{rest:path}", include_in_schema=False)
    def page(request: Request, console: ConsoleDep, view: str = "", rest: str = "") -> HTMLResponse:
        if view == "api":
            raise HTTPException(404, f"there is no such endpoint: see {PATH}{DOCS}")
        known = not view or view in VIEWS
        shell = _shell()
        text = shell.render(
            root=request.scope.get("root_path", ""),
            federation=console.store is not None,
            runs=console.folder is not None,
            login=console.login,
            version=__version__,
            styled=_styled(),
        )
        return HTMLResponse(text, 200 if known else 404)


def _add_errors(app: FastAPI) -> None:
    def said(status: int, message: str) -> JSONResponse:
        return JSONResponse({"message": message}, status)

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> Response:
        if error.status_code == 204:  # nothing new
            return Response(status_code=204)
        return said(error.status_code, error.detail)

    @app.exception_handler(InputError)
    async def refused(request: Request, error: InputError) -> JSONResponse:
        return said(422, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = str(first["loc"][-1])
        if first["type"] == "int_parsing":
            return said(422, str(refuse(field, first["input"], "a whole number")))
        return said(422, f"{field}: {first['msg']}")

    @app.exception_handler(DatabaseError)
    async def database_failed(request: Request, error: DatabaseError) -> JSONResponse:
        return said(503, "the database does not answer: try again later")


@cache
def _shell() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("incfed.console")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return pages.get_template("console.html")


@cache
def _plotly() -> Path:
    """The folder of Plotly's package that has its script."""
    import plotly

    return Path(plotly.__file__).parent / "package_data"


@cache
def _styled() -> tuple[str, ...]:
    """Ids of style elements that Plotly adds unless they are there: the policy forbids these."""
    script = (_plotly() / "plotly.min.js").read_text(encoding="utf-8")
    return tuple(dict.fromkeys(re.findall(r'getElementById\("([0-9a-f]{64})"\)', script)))


class Guard:
    """Headers that keep pages to themselves; nothing of the API is cached."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers: list[Any] = list(message.get("headers", []))
                own = dict(HEADERS)
                own["Content-Security-Policy"] = DOCS_POLICY if path.startswith(DOCS) else POLICY
                fixed = path.startswith(("/static", "/plotly"))
                own["Cache-Control"] = "no-cache" if fixed else "no-store"
                if path.startswith("/plotly"):
                    own["Cache-Control"] = "max-age=86400"
                headers += [(name.encode(), value.encode()) for name, value in own.items()]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, guarded)
