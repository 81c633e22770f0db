"""What the server hears between rounds, while members come and go."""

from __future__ import annotations

import numpy as np
import pytest

import incfed
from incfed.simulation.streams import GrowthStream, RowStream
from support.federations import SETTINGS, drive, federation_of

ROUNDING = 1e-9


def come_and_go(federation: incfed.Federation, turn: int) -> None:
    if turn % 3 == 2:
        federation.leave(list(federation)[turn % len(federation)].name)
    else:
        federation.join(f"shop-{turn}-b", cost=float(7 * turn % 30))


def logdet(V: np.ndarray) -> float:
    return float(np.linalg.slogdet(V + 0.1 * np.eye(len(V)))[1])


@pytest.mark.parametrize("name", ["patient, growth", "one for one, growth"])
def test_growth_bounds_what_is_there_at_every_level_of_costs(name: str) -> None:
    federation = federation_of(SETTINGS[name])
    stream = federation._stream
    assert isinstance(stream, GrowthStream)
    for turn in range(40):
        drive(federation, 7, seed=turn)
        come_and_go(federation, turn)
        known, members = stream._signals, list(federation)
        V = federation._server.shared.V
        assert sorted(known.order) == list(range(len(members)))
        costs = [members[place].cost for place in known.order]
        assert costs == sorted(costs)
        for k, place in enumerate(known.order):
            V = V + members[place]._pending().matrix()
            bound = known.exact[k] + known.grown[known.order[: k + 1]].sum()
            assert bound >= logdet(V) - ROUNDING
        assert known.figure[0] >= logdet(V) - ROUNDING
    assert len(federation.rounds) > 3


@pytest.mark.parametrize("name", ["news", "patient, rows", "one for one, rows"])
def test_rows_are_what_is_shared_and_what_is_pending(name: str) -> None:
    federation = federation_of(SETTINGS[name])
    stream = federation._stream
    assert isinstance(stream, RowStream)
    for turn in range(40):
        drive(federation, 7, seed=turn)
        come_and_go(federation, turn)
        pending = sum(member._pending().matrix() for member in federation)
        np.testing.assert_allclose(stream._V, federation._server.shared.V + pending, atol=ROUNDING)
    assert len(federation.rounds) > 3
