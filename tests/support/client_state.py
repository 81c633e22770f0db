"""Keepers and what they are told, for the tests of a client's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from incfed.protocol.messages import Download
from incfed.protocol.packing import pack_matrix
from incfed.service.client import state_folder
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.state_folder import Snapshot
from incfed.service.codec import read
from incfed.service.wire import FederationView
from reference.mechanisms import FloatArray
from support.fake_coordinator import Fake

DIM = 3


def federation_settings(dim: int = DIM, who: int = 0, **changed: Any) -> FederationView:
    fake = Fake(who + 1, dim, **changed)
    return read(FederationView, fake.handle(who, "GET", "/v1/federation", None)[1])


def reopen(folder: Path, trust: float | str | None = None) -> DurableLearner:
    start = state_folder.load(folder) or Snapshot.new(federation_settings())
    return DurableLearner(folder, start, trust)


def rows(n: int) -> FloatArray:
    return np.random.default_rng(n).standard_normal((n, DIM)) / 5


def news(epoch: int, *shared: int) -> Download:
    V, scores = pack_matrix(np.eye(DIM)), np.arange(7.0) / epoch
    return Download(epoch, epoch - 1, V, np.ones(DIM), dict.fromkeys(shared, 2.0), scores=scores)


def same(one: DurableLearner, other: DurableLearner) -> None:
    """Bit for bit, but for the factor."""
    a, b = one.learner, other.learner
    assert (a.epoch, a.clock) == (b.epoch, b.clock)
    assert (one.steps, one.earned) == (other.steps, other.earned)
    assert (one.cost, one.answers) == (other.cost, other.answers)
    assert (a.frozen is None) == (b.frozen is None)
    parts = [(a.fresh, b.fresh), (a.own, b.own)]
    if a.frozen and b.frozen:
        assert a.frozen[0] == b.frozen[0]
        parts.append((a.frozen[1], b.frozen[1]))
    for mine, yours in parts:
        assert mine.steps == yours.steps
        assert mine.V.tobytes() == yours.V.tobytes()
        assert mine.b.tobytes() == yours.b.tobytes()
        assert np.array(mine.rows).tobytes() == np.array(yours.rows).tobytes()
        np.testing.assert_allclose(mine.scores, yours.scores, rtol=1e-9)  # by way of the factor
    assert a.V.tobytes() == b.V.tobytes()
    assert a.logdet == pytest.approx(b.logdet, abs=1e-9)
    assert a.known.tobytes() == b.known.tobytes()
    if a._models and b._models:
        t = a._models.best(a.own.scores, a.known)[1]
        again = b._models.best(b.own.scores, b.known)[1]
        np.testing.assert_allclose(t, again, rtol=1e-9, atol=1e-12)
