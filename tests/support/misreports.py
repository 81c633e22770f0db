"""Clients that look for a profitable lie: what each would get in a round by reporting another
cost than its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import incfed
from incfed.mechanisms.rehearsal import make_round
from reference.mechanisms import FloatArray
from support.worlds import Table

FACTORS = (0.0, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 1.5, 2.0, 4.0, 8.0, 100.0)
NEAR = 1e-6  # just over and just under a price


class Lie(NamedTuple):
    client: int
    cost: float
    report: float
    honest: float  # money less cost, if it tells the truth
    lying: float

    @property
    def gain(self) -> float:
        return self.lying - self.honest


def decide(mechanism: incfed.Mechanism, table: Table, costs: FloatArray) -> incfed.Decision:
    return mechanism.decide(make_round(table.V, table.uploads, costs, 1))


def reports(table: Table, i: int, paid: FloatArray) -> Iterator[float]:
    """Up and down, and just over and under every price that may matter."""
    for factor in FACTORS:
        yield float(factor * table.costs[i])
    for price in {*paid.tolist(), *table.costs.tolist()}:
        yield price * (1.0 - NEAR)
        yield price * (1.0 + NEAR)


def best_lies(mechanism: incfed.Mechanism, table: Table) -> Iterator[Lie]:
    """The best lie of each client, all others telling the truth."""
    honest = decide(mechanism, table, table.costs)
    for i, cost in enumerate(table.costs.tolist()):
        truth = float(honest.payments[i] - cost) if honest.participants[i] else 0.0
        best = Lie(i, cost, cost, truth, truth)
        for report in reports(table, i, honest.payments):
            costs = table.costs.copy()
            costs[i] = report
            decision = decide(mechanism, table, costs)
            got = float(decision.payments[i] - cost) if decision.participants[i] else 0.0
            if got > best.lying:
                best = Lie(i, cost, report, truth, got)
        yield best


def random_table(seed: int) -> Table:
    """A few clients with a few steps each, whose costs are within two powers of ten."""
    chance = np.random.default_rng(seed)
    n, d = int(chance.integers(1, 9)), int(chance.integers(1, 7))
    past = chance.standard_normal((int(chance.integers(0, 30)), d))
    longest = int(chance.choice([1, 2, 2 * d]))
    uploads = [chance.standard_normal((int(r), d)) for r in chance.integers(1, longest + 1, size=n)]
    costs = 10.0 ** chance.uniform(0.0, 2.0, size=n) * (chance.random(n) > 0.1)
    return Table(past.T @ past, uploads, costs)
