"""The payment-free set (Algorithm 2) is the same whoever is removed first, and the largest."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from incfed.mechanisms.rehearsal import RIDGE, make_round
from incfed.types import Mask
from reference.mechanisms import FloatArray
from support.worlds import Table, tables

ROUNDING = 1e-9  # docs/paper.md, reading 15


def all_subsets(n: int) -> Mask:
    """[2^n, n]."""
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1, bool)


def unwilling(table: Table, sets: Mask) -> Mask:
    """[., n] who of each set's members gains less from it than sharing costs."""
    eye = RIDGE * np.eye(len(table.V))
    data: FloatArray = table.data
    value = np.linalg.slogdet(table.V + np.einsum("sn,nij->sij", sets * 1.0, data) + eye)[1]
    alone = np.linalg.slogdet(table.V + data + eye)[1]
    incentive = np.expm1(np.clip(value[:, None] - alone, 0.0, 700.0))
    return np.asarray(sets & (incentive < table.costs - ROUNDING * (1.0 + table.costs)))


def stable_set(table: Table) -> Mask:
    return make_round(table.V, table.uploads, table.costs, len(table.costs)).stable_set()


@given(tables(low=0, high=3, least=2), st.randoms(use_true_random=False))
def test_removal_in_any_order_ends_there(table: Table, chance: random.Random) -> None:
    S = np.ones((1, len(table.costs)), bool)
    while (out := np.flatnonzero(unwilling(table, S)[0])).size:
        S[0, chance.choice(out.tolist())] = False
    event(f"leaves {'all' if S.all() else 'some' if S.any() else 'none'}")
    assert stable_set(table).tolist() == S[0].tolist()


@given(tables(low=0, high=3, most=8))
def test_every_other_stable_set_is_part_of_it(table: Table) -> None:
    sets = all_subsets(len(table.costs))
    stable = sets[~unwilling(table, sets).any(axis=1)]
    found = stable_set(table)
    assert (stable == found).all(axis=1).any(), "it is stable itself"
    assert not (stable & ~found).any()
