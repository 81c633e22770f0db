"""A coordinator's application with three clients enrolled, and how to ask it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import incfed
from incfed.ledger.clients import enrol
from incfed.ledger.database import Database
from incfed.ledger.settings import Settings
from incfed.service.coordinator.app import make_app
from incfed.service.coordinator.config import ServerConfig
from reference.mechanisms import FloatArray
from support.federation import TRUSTING, Clock


def encoded(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, "<f8").tobytes()).decode()


def decoded(text: str) -> FloatArray:
    return np.frombuffer(base64.b64decode(text), "<f8")


class Site:
    def __init__(self, folder: Path, **server: Any) -> None:
        """`server`: settings of [server]."""
        self.store = Database(f"sqlite:///{folder / 'ledger.db'}")
        self.clock = Clock()
        settings = Settings(
            dim=2, mechanism=incfed.PayEveryone(), threshold=1.0, ridge=1.0, answer_time=5.0,
            **TRUSTING,
        )  # fmt: skip
        self.app = make_app(self.store, settings, server=ServerConfig(**server), clock=self.clock)
        self.http = httpx.Client(timeout=60.0)
        self.tokens: list[str] = []
        for k in range(3):
            with self.store.write() as connection:
                self.tokens.append(enrol(connection, f"client {k}", 0.0)[1])

    def __call__(self, client: int, method: str, path: str, body: Any = None, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[client]}", "Incfed-Protocol": "1"}
        headers |= {"Content-Type": "application/json"} | more.pop("headers", {})
        data = json.dumps(body) if body is not None else None
        return self.http.request(method, path, content=data, headers=headers, **more)

    def upload(self, client: int, **changes: Any) -> Any:
        dV = {"form": "factor", "numbers": encoded(1.0, 0.0)}
        body = {"epoch": 0, "steps": 1, "cost": 2.0, "dV": dV} | changes
        return self(client, "PUT", "/v1/rounds/1/upload", body)
