"""Clients that hold an older V_g: every mechanism against the literal one, over full matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from incfed.protocol.deciding import Table, decide
from incfed.protocol.messages import Upload
from incfed.protocol.packing import pack_matrix, pack_rows
from incfed.protocol.shared import Shared
from reference.mechanisms import decide as decide_literally
from support.worlds import MECHANISMS, Kind, features, mechanisms, prices

RIDGE = 0.1


@given(st.data(), mechanisms(), st.integers(0, 8), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_as_written_out(data: st.DataObject, mechanism: Kind, n: int, d: int, seed: int) -> None:
    kind, knobs = mechanism
    chance = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from(["spread", "subspace", "unit"]))
    past = [np.zeros((d, d))]  # V_g of every epoch
    for _ in range(data.draw(st.integers(0, 4))):
        x = features(chance, shape, int(chance.integers(0, 12)), 1, d)[:, 0]
        past.append(past[-1] + x.T @ x)
    present = len(past) - 1
    epochs = chance.integers(0, present + 1, n)
    rows = [features(chance, shape, int(chance.integers(1, 2 * d + 1)), 1, d)[:, 0] for _ in epochs]
    asked = np.array([data.draw(prices(-2, 3)) for _ in range(n)])
    ids = [2 * j + 1 for j in range(n)]
    uploads = {
        ids[j]: Upload(
            0, int(epochs[j]), len(rows[j]), float(asked[j]),
            pack_rows(rows[j]) if len(rows[j]) < d else pack_matrix(rows[j].T @ rows[j]),
        )
        for j in range(n)
    }  # fmt: skip
    kept = [Shared.of(V, np.zeros(d), RIDGE) for V in past]
    table = Table(
        uploads, 0, kept.__getitem__, present, -1, 0, 0.0, np.inf, MECHANISMS[kind](**knobs), d,
        RIDGE,
    )  # fmt: skip
    verdict = decide(table)
    dV = np.array([x.T @ x for x in rows]).reshape(-1, d, d)
    old = np.array([past[epoch] for epoch in epochs]).reshape(-1, d, d)
    S, money = decide_literally(
        kind, past[-1], dV, old + dV, asked, RIDGE, behind=past[-1] - old, **knobs
    )
    event("somebody lags" if (epochs < present).any() else "nobody lags")
    assert list(verdict.payments) == [ids[j] for j in np.flatnonzero(S)]
    np.testing.assert_allclose(
        list(verdict.payments.values()), money[S], rtol=1e-8, atol=1e-8 * (1 + asked.max(initial=0))
    )
