"""An honest client: learns in a small world and shares, until it is stopped.

    python honest.py '{"url": ..., "token": ..., "who": 0, "dim": 4, "pause": 0.05}'

It writes down what it learns, so that one can tell what others have found out about it.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import numpy as np

from incfed import Client

COST = 50.0  # more than data alone is worth: they are paid if anybody is


def main(url: str, token: str, who: int, dim: int, pause: float) -> None:
    chance = np.random.default_rng(who)
    theta = np.full(dim, dim**-0.5)
    stopped = False

    def stop(*signal: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    with (
        Client(url, token, f"honest-{who}", cost=COST) as client,
        Path(f"honest-{who}.jsonl").open("a", encoding="utf-8", buffering=1) as log,
    ):
        while not stopped:
            arms = chance.standard_normal((5, dim))
            arms /= np.linalg.norm(arms, axis=1, keepdims=True)
            x = arms[client.choose(arms)]
            reward = float(np.clip(x @ theta + 0.1 * chance.standard_normal(), -1.0, 1.0))
            log.write(json.dumps([x.tolist(), reward]) + "\n")
            client.learn(x, reward)
            time.sleep(chance.uniform(0.5, 1.5) * pause)  # not all at the same moment


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
