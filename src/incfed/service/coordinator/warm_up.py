"""Compile what rounds need when the coordinator starts, not when the first one holds the lock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from ...ledger.settings import Settings
from ...mechanisms.base import Mechanism
from ...mechanisms.small_worlds import for_small_worlds
from ...protocol import deciding
from ...protocol.global_statistics import GlobalStatistics
from ...protocol.messages import Upload
from ...protocol.open_round import OpenRound, Server, Uploads
from ...protocol.packing import pack_matrix, pack_rows
from ...rules.limits import Limits
from ...rules.rounds import RoundRules
from . import conduct, listening

DIM, CLIENTS = 4, 6  # compiled code does not depend on them
PRICES = (0.3, 1.0, 3.0, 100.0)  # of the clients that do not share for nothing,
FREE = (0, 2, CLIENTS)  # of which there are so many


def warm_up(settings: Settings) -> None:
    """Decide and close small rounds, with and without limits, also again after a client failed."""
    ridge = settings.ridge
    small = replace(settings, dim=DIM)
    epochs = [
        GlobalStatistics.empty(DIM, ridge),
        GlobalStatistics.of(np.eye(DIM), np.zeros(DIM), ridge),
    ]
    for mechanism, messages in _rounds(small):
        conduct.justified(messages[0], small, epochs[1])
        uploads = Uploads.of(messages, epochs.__getitem__, 1, ridge)
        for limits in (None, Limits()):
            rules = RoundRules(mechanism, trigger=settings.rule, limits=limits)
            server = Server(rules, ridge, CLIENTS, epochs[1])
            opened = partial(OpenRound, server, uploads, trigger=0)  # anew in every transaction
            opened().round.coalition(uploads.clients > 0)  # of clients whom data is enough
            for offers in (
                deciding.decide(opened()),
                deciding.decide_again(opened(), {1: 0.0}, add=True),
                deciding.decide_again(opened(), {1: 0.0}, add=False),
            ):
                deciding.close(opened(), offers, [np.zeros(DIM)] * len(offers.payments))
        if small.rule.streams is not None:
            deciding.worthwhile(opened())
            listening.warm_up(small, epochs[1], messages)


def _rounds(settings: Settings) -> Iterator[tuple[Mechanism, dict[int, Upload]]]:
    """Some clients send rows and some a matrix, some lag behind, some want more than others."""
    chance = np.random.default_rng(0)
    steps = [1 + client for client in range(CLIENTS)]
    for mechanism in for_small_worlds(settings.mechanism):
        for price, free in product(PRICES, FREE):
            uploads = {}
            for client, n in enumerate(steps):
                X = 0.5 * chance.standard_normal((n, DIM))
                dV = pack_rows(X) if n < DIM else pack_matrix(X.T @ X)
                uploads[client] = Upload(1, client % 2, n, price * (client >= free), dV)
            yield mechanism, uploads
