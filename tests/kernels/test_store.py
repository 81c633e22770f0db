"""Memory follows what clients have not shared yet, not how many clients there are."""

from __future__ import annotations

import numpy as np
import pytest

import incfed
from incfed.kernels.store import (
    DENSE,
    OLD,
    OLD_BLOCK,
    OWN,
    PENDING,
    SERVER,
    Store,
    memory,
    thin_limit,
)
from incfed.simulation import Simulation

MANY = 100_000
DIM = 25


def acting(clients: np.ndarray, count: int, dim: int = DIM) -> incfed.Trace:
    """Each of these clients takes a step, one after the other."""
    chance = np.random.default_rng(0)
    ids = chance.integers(0, 50, (len(clients), 1))
    items = chance.standard_normal((50, dim))
    return incfed.Trace(clients, ids, np.zeros((len(clients), 1)), count=count, items=items)


def ran(trace: incfed.Trace, algorithm: incfed.Algorithm) -> Simulation:
    run = Simulation(trace, algorithm)
    run.advance(trace.length)
    return run


def in_use(store: Store) -> tuple[int, int]:
    """Vectors and matrices handed out, beyond the server's and the prior's."""
    vectors = len(store.pairs) - 2 - int(store.free[0])
    matrices = len(store.blocks) - 2 - int(store.free[1])
    return vectors, matrices


def test_who_never_acted_costs_a_row_and_nothing_else() -> None:
    few = ran(acting(np.arange(200) % 7, MANY), incfed.Independent())
    none = ran(acting(np.array([0]), MANY), incfed.Independent())
    a_row = 12 * 8  # its columns and two log dets
    assert memory(few._run.store) < MANY * a_row * 1.5
    assert memory(few._run.store) - memory(none._run.store) < 1_000_000
    # Two matrices for each would be a hundred times as much.
    assert 50 * memory(few._run.store) < MANY * 2 * DIM * DIM * 8


@pytest.mark.parametrize("reads", ["fresh", "stale"])
def test_what_is_not_shared_is_what_is_kept(reads: str) -> None:
    # Client i takes i steps: up to thin_limit of them are vectors, more are a matrix.
    limit = thin_limit(DIM)
    clients = np.repeat(np.arange(2 * limit), np.arange(2 * limit))
    run = ran(acting(clients, 3 * limit), incfed.Independent(reads=reads))
    pending = run._run.store.table[:SERVER, PENDING]
    assert pending.tolist() == [*range(2 * limit), *[0] * limit]
    dense = pending > limit
    assert (run._run.store.table[:SERVER, DENSE] > 0).tolist() == dense.tolist()
    active = int(np.count_nonzero(pending))
    vectors = active + int(
        pending[~dense].sum()
    )  # one of its own each, and one a step kept as such
    matrices = int(np.count_nonzero(dense))
    if reads == "stale":  # and the model as it was
        vectors, matrices = vectors + active, matrices + active
    assert in_use(run._run.store) == (vectors, matrices)
    assert memory(run._run.store) < 2.5 * 8 * (2 * DIM * vectors + 2 * DIM**2 * matrices) + 50_000


def test_a_round_gives_back_what_was_shared() -> None:
    chance = np.random.default_rng(1)
    clients = chance.integers(0, 500, 5000)
    held = ran(acting(clients, 500), incfed.Independent())
    shared = ran(acting(clients, 500), incfed.DisLinUCB(0.0))  # a round at every step
    assert len(shared.result().rounds) == 5000
    assert in_use(shared._run.store) == (0, 0)
    assert in_use(held._run.store)[0] > 3000
    assert memory(shared._run.store) < memory(held._run.store) / 10


@pytest.mark.parametrize("reads", ["fresh", "stale"])
@pytest.mark.parametrize("threshold", [0.05, 2.0, 40.0])  # few steps a round, some, many
@pytest.mark.parametrize("costs", [[0.0] * 4, [0.0, 1e9, 0.0, 2.0]])
def test_nothing_is_lost_on_the_way(reads: str, threshold: float, costs: list[float]) -> None:
    # What is handed out is what the table says, after many rounds in which some stay out.
    clients = np.random.default_rng(2).integers(0, 4, 2000)
    algorithm = incfed.IncFedUCB(
        incfed.PaymentFree(), threshold=threshold, costs=costs, reads=reads
    )
    run = ran(acting(clients, 4, dim=4), algorithm)
    assert len(run.result().rounds) > 5
    table = run._run.store.table[:SERVER]
    thin = table[table[:, DENSE] == 0, PENDING].sum()
    vectors = thin + np.count_nonzero(table[:, [OWN, OLD]])
    matrices = np.count_nonzero(table[:, [DENSE, OLD_BLOCK]])
    assert in_use(run._run.store) == (int(vectors), int(matrices))
    assert (table[1, PENDING] > 400) == (costs[1] > 0)


def test_only_participants_give_back() -> None:
    # Client 1 asks too much to ever share.
    clients = np.arange(300) % 3
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), threshold=0.5, costs=[0.0, 1e9, 0.0])
    run = Simulation(acting(clients, 3, dim=4), algorithm)
    run.advance(300)
    rounds = run.result().rounds
    assert len(rounds) > 5
    assert not (rounds.participants == 1).any()
    held = run._run.store.table[:SERVER, PENDING]
    assert held[1] == 100
    thin = held[[0, 2]].sum() + np.count_nonzero(held[[0, 2]])
    assert in_use(run._run.store) == (1 + thin, 1)
