"""Trust "auto": sharers' scores are added up, and their mean comes with every download."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Delivery
from support.federation import Federation

X = np.array([[0.6, 0.0], [0.0, 0.8]])
SCORES = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 2.0])  # of two events


def federation(path: Path) -> Federation:
    return Federation(
        path / "ledger.db", 3, dim=2, ridge=1.0, threshold=1.0, mechanism=incfed.PayEveryone(),
        reward_bound=2.0,
        trust="auto",
    )  # fmt: skip


def test_the_mean_comes_with_new_data(tmp_path: Path) -> None:
    three = federation(tmp_path)
    here = three.coordinator
    assert here.download(2, 0).scores is None
    number = three.upload(range(3), [X, X[:1], X[:0]], 0.0)
    here.deliver(0, Delivery(number, X.sum(axis=0), scores=SCORES))
    here.deliver(1, Delivery(number, X[:1].sum(axis=0)))  # it does not compare models
    found = here.download(2, 0).scores
    assert found is not None
    np.testing.assert_allclose(found[:-1], SCORES[:-1] / 2)
    assert found[-1] == pytest.approx((0.36 + 0.64 + 0.36) / 3)  # of all that was shared
    assert here.download(2, 1).scores is None  # nothing is new
    number = three.upload(range(3), [X[:0], X[:1], X[:0]], 0.0)
    here.deliver(1, Delivery(number, X[:1].sum(axis=0), scores=np.append(SCORES[:-1], 1.0)))
    found = here.download(2, 1).scores
    assert found is not None
    np.testing.assert_allclose(found[:-1], 2 * SCORES[:-1] / 3)
    with three.store.read() as connection:
        assert audit(connection).findings == []
    three.store.close()


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 6])
def test_impossible_scores_change_nothing(tmp_path: Path, place: int, wrong: float) -> None:
    three = federation(tmp_path)
    number = three.upload(range(3), [X, X[:1], X[:0]], 0.0)
    for scores in (
        np.where(np.arange(7) == place, wrong, SCORES),
        np.append(SCORES[:-1], 3.0),  # of more events than it uploaded
        np.append(SCORES[:-1], 1e-300),
    ):
        with pytest.raises(Refusal, match="scores"):
            three.coordinator.deliver(0, Delivery(number, X.sum(axis=0), scores=scores))
    with three.store.read() as connection:
        for table in (tables.deliveries, tables.scores):
            assert connection.scalar(select(func.count()).select_from(table)) == 0
    three.store.close()


def test_nobody_decides_for_all_others(tmp_path: Path) -> None:
    """An event's error counts for (2 Y)^2 at most, so that a mean is finite and moderate."""
    three = federation(tmp_path)
    number = three.upload(range(3), [X, X[:1], X[:0]], 0.0)
    lie = np.array([0.0, 1e308, 1e308, 1e308, 1e308, 1e308, 2.0])
    three.coordinator.deliver(0, Delivery(number, X.sum(axis=0), scores=lie))
    three.coordinator.deliver(1, Delivery(number, X[:1].sum(axis=0), scores=lie / 2))
    found = three.coordinator.download(2, 0).scores
    assert found is not None
    assert found[:-1].tolist() == [0.0, 16.0, 16.0, 16.0, 16.0, 16.0]
    three.store.close()
