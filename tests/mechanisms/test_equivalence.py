"""One made-up round at a time, the fast mechanisms decide as the literal ones do.

Whole runs reach the odd corners of a round only by accident; here they are drawn directly.
"""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.rehearsal import RIDGE, make_round
from reference.mechanisms import decide
from support.worlds import MECHANISMS, Kind, Table, efficient, mechanisms, tables


def compare(table: Table, mechanism: Kind) -> incfed.Decision:
    kind, options = mechanism
    n = len(table.costs)
    data = table.data
    round = make_round(table.V, table.uploads, table.costs, n + 1)
    fast = MECHANISMS[kind](**options).decide(round)
    who, money = decide(kind, table.V, data, table.V + data, table.costs, RIDGE, **options)
    assert fast.participants.tolist() == who.tolist()
    assert (np.abs(fast.payments - money) <= 1e-8 * (1.0 + table.costs)).all()
    return fast


@given(tables(), mechanisms())
def test_any_round(table: Table, mechanism: Kind) -> None:
    compare(table, mechanism)


@given(tables(low=0, high=2.5, least=3), efficient(st.floats(0.5, 0.999)))
def test_rounds_in_which_several_are_paid(table: Table, mechanism: Kind) -> None:
    decision = compare(table, mechanism)
    event(f"paid: {min(3, np.count_nonzero(decision.payments))}")
    if mechanism[1]["order"] == "ascending":
        event(f"ascending, paid: {min(3, np.count_nonzero(decision.payments))}")
