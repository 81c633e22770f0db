"""One step = choose + learn + trigger (Alg. 1 lines 4-8), and the loop of steps between rounds."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..types import Floats, Ints
from .client import growth, learn, outdated, refresh, remember
from .compiling import compiled, inner
from .factor import whiten
from .signals import Signals, report, worthwhile
from .store import BASE, BLOCKS_A_STEP, CLOCK, PAIRS_A_STEP, Store, fetch
from .trust import Personal, catch_up, choose_personal, enter, learn_personal
from .ucb import Bench, Rules, choose

ROUNDING = 1e-9  # growth below it may be rounding alone, and calls for no round even at D_c = 0
DONE, TRIGGERED, FULL = 0, 1, 2


class Steps(NamedTuple):
    """Consecutive steps of a world, and their outcomes."""

    clients: Ints  # [n]
    arms: Ints  # [n, K] rows of items
    items: Floats  # [M, d]
    rewards: Floats  # [n, K]
    expected: Floats  # [n, K]
    reward: Floats  # [n] out; NaN: unknown, the step was skipped
    regret: Floats  # [n] out
    fetched: Ints  # [n] out, zeros on entry; observations that the client downloaded before it


# Where the fields of each end among the flat arguments of `advance`.
_STEPS = len(Steps._fields)
_STORE = _STEPS + len(Store._fields)
_RULES = _STORE + len(Rules._fields)
_BENCH = _RULES + len(Bench._fields)


@compiled
def triggered(clock: int, grown: float, threshold: float, clocked: bool) -> bool:
    """Whether a client calls for a round, grown = log(det V_i / det(V_i - dV_i)).

    clocked, Alg. 1 line 8: delta t * grown > D_c. Otherwise: det V_i > gamma det(V_i - dV_i).
    """
    return bool(grown > ROUNDING and (clock if clocked else 1) * grown > threshold)


@inner
def largest(values: Floats) -> float:
    best = values[0]
    for k in range(1, values.shape[0]):
        best = max(best, values[k])
    return float(best)


@compiled
def advance(
    stale: bool | None, signals: Signals | None, personal: Personal | None, *flat: Any
) -> tuple[int, int]:
    """advance(stale, signals, personal, *steps, *store, *rules, *bench, begin): run steps until
    one triggers a round.

    `stale` (None: no) chooses with the model as it was after the client's own last step. `signals`
    (None: the client itself decides by the rules) are what the server hears between rounds.
    `personal` (None: everyone trusts the others as itself) has the models to choose with.
    Returns (next step, DONE/TRIGGERED/FULL). FULL is returned before a step is started; call again
    after making room. The arguments are flat, because numba takes longer to unbox a NamedTuple than
    many arrays.
    """
    steps, store = Steps(*flat[:_STEPS]), Store(*flat[_STEPS:_STORE])
    rules, b, begin = Rules(*flat[_STORE:_RULES]), Bench(*flat[_RULES:_BENCH]), flat[_BENCH]
    for t in range(begin, steps.clients.shape[0]):
        if store.free[0] < PAIRS_A_STEP or store.free[1] < BLOCKS_A_STEP:
            return t, FULL
        client = steps.clients[t]
        if outdated(store, client):
            refresh(store, client, rules.ridge, b)
        if personal is None:
            k = choose(store, client, steps.items, steps.arms[t], rules, stale, b)
        else:
            if personal.version[client] < 0:
                enter(store, personal, client)
            if stale is None:
                catch_up(store, personal, client, rules.ridge)
            k = choose_personal(personal, client, steps.items, steps.arms[t], rules, b)
        reward = steps.rewards[t, k]
        steps.reward[t] = reward
        steps.regret[t] = largest(steps.expected[t]) - steps.expected[t, k]
        if reward != reward:  # NaN, an arm that the log did not choose: skip the step
            continue
        if store.table[client, BASE] == 0:
            fetch(store, client, steps.fetched, t)
        x = steps.items[steps.arms[t, k]]
        if stale is not None or personal is not None:  # it was chosen with another factor
            if personal is not None and stale is not None:
                catch_up(store, personal, client, rules.ridge)
            whiten(store.blocks[0, 0], x, b.p)
        square = learn(store, client, x, reward, rules.limit, rules.ridge, b)
        if personal is not None:
            learn_personal(store, personal, client, x, reward, rules.ridge, b)
        elif stale is not None:
            remember(store, client, b)
        store.table[client, CLOCK] += 1
        if signals is not None:
            report(signals, client, x, square, rules.ridge, b)
            if worthwhile(store, signals):
                return t + 1, TRIGGERED
        elif triggered(
            store.table[client, CLOCK], growth(store, client), rules.threshold, rules.clocked
        ):
            return t + 1, TRIGGERED
    return steps.clients.shape[0], DONE
