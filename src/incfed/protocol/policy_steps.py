"""The steps of a simulated federation whose clients choose by a policy of the user's own."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable

import numpy as np

from ..kernels.factor import add_outer
from ..kernels.step import DONE, Steps
from ..kernels.store import (
    BASE,
    BASE_PAIR,
    BLOCKS_A_STEP,
    DENSE,
    OWN,
    PAIRS_A_STEP,
    PENDING,
    SEEN,
    SERVER,
    TAIL,
    Store,
    make_room,
)
from ..kernels.trust import Personal, preferred
from ..types import Floats, Ints
from .policies import ClientModel, PendingChain, Policies, no_chain
from .run import Run

Kernel = Callable[[Steps, int], tuple[int, int]]  # runs a step of one arm; the number of the step


class PolicySteps:
    """One step at a time, in Python. The kernels see it as a step with one arm: first without a
    reward, so that the client is brought up to date, and learns nothing; and when the policy has
    chosen, with what it is to learn."""

    def __init__(self, run: Run, policies: Policies, kernel: Kernel) -> None:
        self._run, self._policies, self._kernel = run, policies, kernel
        one = np.zeros(1)
        self._one = Steps(
            np.zeros(1, np.int64), np.zeros((1, 1), np.int64), np.zeros((1, run.dim)),
            np.zeros((1, 1)), np.zeros((1, 1)), one, one.copy(), np.zeros(1, np.int64),
        )  # fmt: skip
        self._whole = no_chain(run.dim)
        self.owners: Ints | None = None  # of the policies, if clients act as one
        self.propensity = array("d")  # of each step, NaN: not known

    def run(self, steps: Steps, t: int) -> tuple[int, int]:
        """Step t of these, as `advance` runs it."""
        run, one, client = self._run, self._one, int(steps.clients[t])
        run.store = make_room(run.store, 2 * PAIRS_A_STEP, 2 * BLOCKS_A_STEP)
        one.clients[0], one.fetched[0], one.rewards[0, 0] = client, 0, math.nan
        self._kernel(one, t)
        policy = self._policies.of(client if self.owners is None else int(self.owners[t]))
        model, ids = self.model(client), steps.arms[t]
        k, propensity = policy.choose(model, steps.items[ids])
        self.propensity.append(propensity)
        reward, expected = float(steps.rewards[t, k]), steps.expected[t]
        steps.reward[t], steps.regret[t] = reward, expected.max() - expected[k]
        state = DONE
        if not math.isnan(reward):
            x, y = policy.observed(model, steps.items[ids[k]], reward)
            one.items[0], one.rewards[0, 0] = x, y
            _, state = self._kernel(one, t)
        steps.fetched[t] = one.fetched[0]
        return t + 1, state

    def model(self, client: int) -> ClientModel:
        """That of a client that is up to date."""
        run = self._run
        store, row, rules = run.store, run.store.table[client], run.rules
        seen = int(row[SEEN] if row[BASE] else store.table[SERVER, SEEN])
        steps = seen + int(row[PENDING])
        if run.personal is not None:
            return self._personal(run.personal, client, steps)
        U, t = store.blocks[row[DENSE], 0], store.pairs[row[OWN], 0]  # if it has none: the server's
        logdet = float(store.logdet[client if row[OWN] else SERVER, 0])
        chain = PendingChain(store.pairs, store.before, int(row[TAIL]))
        return ClientModel(rules, U, t, logdet, steps, lambda: sums(store, row), chain)

    def _personal(self, personal: Personal, client: int, steps: int) -> ClientModel:
        g = preferred(personal.score[client], personal.known[client]) if personal.auto else 0
        U, t = personal.U[client, g], personal.t[client, g]
        logdet = float(personal.logdet[client, g])
        return ClientModel(self._run.rules, U, t, logdet, steps, None, self._whole)


def sums(store: Store, row: Ints) -> tuple[Floats, Floats]:
    """V_i and b_i of the client in this row of the table."""
    V, b = store.blocks[row[BASE], 1].copy(), store.pairs[row[BASE_PAIR], 1].copy()
    if row[OWN]:
        b += store.pairs[row[OWN], 1]
    if row[DENSE]:
        V += store.blocks[row[DENSE], 1]
    pair = row[TAIL]
    while pair:
        add_outer(V, store.pairs[pair, 0])
        pair = store.before[pair]
    return V, b
