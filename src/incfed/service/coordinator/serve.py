"""The coordinator process: checks before it starts, serving, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import uvicorn

from ...kernels.factor import Floats
from ...ledger.database import Database
from ...ledger.settings import Settings
from ...protocol import deciding
from ...protocol.messages import Upload
from ...protocol.packing import pack_matrix, pack_rows
from ...protocol.shared import Shared
from ...support.inputs import refuse
from .app import make_app
from .config import Config, ServerConfig
from .monitoring import LOG, set_up_logging
from .notifications import Notifications

GRACE = 10  # seconds that requests in progress get when the coordinator stops


def serve(config: Config) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer the requests in progress and stop."""
    server = config.server
    set_up_logging(server.log_level)
    store = Database(server.database)
    try:
        app = make_app(store, config.settings)
        began = time.perf_counter()
        warm_up(config.settings)
        fields = {"seconds": round(time.perf_counter() - began, 1)}
        LOG.info("kernels ready", extra={"fields": fields})
        with suppress(KeyboardInterrupt):  # uvicorn raises it again after stopping
            GracefulServer(
                uvicorn.Config(
                    app,
                    host=server.host,
                    port=server.port,
                    log_config=None,
                    access_log=False,
                    ssl_certfile=server.certificate,
                    ssl_keyfile=server.key,
                    timeout_graceful_shutdown=GRACE,
                    server_header=False,
                ),
                app.state.services.notifications,
            ).run()
    finally:
        store.close()
        LOG.info("stopped")


class GracefulServer(uvicorn.Server):
    """Answers every request that was sent before it stops listening. Long polls are answered as
    soon as the signal comes."""

    def __init__(self, config: uvicorn.Config, notifications: Notifications) -> None:
        super().__init__(config)
        self._notifications = notifications

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._notifications.release_waiters()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Read what has arrived first: uvicorn alone would close those connections."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                listening = [one for server in self.servers for one in server.sockets]
                turns = 0
                while turns < 3:  # of the loop: a new connection is not served in its first turn
                    await asyncio.sleep(0)
                    turns = 0 if _readable(listening) else turns + 1
                for server in self.servers:
                    server.close()
                while self._unread() and not self.force_exit:
                    await asyncio.sleep(0.01)
        await super().shutdown(sockets)

    def _unread(self) -> bool:
        """Has a connection sent what is not read yet? The others end with their current answer."""
        unread = False
        connections: list[Any] = list(self.server_state.connections)  # of httptools or h11
        for one in connections:
            idle = one.cycle is None or one.cycle.response_complete
            if idle and _readable([one.transport.get_extra_info("socket")]):
                unread = True
            else:
                one.shutdown()
        return unread


def _readable(sockets: Iterable[Any]) -> bool:
    """Does any of them have something to read?"""
    with selectors.DefaultSelector() as selector:
        for one in sockets:
            selector.register(one, selectors.EVENT_READ)
        return bool(selector.select(0))


def warm_up(settings: Settings) -> None:
    """Compile what a decision needs now, not in the first round, while it holds the lock."""
    d, ridge = settings.dim, settings.ridge
    past = [Shared.empty(d, ridge), Shared.of(np.eye(d), np.zeros(d), ridge)]
    rows: Floats = np.eye(d)[: d // 2] * 0.1
    few = Upload(1, 0, max(1, len(rows)), 1.0, pack_rows(rows))
    many = Upload(1, 1, d, 1.0, pack_matrix(np.eye(d)))
    inputs = deciding.RoundInputs(
        {0: few, 1: many, 2: many}, 0, past.__getitem__, 1, 0, 1, 0.0, np.inf,
        settings.mechanism, d, ridge,
    )  # fmt: skip
    offers = deciding.decide(inputs)
    again = deciding.decide_again(inputs, {1: 0.0}, add=True)
    for one in (offers, again):
        deciding.close(inputs, one, [np.zeros(d)] * len(one.payments))


def preflight(server: ServerConfig) -> None:
    """InputError, by the name of the setting, if the certificate, its key or the address to listen
    on cannot be used."""
    if server.certificate is not None and server.key is not None:
        _check_certificate(server.certificate, server.key)
    try:
        found = socket.getaddrinfo(
            server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise refuse("server.host", server.host, "an address of this machine") from None
    for family, _, _, _, address in found:
        try:
            socket.create_server(address, family=family).close()
        except OSError as error:
            why = os.strerror(error.errno or 0).lower()
            allowed = f"a free port on {server.host} ({why})"
            raise refuse("server.port", server.port, allowed) from None


def _check_certificate(certificate: Path, key: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:  # reading it as a trusted one shows whether it is a certificate
        context.load_verify_locations(certificate)
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or error.strerror
        raise refuse("server.certificate", str(certificate), f"a PEM file ({why})") from None
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or error.strerror
        allowed = f"the certificate's key, a PEM file without a password ({why})"
        raise refuse("server.key", str(key), allowed) from None
