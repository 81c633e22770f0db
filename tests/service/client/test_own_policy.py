"""A policy of the user's own in a real client: what it keeps, and what the coordinator gets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import incfed
from reference.mechanisms import FloatArray
from support.fake_coordinator import Fake
from support.fake_server import Service, serving

DIM, SOON = 3, 60.0
ARMS = np.eye(DIM)[:2]


class Counting(incfed.Policy):
    """Turns, and weights of 1/4."""

    def __init__(self, weight: float = 0.25) -> None:
        self.turn, self.weight, self.seen = 0, weight, -1

    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        self.turn, self.seen = self.turn + 1, model.steps
        return (self.turn - 1) % len(arms)

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        return self.weight, 3 * y


@pytest.fixture
def service() -> Iterator[tuple[str, Service]]:
    with serving(Fake(1, DIM, threshold=1e6)) as served:
        yield served


def test_it_chooses_and_weighs(service: tuple[str, Service], tmp_path: Path) -> None:
    """Also after a start: it begins as it was given, with all that was learned."""
    url, served = service
    given = Counting()
    for start in range(2):
        with incfed.Client(url, "token-0", tmp_path, policy=given) as client:
            own = client._durable.learner.policy
            assert own is not None
            for n in range(3):
                k = client.choose(ARMS)
                assert k == n % 2
                assert own.policy.seen == 3 * start + n  # type: ignore[attr-defined]
                client.learn(ARMS[k], 2.0)
            pending = client._durable.learner.pending
    assert given.turn == 0
    np.testing.assert_allclose(pending.V, 0.25 * np.diag([4.0, 2.0, 0.0]))
    np.testing.assert_allclose(pending.b, 0.25 * 6.0 * np.array([4.0, 2.0, 0.0]))
    with incfed.Client(url, "token-0", tmp_path, policy=given) as client:
        again = client._durable.learner
        np.testing.assert_allclose(again.pending.V, pending.V)
        served.fake.terms["threshold"] = 0.5
        client.sync(SOON)
    assert not served.fake.violations


def test_its_data_is_shared_as_it_is_weighed(tmp_path: Path) -> None:
    with serving(Fake(1, DIM, threshold=0.5)) as (url, served):
        with incfed.Client(url, "token-0", tmp_path, policy=Counting()) as client:
            client.learn(ARMS[0], 1.0)  # log(1 + 0.25 / 0.1) > 0.5
            client.sync(SOON)
            assert (client.epoch, client.pending) == (1, 0)
        shared = served.fake.aggregator.server.shared
        np.testing.assert_allclose(shared.V, 0.25 * np.outer(ARMS[0], ARMS[0]))
        np.testing.assert_allclose(shared.b, 0.25 * 3.0 * ARMS[0])
        assert not served.fake.violations


def test_what_the_coordinator_would_not_take_is_refused(
    service: tuple[str, Service], tmp_path: Path
) -> None:
    with incfed.Client(service[0], "token-0", tmp_path, policy=Counting(1.01)) as client:
        said = r"^Counting\.observe: got 1\.01, must be a weight of at most 1 in a federation that"
        with pytest.raises(incfed.InputError, match=said):
            client.learn(ARMS[0], 1.0)
        assert client.steps == 0
        own = client._durable.learner.policy
        assert own is not None
        own.policy.weight = 1.0  # type: ignore[attr-defined]
        said = r"^Counting\.observe: got 12\.0, must be a response of at most reward_bound, 10, up"
        with pytest.raises(incfed.InputError, match=said):
            client.learn(ARMS[0], 4.0)
        client.learn(ARMS[0], 3.0)
        assert (client.steps, client.pending) == (1, 1)


def test_what_is_no_policy(service: tuple[str, Service], tmp_path: Path) -> None:
    with pytest.raises(incfed.InputError, match=r"^policy: got .*, must be a Policy, such as"):
        incfed.Client(service[0], "token-0", tmp_path, policy=incfed.PayEveryone())  # type: ignore[arg-type]
