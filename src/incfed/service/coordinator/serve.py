"""The coordinator process: checks before it starts, serving, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import ssl
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from ...errors import refuse
from ...ledger.database import Database
from ...ledger.federation import too_small
from ...ledger.settings import Settings
from ...support.addresses import is_loopback
from .app import PublicApp, make_app
from .config import Config, ServerConfig
from .connections import Connections, LimitedConnection, raise_file_limit
from .monitoring import LOG, set_up_logging
from .routes import Services
from .warm_up import warm_up

GRACE = 10  # seconds that requests in progress get when the coordinator stops
BACKLOG = 2048  # connections that wait to be accepted,
ACCEPTS = 64  # and that are accepted in one turn of the loop, before any is counted
FOR_OPERATORS = 64  # connections


def serve(config: Config) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer the requests in progress and stop."""
    server = config.server
    set_up_logging(server.log_level)
    files = raise_file_limit()
    store = Database(server.database)
    try:
        app = make_app(store, config.settings, server=server)
        began = time.perf_counter()
        warm_up(config.settings)
        fields = {"seconds": round(time.perf_counter() - began, 1)}
        LOG.info("kernels ready", extra={"fields": fields})
        for warning in (*plain_http(server), *cautions(store, config.settings)):
            LOG.warning(warning)
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises it again after stopping
                GracefulServer(*listeners(app, server), app.state.services, files).run()
        finally:
            LOG.info("stopped")
    finally:
        store.close()


def cautions(store: Database, settings: Settings) -> list[str]:
    """Warnings for the operator about the config's settings and the size of the federation."""
    with store.read() as connection:
        small = too_small(connection)
    return [*settings.warnings, *([small] if small else [])]


def listeners(app: ASGIApp, server: ServerConfig) -> tuple[uvicorn.Config, uvicorn.Config]:
    """For callers, and for operators."""

    def listener(app: ASGIApp, host: str, port: int, tls: bool) -> uvicorn.Config:
        return uvicorn.Config(
            app,
            host=host,
            port=port,
            ws="none",
            log_config=None,
            access_log=False,
            forwarded_allow_ips=list(server.proxies),
            ssl_certfile=server.certificate if tls else None,
            ssl_keyfile=server.key if tls else None,
            timeout_graceful_shutdown=GRACE,
            server_header=False,
        )

    host, port = server.operators
    callers = listener(PublicApp(app), server.host, server.port, True)
    return callers, listener(app, host, port, not is_loopback(host))


def plain_http(server: ServerConfig) -> list[str]:
    """Warnings of what can be read on the way."""
    if server.certificate is not None:
        return []
    found = []
    if not is_loopback(server.host):
        found.append(
            f"PLAIN HTTP on {server.host}: anybody on the way can read the tokens of clients, and "
            "act and be paid as they. Set certificate and key in [server], or listen on 127.0.0.1 "
            "behind a proxy that uses TLS"
        )
    if not is_loopback(server.operator_host):
        found.append(
            f"PLAIN HTTP on {server.operator_host} for operators: anybody on the way can read the "
            "metrics, and tokens that are sent there. Set certificate and key in [server]"
        )
    return found


class GracefulServer(uvicorn.Server):
    """Listens for callers and for operators. Answers every request that was sent before it stops
    listening. Long polls are answered as soon as the signal comes."""

    def __init__(
        self,
        config: uvicorn.Config,
        operators: uvicorn.Config | None,
        services: Services,
        files: int | None = None,
    ) -> None:
        super().__init__(config)
        self._notifications, server = services.notifications, services.server
        # Operators get in whatever callers do.
        self._doors = [(config, Connections(server, services.metrics, files))]
        if operators is not None:
            few = replace(server, connections=FOR_OPERATORS)
            self._doors.append((operators, Connections(few, services.metrics)))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Like uvicorn's, with limited connections; `sockets`: listen for callers on these."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        self.servers = []
        for config, connections in self._doors:
            self.servers += await self._listen(config, connections, sockets)
            sockets = None
        self.started = True
        places = ("for_clients", "for_operators")
        fields = dict(zip(places, map(_address, self._doors, self.servers), strict=False))
        LOG.info("listening", extra={"fields": fields})

    async def _listen(
        self,
        config: uvicorn.Config,
        connections: Connections,
        sockets: list[socket.socket] | None,
    ) -> list[asyncio.Server]:
        if not config.loaded:
            config.load()

        def connection() -> LimitedConnection:
            return LimitedConnection(
                connections,
                config=config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )

        limits: dict[str, Any] = {"backlog": ACCEPTS}
        if config.ssl is not None:
            limits |= {"ssl": config.ssl, "ssl_handshake_timeout": connections.server.header_time}
        listen = asyncio.get_running_loop().create_server
        places: list[Any] = [{"host": config.host, "port": config.port}]
        if sockets is not None:
            places = [{"sock": sock} for sock in sockets]
        made = [await listen(connection, **place, **limits) for place in places]
        for sock in (sock for server in made for sock in server.sockets):
            with socket.fromfd(sock.fileno(), sock.family, sock.type) as listening:
                listening.listen(BACKLOG)  # the loop uses one number for both
        return made

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._notifications.release_waiters()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Read what has arrived first: uvicorn alone would close those connections."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                listening = [sock for server in self.servers for sock in server.sockets]
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
        for connection in connections:
            idle = connection.cycle is None or connection.cycle.response_complete
            if idle and _readable([connection.transport.get_extra_info("socket")]):
                unread = True
            else:
                connection.shutdown()
        return unread


def _address(door: tuple[uvicorn.Config, Connections], server: asyncio.Server) -> str:
    config, _ = door
    host, port = server.sockets[0].getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if config.ssl else 'http'}://{shown}:{port}"


def _readable(sockets: Iterable[Any]) -> bool:
    """Does any of them have something to read?"""
    with selectors.DefaultSelector() as selector:
        for sock in sockets:
            selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def preflight(server: ServerConfig) -> None:
    """InputError, by the name of the setting, if the certificate, its key or the address to listen
    on cannot be used."""
    if server.certificate is not None and server.key is not None:
        _check_certificate(server.certificate, server.key)
    _check_free("", server.host, server.port)
    _check_free("operator_", *server.operators)


def _check_free(kind: str, host: str, port: int) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise refuse(f"server.{kind}host", host, "an address of this machine") from None
    for family, _, _, _, address in found:
        try:
            socket.create_server(address, family=family).close()
        except OSError as error:
            why = os.strerror(error.errno or 0).lower()
            raise refuse(f"server.{kind}port", port, f"a free port on {host} ({why})") from None


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
