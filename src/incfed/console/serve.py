"""A console on one's own machine: listens on loopback, and opens the browser."""

from __future__ import annotations

import getpass
import socket
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from ..errors import InputError
from ..ledger.database import Database
from ..ledger.operators import OPERATOR, Operator
from ..values import Whole
from .access import PATH
from .app import make_console

if TYPE_CHECKING:
    from ..support.terminal import Terminal

HOST = "127.0.0.1"


def serve(
    terminal: Terminal,
    *,
    store: Database | None = None,
    folder: Path | None = None,
    port: int = 0,
    view: str = "",
    browser: bool = True,
) -> None:
    """Until Ctrl-C."""
    Whole(0, 65535).of("--port", port)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    made = make_console(store, folder, login=False)
    made.state.console.local = Operator(getpass.getuser(), OPERATOR)  # what changes are recorded by
    app.mount(PATH, made)
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise InputError(f"port: cannot listen on {port}: {error.strerror}") from None
    with listening:
        address = f"http://{HOST}:{listening.getsockname()[1]}{PATH}/{view}"
        terminal.note(f"The console is at {address} (stop it with Ctrl-C)")
        if browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        with suppress(KeyboardInterrupt):  # uvicorn raises it again after stopping
            server.run(sockets=[listening])
