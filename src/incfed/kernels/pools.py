"""Who of many with a list of events acts next, and its pool: one item of its own, others it does
not know. Fast, and the same however a run is cut into pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, inner
from .factor import Floats, Ints


@compiled
def draw_pools(
    who: NDArray[np.uint32],
    others: NDArray[np.uint32],
    places: NDArray[np.uint32],
    start: Ints,
    events: Ints,
    rated_start: Ints,
    rated: Ints,
    following: Ints,
    active: Ints,
    seen: Ints,
    step: int,
    left: int,
    clients: Ints,
    arms: Ints,
    rewards: Floats,
) -> int:
    """Fill clients, arms and rewards (which come as zeros); returns how many clients are left.

    Client i has events[start[i]:start[i + 1]], of which following[i] is the next, and knows the
    items rated[rated_start[i]:rated_start[i + 1]], in ascending order. active[:left] are those with
    events left. The draws, 32 bits each: who[t] acts, others[t, 1:] fill its pool, places[t, 1:]
    shuffle it. `step` is the number of the first step; seen[r], of the last that drew rank r.
    """
    pool = arms.shape[1]
    for t in range(who.shape[0]):
        place = _below(who[t], left)
        client = active[place]
        clients[t] = client
        arms[t, 0] = events[following[client]]
        following[client] += 1
        if following[client] == start[client + 1]:
            left -= 1
            active[place] = active[left]

        # Floyd: `pool - 1` different ranks among the unknown items, one draw each.
        first, last = rated_start[client], rated_start[client + 1]
        unknown = seen.shape[0] - (last - first)
        for k in range(1, pool):
            top = unknown - pool + k
            rank = _below(others[t, k], top + 1)
            if seen[rank] == step + t:
                rank = top
            seen[rank] = step + t
            arms[t, k] = _unknown(rank, rated, first, last)

        # Fisher-Yates: every order is as likely as any other, wherever the answer was.
        answer = 0
        for k in range(pool - 1, 0, -1):
            j = _below(places[t, k], k + 1)
            arms[t, j], arms[t, k] = arms[t, k], arms[t, j]
            if answer == j:
                answer = k
            elif answer == k:
                answer = j
        rewards[t, answer] = 1.0
    return left


@inner
def _below(bits: np.uint32, n: int) -> int:
    """32 random bits as a number from 0 to n - 1."""
    return int(np.int64((np.uint64(bits) * np.uint64(n)) >> np.uint64(32)))


@inner
def _unknown(rank: int, rated: Ints, first: int, last: int) -> int:
    """The item with `rank` smaller ones, not counting those in rated[first:last]."""
    low, high = first, last  # how many of the rated come before it, by bisection
    while low < high:
        middle = (low + high) // 2
        if rated[middle] - (middle - first) <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low - first
