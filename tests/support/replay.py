"""A run told again from its trace and its records alone: who knew what when a round opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import incfed
from incfed.results import RoundRecord
from reference.mechanisms import FloatArray
from reference.simulation import IntArray


def logdet(V: FloatArray, ridge: float) -> float:
    """log det(V + ridge I)."""
    return float(np.linalg.slogdet(V + ridge * np.eye(len(V)))[1])


class Opened(NamedTuple):
    """What lay on the table when a round opened."""

    record: RoundRecord
    V_g: FloatArray  # [d, d]
    dV: FloatArray  # [N, d, d]
    pending: IntArray  # [N] steps not shared yet


class Ledger:
    """What is shared and what each client holds back."""

    def __init__(self, trace: incfed.Trace) -> None:
        self.V_g, self.b_g = np.zeros((trace.dim, trace.dim)), np.zeros(trace.dim)
        self.dV = np.zeros((trace.count, trace.dim, trace.dim))
        self.db = np.zeros((trace.count, trace.dim))
        self.pending = np.zeros(trace.count, np.int64)


def telltale(trace: incfed.Trace) -> incfed.Trace:
    """The same trace with arm k paying k: what was picked can be read off the reward, exactly."""
    rewards = np.tile(np.arange(trace.arms_per_step, dtype=float), (trace.length, 1))
    if trace.recurring:
        return incfed.Trace(trace.clients, trace.arms, rewards, None, trace.count, trace.items)
    return incfed.Trace(trace.clients, trace.items[trace.arms], rewards, None, trace.count)


def replay(trace: incfed.Trace, result: incfed.Result, ledger: Ledger) -> Iterator[Opened]:
    """Go through the run of a telltale trace, stopping at every round before it closes."""
    choices = np.diff(result.reward, prepend=0.0).astype(int)
    records = iter(result.rounds)
    upcoming = next(records, None)
    for t in range(len(choices)):
        i, k = trace.clients[t], choices[t]
        x = trace.items[trace.arms[t, k]]
        ledger.dV[i] += np.outer(x, x)
        ledger.db[i] += k * x
        ledger.pending[i] += 1
        if upcoming is None or upcoming.step != t:
            continue
        yield Opened(upcoming, ledger.V_g.copy(), ledger.dV.copy(), ledger.pending.copy())
        shared = upcoming.participants
        ledger.V_g += ledger.dV[shared].sum(axis=0)
        ledger.b_g += ledger.db[shared].sum(axis=0)
        ledger.dV[shared] = ledger.db[shared] = ledger.pending[shared] = 0
        upcoming = next(records, None)
    assert upcoming is None, "a round after the last step"
