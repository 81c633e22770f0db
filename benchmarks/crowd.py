"""Many clients in one process: what they say to a coordinator is what `incfed.Client` says, packed
and signed, but without a disk, and over a connection that costs little, so that the coordinator is
measured."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from incfed.kernels.ucb import Rules
from incfed.protocol.client import Learner
from incfed.protocol.floats import to_bytes
from incfed.protocol.heads import Head
from incfed.protocol.messages import VERSION, Delivery
from incfed.protocol.packing import combine
from incfed.protocol.statements import (
    DELIVERED,
    UPLOADED,
    statement,
    upload_fields,
)
from incfed.service import binary, codec, requests
from incfed.service.binary import PACKED
from incfed.service.requests import Request
from incfed.service.wire import FederationView
from incfed.support.signing import digest, public_key, sign


class Line:
    """One connection, kept open; HTTP/1.1 with lengths, and no more of it."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = (
            f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nIncfed-Protocol: {VERSION}\r\n"
            f"Accept: application/json, {PACKED}\r\n{requests.START}: 1-00000000\r\n"
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.seen: Head | None = None  # of the ledger, with the last reply

    async def ask(self, request: Request) -> Any:
        """What JSON says, or the bytes of a packed message."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(self._written(request))
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        said = await reader.readexactly(int(headers["content-length"]))
        if " 200 " not in first:
            raise RuntimeError(f"{request.method} {request.path}: {first} {said!r}")
        self._see(headers[requests.HEAD.lower()])
        return said if headers["content-type"] == PACKED else json.loads(said)

    def _written(self, request: Request) -> bytes:
        body, kind = request.body or b"", ""
        if isinstance(body, bytes):
            kind = f"Content-Type: {PACKED}\r\n" if body else ""
        else:
            body, kind = json.dumps(body).encode(), "Content-Type: application/json\r\n"
        if request.signature is not None:
            kind += f"{requests.SIGNATURE}: {request.signature}\r\n"
        head = f"{request.method} {request.path} HTTP/1.1\r\n{self._head}{kind}"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _see(self, text: str) -> None:
        head = Head.read(text)
        if self.seen is not None and head.number == self.seen.number:
            assert head == self.seen, "a fork"
        self.seen = head

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
        self._key = hashlib.sha256(f"client {number}".encode()).digest()
        self._settings: FederationView

    def learn(self, steps: int) -> None:
        for x in self.chance.standard_normal((steps, self.learner.dim)):
            x /= np.linalg.norm(x)
            self.learner.learn(x, float(self.chance.uniform(-1.0, 1.0)))

    async def enter(self) -> None:
        """The first requests of a client: its settings, and the registration of its key."""
        said = await self.line.ask(requests.get_federation())
        self._settings = codec.read(FederationView, said)
        await self.line.ask(requests.put_key(public_key(self._key)))

    async def take_part(self) -> None:
        """From the news of a round to its download."""
        learner, line = self.learner, self.line
        while True:
            state = await line.ask(requests.get_state(self.version, 25.0))
            self.version, round = state["version"], state["round"]
            if round is None:
                continue
            if round["stage"] == "open" and not round["uploaded"]:
                await line.ask(self._upload(round["number"]))
            elif round["stage"] == "offered" and round["offer"] and not round["delivered"]:
                await line.ask(self._delivery(round["number"]))
            elif round["stage"] == "closed" and learner.frozen is not None:
                own = learner.held(closed=True)
                named = f"{learner.frozen.round}-{learner.frozen.sent.packed().digest()}"
                wanted = binary.get_download(learner.epoch, True, True, own, named)
                news = binary.read_download(await line.ask(wanted), learner.dim, own)
                learner.take_in(news)
                return

    def _upload(self, number: int) -> Request:
        upload = self.learner.freeze(number, self.cost)
        fields = upload_fields(self._settings.client.id, upload)
        return self._signed(
            binary.put_upload(upload, self._settings.money_digits), UPLOADED, fields
        )

    def _delivery(self, number: int) -> Request:
        frozen, dim = self.learner.frozen, self.learner.dim
        assert frozen is not None
        packed = frozen.sent.packed()
        delivery = Delivery(number, self.learner.deliver(number), upload=self._uploaded)
        request = binary.put_delivery(delivery, packed)
        assert isinstance(request.body, bytes)
        sent = binary.read_delivery(number, request.body, dim)
        db = sent.db if sent.basis is None else combine(packed, sent.db)
        fields = {"round": number, "db": digest(to_bytes(db)), "steps": frozen.sent.steps}
        return self._signed(request, DELIVERED, fields | {"cost": self.cost})

    @property
    def _uploaded(self) -> str:
        assert self.learner.frozen is not None
        return self.learner.frozen.sent.packed().digest()

    def _signed(self, request: Request, kind: str, fields: Mapping[str, Any]) -> Request:
        named = {"client": self._settings.client.id, **fields}
        said = statement(self._settings.federation, kind, named)
        return request._replace(signature=sign(self._key, said))

    async def open(self) -> None:
        """Over a connection of its own: the other one waits for news."""
        await self.caller.ask(requests.open_round(self.learner.epoch))

    def close(self) -> None:
        self.line.close()
        self.caller.close()
