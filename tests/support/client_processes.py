"""What clients' own processes do, until they are killed."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import incfed
from support.failpoints import client_failpoints
from support.live_coordinator import observation


def mortal(url: str, token: str, folder: Path, failpoint: str, times: int) -> None:
    """Learns and shares until it reaches a failpoint for the n-th time, and kills itself there. To
    get to an answer, it declines.

    Each observation that `learn` returned from is a byte in a file.
    """
    left = [times]

    def reached(name: str) -> None:
        if name == failpoint:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    noted = os.open(f"{folder}.noted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    accept = not failpoint.startswith("answer.")
    with (
        client_failpoints(reached),
        incfed.Client(url, token, folder, cost=1.0, accept=lambda offer: accept) as client,
    ):
        while True:
            client.learn(*observation(client.steps))
            os.write(noted, b".")
            client.sync(60.0)


def obedient(
    url: str, token: str, folder: Path, cost: float, file: Path, orders: Connection
) -> None:
    """Does what it is told. A number: chooses among the arms of that step, learns, waits for the
    round if that calls for one, and answers with the pick and its epoch; -1: catches up."""
    trace = incfed.Trace.load(file)
    with incfed.Client(url, token, folder, cost=cost) as client:
        orders.send_bytes(b"ready")
        while True:
            t, picked = int(orders.recv_bytes()), 0
            if t >= 0:
                arms = trace.items[trace.arms[t]]
                picked = client.choose(arms)
                client.learn(arms[picked], float(trace.rewards[t, picked]))
            client.sync(60.0)
            orders.send_bytes(f"{picked} {client.epoch}".encode())
