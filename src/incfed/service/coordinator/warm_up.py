"""Compile what rounds need when the coordinator starts, not when the first one holds the lock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from ...ledger.settings import Settings
from ...mechanisms.small_worlds import for_small_worlds
from ...protocol import deciding
from ...protocol.deciding import RoundInputs
from ...protocol.global_statistics import GlobalStatistics
from ...protocol.messages import Upload
from ...protocol.packing import pack_matrix, pack_rows
from ...rules.limits import Limits
from . import conduct, listening

DIM, CLIENTS, RIDGE = 4, 6, 0.1  # compiled code does not depend on them
PRICES = (0.3, 1.0, 3.0, 100.0)  # of the clients that do not share for nothing,
FREE = (0, 2, CLIENTS)  # of which there are so many


def warm_up(settings: Settings) -> None:
    """Decide and close small rounds, with and without limits, also again after a client failed."""
    small = replace(settings, dim=DIM, ridge=RIDGE)
    for inputs in _rounds(small):
        conduct.justified(inputs.uploads[0], small, inputs.shared(1))
        for limits in (None, Limits()):
            case = inputs._replace(limits=limits)
            for offers in (
                deciding.decide(case),
                deciding.decide_again(case, {1: 0.0}, add=True),
                deciding.decide_again(case, {1: 0.0}, add=False),
            ):
                deciding.close(case, offers, [np.zeros(DIM)] * len(offers.payments))
        if small.rule.streams is not None:
            deciding.worthwhile(small.rule, inputs)
            listening.warm_up(small, inputs.shared(1), inputs.uploads)


def _rounds(settings: Settings) -> Iterator[RoundInputs]:
    """Some clients send rows and some a matrix, some lag behind, some want more than others."""
    chance, ridge = np.random.default_rng(0), settings.ridge
    epochs = [
        GlobalStatistics.empty(DIM, ridge),
        GlobalStatistics.of(np.eye(DIM), np.zeros(DIM), ridge),
    ]
    steps = [1 + client for client in range(CLIENTS)]
    for mechanism in for_small_worlds(settings.mechanism):
        for price, free in product(PRICES, FREE):
            uploads = {}
            for client, n in enumerate(steps):
                X = 0.5 * chance.standard_normal((n, DIM))
                dV = pack_rows(X) if n < DIM else pack_matrix(X.T @ X)
                uploads[client] = Upload(1, client % 2, n, price * (client >= free), dV)
            yield RoundInputs(
                uploads, 0, epochs.__getitem__, 1, 0, 1, 0.0, np.inf, mechanism, DIM, ridge,
                settings.rule, members=CLIENTS,
            )  # fmt: skip
