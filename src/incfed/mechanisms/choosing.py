"""Which client comes next: orders that mechanisms choose by, with ties to the lowest id."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from ..kernels.ucb import TIE
from ..types import Floats, Mask
from .base import CLEARLY, Coalition, Round

NO_MONEY = 1e-300  # instead of dividing by 0


def leading(values: Floats, among: Mask) -> int:
    """The lowest index of `among` with the largest value, up to a relative 1e-9."""
    top = values[among].max()
    return int(np.flatnonzero(among & (values >= top - CLEARLY * abs(top)))[0])


def per_money(gains: Floats, prices: Floats) -> Floats:
    """Gain per money; what is free comes first."""
    return gains / np.maximum(prices, NO_MONEY)


def by_need(round: Round) -> Iterator[Coalition]:
    """The client that needs least to share for data, then with the next one, and so on: the same
    coalition, as it grows. One by one clients may be too dear, where together they pay each other
    with data."""
    S = round.coalition(round.nobody)
    for j in np.argsort(round.needed, kind="stable").tolist():
        S.add(j)
        yield S


def ranking(contributions: Floats, among: Mask) -> list[int]:
    """Clients by descending contribution; ties (1e-9) by ascending id."""
    clients = np.flatnonzero(among)
    falling = clients[np.argsort(-contributions[clients], kind="stable")].tolist()
    ranked: list[int] = []
    tied: list[int] = []  # a heap of ids
    done = ~among
    largest = entered = 0
    for _ in falling:
        while done[falling[largest]]:
            largest += 1
        floor = contributions[falling[largest]] - TIE
        while entered < len(falling) and contributions[falling[entered]] >= floor:
            heapq.heappush(tied, falling[entered])
            entered += 1
        j = heapq.heappop(tied)
        done[j] = True
        ranked.append(j)
    return ranked
