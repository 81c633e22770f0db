"""A client's process that kills itself when it reaches a named place for the n-th time.

    python mortal_client.py URL FOLDER PLACE N

Observation k is the same in every life; each that `learn` returned from is a line on stdout.
"""

from __future__ import annotations

import os
import signal
import sys

import numpy as np

import incfed
from incfed.service.client import points
from reference_mechanisms import FloatArray

DIM, STEPS = 3, 24


def observation(k: int) -> tuple[FloatArray, float]:
    x = np.random.default_rng(k).standard_normal(DIM)
    return np.asarray(x / np.linalg.norm(x)), float(k)


def main(url: str, folder: str, place: str, times: int) -> None:
    left = [times]

    def watcher(name: str) -> None:
        if name == place:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    points.watch(watcher)
    with incfed.Client(url, "token-0", folder, cost=1.0) as client:
        for k in range(client.steps, STEPS):
            client.learn(*observation(k))
            os.write(1, b".\n")
            if k % 4 == 3:
                client.sync(30.0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
