"""Draw the next client and its pool for worlds in which every client has a list of events. The pool
has the event's item and others that are unknown to the client. The draws do not depend on how a run
is divided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..types import Floats, Ints
from .compiling import compiled, inner


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
    """Fill clients, arms and rewards (zero on entry); returns how many clients have events left.

    Client i has events[start[i]:start[i + 1]], of which following[i] is the next, and knows the
    items rated[rated_start[i]:rated_start[i + 1]], in ascending order. active[:left] are the
    clients with events left. Random draws, 32 bits each: who[t] selects the client, others[t, 1:]
    its pool, places[t, 1:] shuffle it. `step` is the number of the first step; seen[r] the last
    step that drew rank r.
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

        # Floyd's algorithm: `pool - 1` different ranks among the unknown items, one draw each.
        first, last = rated_start[client], rated_start[client + 1]
        unknown = seen.shape[0] - (last - first)
        for k in range(1, pool):
            top = unknown - pool + k
            rank = _below(others[t, k], top + 1)
            if seen[rank] == step + t:
                rank = top
            seen[rank] = step + t
            arms[t, k] = _unknown(rank, rated, first, last)

        # Fisher-Yates shuffle: all orders are equally likely.
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
    low, high = first, last  # number of rated items before it, by bisection
    while low < high:
        middle = (low + high) // 2
        if rated[middle] - (middle - first) <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low - first
