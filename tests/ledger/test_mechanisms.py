"""Every mechanism can be served: a coordinator decides as the simulator does, and an audit finds
the same again, also in rounds that had to be decided twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.settings import Settings
from incfed.mechanisms.registry import BUILT_IN
from incfed.protocol.messages import Answer
from support.federation import Federation, eventful, federate, same, synthetic

SERVED: list[incfed.Mechanism] = [
    incfed.BudgetFeasible(per_round=20.0, total=400.0),
    incfed.CostAware(beta=0.9),
    incfed.Exact(beta=0.9, nodes=500),
    incfed.PayEveryone(),
    incfed.PaymentEfficient(beta=0.9),
    incfed.PaymentFree(),
    incfed.PostedPrice(price=12.0),
    incfed.ShapleySplit(pot=20.0, samples=20),
    incfed.Truthful(cover=0.8, reserve=12.0),
]


def named(mechanism: incfed.Mechanism) -> str:
    return type(mechanism).__name__


def test_none_is_left_out() -> None:
    assert [named(one) for one in SERVED] == sorted(BUILT_IN)


@pytest.mark.parametrize("mechanism", SERVED, ids=named)
def test_a_coordinator_decides_as_the_simulator_does(
    tmp_path: Path, mechanism: incfed.Mechanism
) -> None:
    trace = synthetic(count=6, steps=200)
    costs = [0.5, 1.0, 2.0, 3.0, 4.0, 8.0]
    algorithm = incfed.IncFedUCB(mechanism, threshold=0.5, costs=costs)
    federation = federate(tmp_path / "ledger.db", trace, algorithm)
    assert same(trace, algorithm, federation) > 10
    paid = sum(sum(event["payments"].values()) for event in federation.of("closed"))
    assert (paid > 0.0) == (mechanism != incfed.PaymentFree())
    with federation.store.read() as connection:
        assert audit(connection, None).findings == []
    federation.store.close()


@pytest.mark.parametrize("mechanism", SERVED, ids=named)
def test_rounds_decided_twice_are_audited(tmp_path: Path, mechanism: incfed.Mechanism) -> None:
    federation = eventful(tmp_path / "ledger.db", mechanism)
    with federation.store.read() as connection:
        report = audit(connection, None)
    assert report.findings == []
    if mechanism != incfed.PaymentFree():  # which has nothing to offer
        assert any(event["attempt"] > 1 for event in federation.of("decided"))
    federation.store.close()


@pytest.mark.parametrize("mechanism", SERVED, ids=named)
def test_settings_are_recorded(mechanism: incfed.Mechanism) -> None:
    settings = Settings(dim=2, mechanism=mechanism, threshold=1.0)
    assert Settings.of(settings.body()) == settings


def test_who_takes_the_place_of_a_client_that_declines_is_paid_its_price(tmp_path: Path) -> None:
    """d = 1, lambda = 1; a third of 10 is reached by any one of three. 0 wins, at the cost of 1;
    without 0, it is 1 at the cost of 2, though data would have lowered what it is owed."""
    three = Federation(
        tmp_path / "l.db", 3, dim=1, ridge=1.0, threshold=1.0,
        mechanism=incfed.Truthful(cover=0.3, reserve=50.0),
    )  # fmt: skip
    rows = [np.full((1, 1), np.sqrt(3.0))] * 3
    number = three.upload([0, 1, 2], rows, [5.0, 7.0, 11.0])
    assert three.offered() == {0: (1, pytest.approx(7.0))}
    three.coordinator.answer(0, Answer(number, 1, False))
    assert three.offered() == {1: (2, pytest.approx(11.0))}
    three.deliver(1, number, rows[1])
    assert three.of("closed")[0]["payments"] == {"1": 1100}
    with three.store.read() as connection:
        assert audit(connection, None).findings == []
    three.store.close()
