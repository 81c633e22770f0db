"""Downloads one for one: clients that do not share keep the model that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from ...kernels.client import keep_base
from ...kernels.store import BASE, make_room
from ...rules.rounds import EVERYONE
from ...types import Ints
from ..open_round import Uploads
from .base import Feature

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class Lagging(Feature):
    """Clients that lag behind the server's model."""

    def __init__(self, run: SynchronousRun) -> None:
        self._run = run
        self._pending: Ints = np.empty(0, np.int64)  # the clients with pending data

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        return None if run.server.rules.download == EVERYONE else cls(run)

    def collected(self, uploads: Uploads) -> Uploads:
        self._pending = uploads.clients
        return uploads._replace(lagging=bool(self._run.store.table[uploads.clients, BASE].any()))

    def sharing(self, clients: Ints, steps: Ints) -> None:
        if not len(clients):
            return
        run, pending = self._run, self._pending
        staying = pending[~np.isin(pending, clients) & (run.store.table[pending, BASE] == 0)]
        run.store = make_room(run.store, len(staying), 2 * len(staying))
        keep_base(*run.store, *run.bench, staying, run.rules.ridge)
