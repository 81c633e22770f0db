"""A console served by a thread over a small federation, and a browser to look at it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI

import incfed
from incfed.console.access import PATH
from incfed.console.app import make_console
from incfed.ledger.operators import add
from support.federation import Federation


def small(path: Path, rounds: int = 3, **options: Any) -> Federation:
    """Four clients with costs 0, 1, 5 and 5; every round closes."""
    settings: dict[str, Any] = {
        "dim": 2, "ridge": 1.0, "threshold": 1.0, "budget": 100.0, "money_digits": 2,
        "mechanism": incfed.PaymentEfficient(beta=0.9), "live_time": 1e6,
    }  # fmt: skip
    four = Federation(path, 4, **settings | options)
    for n in range(rounds):
        play(four, n)
    return four


def play(four: Federation, seed: int) -> int:
    """One round; its number."""
    chance = np.random.default_rng(seed)
    rows = [chance.standard_normal((steps, 2)) for steps in (1, 2, 3, 4)]
    number = four.upload(range(4), rows, [0.0, 1.0, 5.0, 5.0])
    for k in four.offered():
        four.deliver(k, number, rows[k])
    four.clock.now += 7200.0
    return number


def token_of(four: Federation, name: str, role: str) -> str:
    with four.store.write() as connection:
        return add(connection, name, role, four.clock())


def app_of(four: Federation | None = None, **options: Any) -> FastAPI:
    """The console where a coordinator has it."""
    outer = FastAPI()
    if four is not None:
        options = {"store": four.store, "clock": four.clock, **options}
    outer.mount(PATH, make_console(**options))
    return outer


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Its address, with the console's path."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}{PATH}"
        finally:
            server.should_exit = True
            thread.join()
