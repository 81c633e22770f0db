"""Mechanisms that draw lots: `round.rng` in simulations, in a served federation, in its audit."""

from __future__ import annotations

from pathlib import Path

import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.replay import Replay
from incfed.mechanisms.registry import MECHANISMS
from support.federation import eventful

LOTTERY = """
import incfed

class Lottery(incfed.Mechanism):
    def decide(self, round):
        return round.settle(round.rng.permutation(len(round)) < (len(round) + 1) // 2)
"""


@pytest.fixture
def lottery(tmp_path: Path) -> incfed.Mechanism:
    (tmp_path / "lottery.py").write_text(LOTTERY)
    made: incfed.Mechanism = MECHANISMS.pinned("lottery.py:Lottery", "mechanism", tmp_path)
    return made


def test_the_seed_of_a_run_decides(lottery: incfed.Mechanism) -> None:
    world = incfed.Synthetic(clients=8, dim=3, arms=4, pool=50)
    algorithm = incfed.IncFedUCB(lottery, threshold=0.5, costs=1.0)

    def shared(seed: int) -> list[list[int]]:
        rounds = incfed.simulate(world, algorithm, steps=300, seed=seed).rounds
        return [round.participants.tolist() for round in rounds]

    assert shared(1) == shared(1)
    assert shared(1) != shared(2)
    assert len({tuple(members) for members in shared(1)}) > 5
    incfed.check_mechanism(lottery)


def test_an_audit_draws_the_same_lots(
    tmp_path: Path, lottery: incfed.Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a round was decided again, after clients were barred."""
    federation = eventful(tmp_path / "ledger.db", lottery)
    decided = federation.of("decided")
    assert any(event["attempt"] > 1 for event in decided)
    with federation.store.read() as connection:
        assert audit(connection, None).findings == []
    forgotten = property(lambda replay: "0" * 64, lambda replay, hash: None)
    monkeypatch.setattr(Replay, "last", forgotten, raising=False)
    with federation.store.read() as connection:  # without the entry before: other lots
        assert any("decided" in finding for finding in audit(connection, None).findings)
    federation.store.close()
