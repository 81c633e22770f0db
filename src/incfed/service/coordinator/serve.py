"""A coordinator process, from a config to its graceful end."""

from __future__ import annotations

import asyncio
import selectors
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np
import uvicorn

from ...kernels.factor import Floats
from ...ledger.settings import Settings
from ...ledger.store import Store
from ...protocol import deciding
from ...protocol.messages import Upload
from ...protocol.packing import pack_matrix, pack_rows
from ...protocol.shared import Shared
from . import logs
from .app import make_app
from .config import Config
from .failpoints import from_environment
from .news import News

PATIENCE = 10  # seconds that requests get to end in when it stops


def serve(config: Config) -> None:
    """Serve until SIGTERM or Ctrl-C; then take no more, answer what waits, and end."""
    server = config.server
    logs.set_up(server.log_level)
    store = Store(server.database)
    try:
        app = make_app(store, config.settings, reached=from_environment())
        began = time.perf_counter()
        warm_up(config.settings)
        fields = {"seconds": round(time.perf_counter() - began, 1)}
        logs.LOG.info("kernels ready", extra={"fields": fields})
        with suppress(KeyboardInterrupt):  # uvicorn raises again what it was stopped by
            Graceful(
                uvicorn.Config(
                    app,
                    host=server.host,
                    port=server.port,
                    log_config=None,
                    access_log=False,
                    ssl_certfile=server.certificate,
                    ssl_keyfile=server.key,
                    timeout_graceful_shutdown=PATIENCE,
                    server_header=False,
                ),
                app.state.news,
            ).run()
    finally:
        store.close()
        logs.LOG.info("stopped")


class Graceful(uvicorn.Server):
    """Answers every request that was sent before it stops listening. Who waits for news is sent
    home at the first sign of the end, not after all have gone."""

    def __init__(self, config: uvicorn.Config, news: News) -> None:
        super().__init__(config)
        self._news = news

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._news.dismiss()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Read what has arrived first: uvicorn alone would hang up on it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                listening = [one for server in self.servers for one in server.sockets]
                turns = 0
                while turns < 3:  # of the loop: who was let in is not yet served in the first
                    await asyncio.sleep(0)
                    turns = 0 if _readable(listening) else turns + 1
                for server in self.servers:
                    server.close()
                while self._unread() and not self.force_exit:
                    await asyncio.sleep(0.01)
        await super().shutdown(sockets)

    def _unread(self) -> bool:
        """Has a connection sent what is not read yet? The others end with their present answer."""
        unread = False
        connections: list[Any] = list(self.server_state.connections)  # whichever speaks HTTP here
        for one in connections:
            idle = one.cycle is None or one.cycle.response_complete
            if idle and _readable([one.transport.get_extra_info("socket")]):
                unread = True
            else:
                one.shutdown()
        return unread


def _readable(sockets: Iterable[Any]) -> bool:
    """Does any have something to read?"""
    with selectors.DefaultSelector() as selector:
        for one in sockets:
            selector.register(one, selectors.EVENT_READ)
        return bool(selector.select(0))


def warm_up(settings: Settings) -> None:
    """Compile what a decision needs now: the first round must not wait for it, nor hold a lock."""
    d, ridge = settings.dim, settings.ridge
    past = [Shared.empty(d, ridge), Shared.of(np.eye(d), np.zeros(d), ridge)]
    rows: Floats = np.eye(d)[: d // 2] * 0.1
    few = Upload(1, 0, max(1, len(rows)), 1.0, pack_rows(rows))
    many = Upload(1, 1, d, 1.0, pack_matrix(np.eye(d)))
    table = deciding.Table(
        {0: few, 1: many, 2: many}, 0, past.__getitem__, 1, 0, 1, 0.0, np.inf,
        settings.mechanism, d, ridge,
    )  # fmt: skip
    verdict = deciding.decide(table)
    again = deciding.decide_again(table, {1: 0.0}, add=True)
    for one in (verdict, again):
        deciding.close(table, one, [np.zeros(d)] * len(one.payments))
