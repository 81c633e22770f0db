"""An application served on loopback, by a thread of this process."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from incfed.service.coordinator.serve import GracefulServer


@contextmanager
def serving(
    app: FastAPI, kind: type[GracefulServer] = GracefulServer, port: int = 0
) -> Iterator[str]:
    """Its address. A coordinator's application is served as `incfed serve` does. Port 0: any that
    is free."""
    listening = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(app, log_config=None, ws="none")
    services = getattr(app.state, "services", None)
    server = uvicorn.Server(config) if services is None else kind(config, None, services)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.handle_exit(signal.SIGTERM, None)
        thread.join()
        listening.close()
