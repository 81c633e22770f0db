"""Who may look, and who may change: operators by their session, and anybody on the machine where
`incfed console` runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request, Response
from starlette.concurrency import run_in_threadpool

from ..ledger import operators
from ..ledger.database import Database
from ..ledger.operators import OPERATOR, Operator
from ..ledger.overview import is_founded
from ..support.addresses import caller, is_loopback
from . import sessions
from .sessions import COOKIE, LASTS, Attempts

LOCAL = Operator("local", OPERATOR)
SAFE = ("GET", "HEAD")
PATH = "/console"  # where the console is mounted


@dataclass
class Console:
    """What the endpoints use: `app.state.console`."""

    store: Database | None = None  # None: only saved results
    folder: Any = None  # with saved results; None: only a federation
    login: bool = True  # False: `incfed console` on this machine
    clock: Callable[[], float] = time.time
    local: Operator = LOCAL  # who looks where there is no login
    attempts: Attempts = field(default_factory=Attempts)
    key: bytes = b""
    founded: bool = False  # is there a federation in the store, as far as we know?

    def has_federation(self) -> bool:
        if not self.founded and self.store is not None:
            with self.store.read() as connection:
                self.founded = is_founded(connection)
        return self.founded

    def session_key(self) -> bytes:
        if not self.key and self.store is not None:
            with self.store.write() as connection:
                self.key = operators.key_of_sessions(connection)
        return self.key


def get_console(request: Request) -> Console:
    console: Console = request.app.state.console
    return console


ConsoleDep = Annotated[Console, Depends(get_console)]


def get_time(console: ConsoleDep) -> float:
    return console.clock()


At = Annotated[float, Depends(get_time)]  # the time of the request


async def viewer(request: Request, console: ConsoleDep) -> Operator:
    """Whose session this is. Of a change, the Origin is checked: other sites' pages may not."""
    if request.method not in SAFE:
        check_origin(request)
    if not console.login:
        # A page of elsewhere whose name was made to lead here must not read anything.
        if not is_loopback(request.url.hostname or ""):
            raise HTTPException(403, "this console answers to 127.0.0.1 and localhost only")
        return console.local
    found = await run_in_threadpool(_operator, console, request.cookies.get(COOKIE, ""))
    if found is None:
        raise HTTPException(401, "log in first: the session is missing or has expired")
    return found


async def operator(who: Annotated[Operator, Depends(viewer)]) -> Operator:
    """The same, of somebody who may change things."""
    if not who.may_change:
        raise HTTPException(403, "viewers cannot change anything: ask an operator")
    return who


Viewer = Annotated[Operator, Depends(viewer)]
Changer = Annotated[Operator, Depends(operator)]


def check_origin(request: Request) -> None:
    origin = request.headers.get("Origin")
    own = f"{request.url.scheme}://{request.headers.get('Host', '')}"
    if origin != own:
        raise HTTPException(403, "a change must come from a page of this console")


def log_in(console: Console, request: Request, response: Response, token: str) -> Operator:
    """Give a session to the owner of this token."""
    address = caller(request.client.host if request.client else "unknown")
    if wait := console.attempts.wait(address):
        raise HTTPException(429, f"too many attempts: wait {wait:.0f} seconds")
    if console.store is None or not console.login:
        return console.local
    with console.store.read() as connection:
        found = operators.find(connection, token=token.strip())
    if found is None:
        console.attempts.fail(address)
        raise HTTPException(401, "no operator has this token, or it was revoked")
    response.set_cookie(
        COOKIE,
        sessions.sign(console.session_key(), found.name, console.clock()),
        max_age=int(LASTS),
        httponly=True,
        samesite="strict",
        secure=not is_loopback(request.url.hostname or ""),
        path=PATH,
    )
    return found


def log_out(response: Response) -> None:
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="strict")


def _operator(console: Console, cookie: str) -> Operator | None:
    if console.store is None or not cookie:
        return None
    name = sessions.read(console.session_key(), cookie, console.clock())
    if name is None:
        return None
    with console.store.read() as connection:
        return operators.find(connection, name=name)
