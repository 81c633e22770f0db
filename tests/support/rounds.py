"""Rounds as a mechanism gets them, made from tables, and what is best among all sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

import incfed
from incfed.mechanisms.rehearsal import RIDGE, make_round
from reference import mechanisms as reference
from reference.mechanisms import BoolArray
from support.worlds import Table


def open_round(table: Table, **known: float) -> incfed.Round:
    return make_round(table.V, table.uploads, table.costs, 2, **known)


def literal(table: Table) -> reference.Table:
    data = table.data
    return reference.Table(table.V, data, table.V + data, table.costs, RIDGE)


def subsets(n: int) -> Iterator[BoolArray]:
    return (np.array(bits, bool) for bits in product([False, True], repeat=n))


def unequal_table(chance: np.random.Generator, clients: int = 16) -> Table:
    """2 to `clients` clients with unit steps and costs within two powers of ten."""
    n, d = int(chance.integers(2, clients + 1)), int(chance.choice([5, 10, 25]))
    past, longest = int(chance.choice([0, 50, 300])), int(chance.choice([2, 6, 20]))
    lengths = chance.integers(1, longest + 1, n)
    steps = [chance.standard_normal((int(r), d)) for r in [past, *lengths]]
    old, *uploads = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in steps]
    costs = 10.0 ** chance.uniform(0.0, chance.choice([0.5, 1.0, 2.0]), n) * chance.choice([1, 10])
    return Table(old.T @ old, uploads, costs)
