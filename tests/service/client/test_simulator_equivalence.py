"""Clients over HTTP, in step, do what the simulator does."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.simulation import Simulation
from support.fake_coordinator import Fake
from support.fake_server import serving


@pytest.mark.parametrize("mechanism", [incfed.PaymentEfficient(beta=0.7), incfed.PaymentFree()])
def test_a_trace_over_http(mechanism: incfed.Mechanism, tmp_path: Path) -> None:
    """Participants, payments, communication and (V_g, b_g) equal `simulate`."""
    N, T, K, d = 4, 60, 3, 3
    chance = np.random.default_rng(5)
    arms = chance.standard_normal((T, K, d))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ np.array([0.5, -0.3, 0.2]) + 0.1 * chance.standard_normal((T, 1))
    world = incfed.Trace(chance.integers(0, N, T), arms, rewards, count=N)
    costs = [0.0, 0.4, 1.0, 2.0]
    run = Simulation(world, incfed.IncFedUCB(mechanism=mechanism, threshold=2.0, costs=costs))
    run.advance(T)
    expected = run.result()
    fake = Fake(N, d, mechanism, threshold=2.0, reward_bound=5.0)
    got = []
    with serving(fake) as (url, _), ExitStack() as stack:
        clients = [
            stack.enter_context(incfed.Client(url, f"token-{i}", tmp_path / str(i), cost=costs[i]))
            for i in range(N)
        ]
        for t, who in enumerate(world.clients.tolist()):
            picked = clients[who].choose(arms[t])
            got.append(rewards[t, picked])
            epoch = clients[who].epoch
            clients[who].learn(arms[t, picked], rewards[t, picked])
            clients[who].sync(30.0)
            if clients[who].epoch != epoch:
                for client in clients:
                    client.sync(30.0)
        traffic = [client.traffic for client in clients]
        assert sum(client.earned for client in clients) == pytest.approx(
            expected.payment[-1], abs=1e-9
        )
    np.testing.assert_array_equal(np.cumsum(got), expected.reward)
    rounds = expected.rounds
    assert len(fake.closed) == len(rounds.step) > 5
    for k, record in enumerate(fake.closed):
        place = slice(rounds.offsets[k], rounds.offsets[k + 1])
        assert record.participants == rounds.participants[place].tolist()
        assert record.payments == pytest.approx(rounds.payments[place].tolist(), abs=1e-9)
    scalars = sum(one.scalars_up + one.scalars_down for one in traffic)
    assert scalars == expected.communication[-1]
    np.testing.assert_allclose(fake.hub.server.shared.V, run._server.shared.V, atol=1e-9)
    np.testing.assert_allclose(fake.hub.server.shared.b, run._server.shared.b, atol=1e-9)
    assert not fake.violations
