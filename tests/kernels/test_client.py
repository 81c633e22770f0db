"""V_i = V_g + dV_i: what a client keeps, against what the trace says it should know."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

import incfed
from incfed.kernels.client import outdated, refresh
from incfed.kernels.store import (
    CLOCK,
    DENSE,
    OLD,
    OLD_BLOCK,
    OWN,
    PENDING,
    SERVER,
    TAIL,
    VERSION,
    Store,
)
from reference.mechanisms import FloatArray
from support.replay import Ledger, logdet, replay, telltale
from support.worlds import MECHANISMS, Kind, costs, mechanisms, settings_of_a_run, traces


class Known(NamedTuple):
    """A client's model, from whatever form it is kept in."""

    inverse: FloatArray
    theta: FloatArray
    logdet: float


def known(store: Store, client: int) -> Known:
    row = store.table[client]
    U, t = store.blocks[row[DENSE], 0], store.pairs[row[OWN], 0]
    inner = np.eye(len(U))
    pair = row[TAIL]
    while pair:  # V_i^-1 = U'(I - sum c c')U
        c = store.pairs[pair, 1]
        inner -= np.outer(c, c)
        pair = store.before[pair]
    about = client if row[OWN] else SERVER
    return Known(U.T @ inner @ U, U.T @ t, float(store.logdet[about, 0]))


def inverts(inverse: FloatArray, V: FloatArray, ridge: float) -> None:
    d = len(V)
    L = np.linalg.cholesky(V + ridge * np.eye(d))
    assert np.abs(L.T @ inverse @ L - np.eye(d)).max() < 1e-9


def check(store: Store, ledger: Ledger, ridge: float) -> None:
    """Every client, whether it has acted since the last round or not."""
    d = ledger.V_g.shape[0]
    np.testing.assert_allclose(store.blocks[0, 1], ledger.V_g, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(store.pairs[0, 1], ledger.b_g, rtol=1e-12, atol=1e-12)
    for client in range(len(ledger.dV)):
        assert store.table[client, PENDING] == ledger.pending[client]
        V, b = ledger.V_g + ledger.dV[client], ledger.b_g + ledger.db[client]
        if store.table[client, DENSE]:
            dV = store.blocks[store.table[client, DENSE], 1]
            np.testing.assert_allclose(dV, ledger.dV[client], rtol=1e-12, atol=1e-12)
            event("a matrix of its own")
        elif store.table[client, TAIL]:
            event("a few vectors")
        now = known(store, client)
        inverts(now.inverse, V, ridge)
        theta = np.linalg.solve(V + ridge * np.eye(d), b)
        np.testing.assert_allclose(now.theta, theta, rtol=1e-8, atol=1e-9 * (1 + abs(b).max()))
        np.testing.assert_allclose(now.logdet, logdet(V, ridge), rtol=1e-10, atol=1e-9)


def bring_up_to_date(run: incfed.Simulation, ridge: float) -> None:
    """What each client would do first when it next acts."""
    for client in range(run._world.count):
        if outdated(run._run.store, client):
            event("others' data came in since")
            refresh(run._run.store, client, ridge, run._run.bench)


@given(
    st.data(),
    traces(count=(2, 6), steps=(20, 150)),
    mechanisms(),
    settings_of_a_run(thresholds=(0.05, 0.5, 3.0, 1e9)),
)
def test_every_client_holds_what_is_shared_and_what_it_holds_back(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    trace, (kind, knobs) = telltale(trace), mechanism
    asked = data.draw(costs(trace.count, -1, 3))
    run = incfed.Simulation(
        trace, incfed.IncFedUCB(MECHANISMS[kind](**knobs), costs=asked, **options)
    )
    run.advance(trace.length)
    ledger = Ledger(trace)
    rounds = sum(1 for _ in replay(trace, run.result(), ledger))
    assert run._run.store.table[SERVER, VERSION] <= rounds
    bring_up_to_date(run, options["ridge"])
    check(run._run.store, ledger, options["ridge"])


@given(st.data(), traces(count=(1, 6), steps=(1, 100)), mechanisms(), settings_of_a_run())
def test_clocks_count_own_steps_since_the_last_round(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    trace, (kind, knobs) = telltale(trace), mechanism
    asked = data.draw(costs(trace.count))
    run = incfed.Simulation(
        trace, incfed.IncFedUCB(MECHANISMS[kind](**knobs), costs=asked, **options)
    )
    run.advance(trace.length)
    clocks = np.zeros(trace.count, int)
    idle = np.ones(trace.count, bool)
    fired = {record.step: record for record in run.result().rounds}
    for t, client in enumerate(trace.clients):
        clocks[client] += 1
        idle[client] = False
        if t in fired:
            idle[fired[t].participants] = True
            clocks[idle | (options["clocks"] == "all")] = 0  # docs/paper.md, reading 2
    assert run._run.store.table[:SERVER, CLOCK].tolist() == clocks.tolist()


@given(traces(count=(1, 4), steps=(1, 80)), settings_of_a_run(thresholds=(0.05, 0.5, 3.0)))
def test_stale_reads_keep_the_model_as_it_was_after_the_own_last_step(
    trace: incfed.Trace, options: dict[str, Any]
) -> None:
    trace, ridge = telltale(trace), options["ridge"]
    algorithm = incfed.IncFedUCB(incfed.PayEveryone(), **{**options, "reads": "stale"})
    run = incfed.Simulation(trace, algorithm)
    run.advance(trace.length)
    result, store = run.result(), run._run.store
    choices = np.diff(result.reward, prepend=0.0).astype(int)
    for client in np.unique(trace.clients):
        last = int(np.flatnonzero(trace.clients == client)[-1])
        shared = max((r.step for r in result.rounds if r.step < last), default=-1)
        steps = np.arange(last + 1)  # all shared, and its own since
        steps = steps[(steps <= shared) | (trace.clients[: last + 1] == client)]
        X = trace.items[trace.arms[steps, choices[steps]]]
        row = store.table[client]
        U = store.blocks[row[OLD_BLOCK], 0]
        inverts(U.T @ U, X.T @ X, ridge)
        theta = np.linalg.solve(X.T @ X + ridge * np.eye(trace.dim), X.T @ choices[steps])
        size = 1 + np.abs(X).sum() * trace.arms_per_step
        np.testing.assert_allclose(
            U.T @ store.pairs[row[OLD], 0], theta, rtol=1e-8, atol=1e-10 * size
        )
        now = logdet(X.T @ X, ridge)
        np.testing.assert_allclose(store.logdet[client, 1], now, rtol=1e-10, atol=1e-9)
