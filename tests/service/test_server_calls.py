"""Real clients over HTTP, where the coordinator calls for rounds and downloads are one for one."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.clients import enrol
from incfed.ledger.database import Database
from incfed.ledger.settings import Settings
from incfed.service.client.client import Client
from incfed.service.coordinator.app import make_app
from support.serving import serving

TRIGGERS: dict[str, Any] = {
    "growth": incfed.Patient(1.0, signal="growth", factor=1.0),
    "rows": incfed.Patient(1.0),
    "news": incfed.News(1.0),
}


@pytest.mark.parametrize("kind", TRIGGERS)
def test_clients_share_and_download_when_they_act(kind: str, memory: Path) -> None:
    store = Database(f"sqlite:///{memory / 'ledger.db'}")
    settings = Settings(
        dim=3, mechanism=incfed.PaymentFree(), ridge=1.0, trigger=TRIGGERS[kind], width="mixture",
        download="one-for-one",
    )  # fmt: skip
    app = make_app(store, settings)
    with store.write() as connection:
        tokens = [enrol(connection, f"client {k}", 0.0)[1] for k in range(2)]
    arms = np.eye(3)
    with ExitStack() as stack:
        address = stack.enter_context(serving(app))
        clients = [
            stack.enter_context(Client(address, token, memory / str(k), cost=0.5))
            for k, token in enumerate(tokens)
        ]
        for client in clients:
            client.sync(60)
        for k, client in enumerate(clients):
            client.learn(arms[k], 0.5)
            client.sync(60)
        for client in clients:
            client.sync(60)
        assert [client.pending for client in clients] == [0, 0]
        assert [client.epoch for client in clients] == [0, 0]  # they have not acted since
        for client in clients:
            client.choose(arms)
            client.sync(60)
        assert [client.epoch for client in clients] == [1, 1]
        assert clients[0].settings.width == "mixture"
    with store.read() as connection:
        assert audit(connection).findings == []
    store.close()
