"""Many clients in one process: what they say to a coordinator is what `incfed.Client` says, but
without a disk, and over a connection that costs little, so that the coordinator is measured."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np

from incfed.kernels.ucb import Rules
from incfed.protocol.client import Learner
from incfed.protocol.floats import to_text
from incfed.protocol.messages import VERSION
from incfed.service import codec, requests


class Line:
    """One connection, kept open; HTTP/1.1 with lengths, and no more of it."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = (
            f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nIncfed-Protocol: {VERSION}\r\n"
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else "Content-Type: application/json\r\n"
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{kind}Content-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.split("content-length: ")[1].split("\r\n")[0])
        said = json.loads(await reader.readexactly(length))
        if " 200 " not in answer.split("\r\n")[0]:
            raise RuntimeError(f"{method} {path}: {answer.splitlines()[0]} {said}")
        return said

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


class Simulated:
    """One client: learns a few steps before each round, then takes part in it."""

    def __init__(self, number: int, dim: int, cost: float, port: int, token: str) -> None:
        rules = Rules(0.1, 0.1, 1.0, float("nan"), False, float("inf"), True, 1)
        self.learner, self.cost = Learner(dim, rules), cost
        self.line, self.caller = Line(port, token), Line(port, token)
        self.version = 0
        self.chance = np.random.default_rng(number)

    def learn(self, steps: int) -> None:
        for x in self.chance.standard_normal((steps, self.learner.dim)):
            x /= np.linalg.norm(x)
            self.learner.learn(x, float(self.chance.uniform(-1.0, 1.0)))

    async def take_part(self) -> None:
        """From the news of a round to its download."""
        learner, line = self.learner, self.line
        while True:
            state = await line.ask("GET", f"/v1/state?after={self.version}&wait=25")
            self.version, round = state["version"], state["round"]
            if round is None:
                continue
            where = f"/v1/rounds/{round['number']}"
            if round["stage"] == "open" and not round["uploaded"]:
                upload = learner.freeze(round["number"], self.cost)
                await line.ask("PUT", f"{where}/upload", requests.put_upload(upload).body)
            elif round["stage"] == "offered" and round["offer"] and not round["delivered"]:
                yes = {"attempt": round["offer"]["attempt"], "accepted": True}
                await line.ask("PUT", f"{where}/answer", yes)
                db = to_text(learner.deliver(round["number"]))
                await line.ask("PUT", f"{where}/delivery", {"db": db})
            elif round["stage"] == "closed" and learner.frozen is not None:
                said = await line.ask("GET", f"/v1/download?since={learner.epoch}")
                learner.take_in(codec.read_download(said, learner.dim))
                return

    async def open(self) -> None:
        """Over a connection of its own: the other one waits for news."""
        await self.caller.ask("POST", "/v1/rounds")

    def close(self) -> None:
        self.line.close()
        self.caller.close()
