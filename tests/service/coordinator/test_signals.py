"""What clients say between rounds: kept, judged once a step, and safe to repeat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Signal
from support.federation import Federation, made

FIRST, SECOND = np.eye(2)[:1], np.eye(2)[1:]
GROWN = float(np.log(2.0))  # by one unit vector, lambda = 1


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Federation]:
    made = Federation(
        tmp_path / "ledger.db", 2, dim=2, ridge=1.0, mechanism=incfed.PaymentFree(),
        trigger=incfed.Patient(1.0, signal="growth", factor=1.0),
    )  # fmt: skip
    yield made
    made.store.close()


def says(steps: int = 1, cost: float = 0.5, epoch: int = 0, **other: Any) -> Signal:
    return Signal(**{
        "epoch": epoch, "learned": steps, "steps": steps, "growth": GROWN, "cost": cost, **other
    })  # fmt: skip


def test_the_server_calls_when_two_are_willing(two: Federation) -> None:
    here = two.coordinator
    assert here.signal(0, says()).round is None
    assert here.signal(0, says()).round is None  # the same again
    opened = here.signal(1, says()).round
    assert opened is not None
    assert opened.stage == "open"
    assert two.of("opened")[0]["client"] == 1
    for client, x in enumerate((FIRST, SECOND)):
        here.upload(client, made(1, 0, x, 0.5))
    assert sorted(two.offered()) == [0, 1]
    for client, x in enumerate((FIRST, SECOND)):
        two.deliver(client, 1, x)
    assert here.state(0).epoch == 1
    late = here.signal(1, says(learned=2)).round  # from before it shared
    assert late is not None
    assert late.number == 1


def test_too_early_is_too_early(two: Federation) -> None:
    """The bound was too high, both have the same data: nobody is offered anything. Without another
    step there is no other call."""
    here = two.coordinator
    here.signal(0, says(cost=0.9))
    here.signal(1, says(cost=0.9))
    for client in (0, 1):
        here.upload(client, made(1, 0, FIRST, 0.9))
    assert two.offered() == {}
    assert here.state(0).epoch == 1
    assert two.of("closed")[0]["payments"] == {}
    assert two.of("decided")[0]["offers"] == {}
    assert two.of("closed")[0]["communication"] == 2 * 4
    again = here.signal(0, says(cost=0.9, epoch=1)).round  # no new step
    assert again is not None
    assert again.stage == "closed"
    with two.store.read() as connection:
        assert audit(connection).findings == []


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"steps": 3, "learned": 2}, "steps"),
        ({"growth": -1.0}, "growth"),
        ({"cost": 1e10}, "cost"),
        ({"epoch": 1}, "epoch"),
    ],
)
def test_what_is_impossible_is_refused(two: Federation, wrong: Any, field: str) -> None:
    with pytest.raises(Refusal) as refused:
        two.coordinator.signal(0, says(**wrong))
    assert refused.value.field == field
