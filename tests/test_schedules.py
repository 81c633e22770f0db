"""After any schedule of faults: no observation lost or counted twice, no payment lost or doubled,
nobody who delivered paid less than promised, the budget kept, the audit clean."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.records import read_epoch
from incfed.ledger.store import Store
from schedules import DIM, Schedule

SEEDS = int(os.environ.get("INCFED_SCHEDULES", "80"))
GROUPS = 8


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database, made once."""
    path = tmp_path_factory.mktemp("template") / "empty.db"
    Store(f"sqlite:///{path}").close()
    return path


def check(schedule: Schedule) -> None:
    with schedule.store.read() as connection:
        federation = connection.execute(select(tables.federation)).one()
        V, b = read_epoch(connection, federation.epoch, DIM)
        paid = connection.execute(select(tables.payments)).all()
        stages = connection.scalars(select(tables.rounds.c.stage)).all()
        report = audit(connection)
    assert report.findings == []
    assert {"open", "offered"}.isdisjoint(stages)
    for agent in schedule.agents:
        assert agent.learner.frozen is None
        assert agent.learner.epoch == federation.epoch
        np.testing.assert_allclose(agent.learner.V, V, rtol=1e-9, atol=1e-9)
        own = {row.round: row.amount for row in paid if row.client == agent.number}
        assert own == agent.paid
        for round, amount in own.items():
            assert amount >= agent.promised[round]
    pending = [agent.learner.pending for agent in schedule.agents]
    learned = sum(agent.V for agent in schedule.agents)
    heard = sum(agent.b for agent in schedule.agents)
    np.testing.assert_allclose(V + sum(one.V for one in pending), learned, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b + sum(one.b for one in pending), heard, rtol=1e-9, atol=1e-9)
    assert federation.spent == pytest.approx(sum(row.amount for row in paid))
    if schedule.settings.budget is not None:
        assert sum(row.amount for row in paid) <= schedule.settings.budget * (1 + 1e-12)


@pytest.mark.parametrize("group", range(GROUPS))
def test_nothing_is_lost_or_counted_twice(group: int, template: Path, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(group, SEEDS, GROUPS):
        schedule = Schedule(seed, template, tmp_path)
        try:
            schedule.run(15.0)
            schedule.settle()
            check(schedule)
        except BaseException:
            print(f"schedule {seed}")  # noqa: T201
            raise
        finally:
            schedule.close()
        seen.update(event["event"] for event in schedule.events)
        seen["crashed"] += schedule.crashes
        seen["again"] += sum(event.get("attempt", 0) > 1 for event in schedule.events)
    if len(range(group, SEEDS, GROUPS)) >= 10:
        assert min(seen[kind] for kind in ("closed", "barred", "crashed", "again")) > 0, seen
