"""Imported once by the process that others are forked from: all that they import and compile."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import uvicorn

import incfed
from incfed.ledger.clients import EnrolledClient
from incfed.ledger.database import Database
from incfed.ledger.settings import Settings
from incfed.service.client.durable_learner import warm_up
from incfed.service.coordinator.app import make_app
from incfed.service.coordinator.views import view_federation
from incfed.service.coordinator.warm_up import warm_up as warm_up_server
from incfed.service.wire import StateView
from support import client_processes, live_coordinator  # noqa: F401


def warm() -> None:
    settings = Settings(dim=3, mechanism=incfed.PaymentEfficient(beta=0.7), threshold=1.0)
    state = StateView(1, 0, None)
    warm_up(view_federation(settings, EnrolledClient(0, "a", False, None), state))
    warm_up_server(settings)
    with tempfile.TemporaryDirectory() as folder:
        store = Database(f"sqlite:///{Path(folder) / 'empty.db'}")
        uvicorn.Config(make_app(store, settings), log_config=None).load()
        store.close()


warm()
gc.freeze()  # what is there need not be looked at, and so not copied, by every fork
