"""What clients say between rounds: kept, judged once a step, and safe to repeat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.federation import prune
from incfed.ledger.records import open_round, read_epoch
from incfed.protocol.checks import Refusal
from incfed.protocol.deciding import worthwhile
from incfed.protocol.messages import Signal
from incfed.protocol.packing import pack_rows
from incfed.rules.limits import NO_PAST
from incfed.service.coordinator import listening
from incfed.service.coordinator.errors import Conflict
from incfed.service.coordinator.listening import Judge, streamed
from support.federation import Federation, federate, made, synthetic
from support.in_step import play

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


def test_growth_that_is_not_there_is_found_out(tmp_path: Path) -> None:
    """Who calls for rounds with growth that it does not have is not heard for a while; saying less
    once the round is open does not help."""
    made_up = Federation(
        tmp_path / "ledger.db", 3, dim=2, ridge=1.0, mechanism=incfed.PaymentFree(),
        trigger=incfed.Patient(1.0, signal="growth", factor=1.0), false_calls=2,
    )  # fmt: skip
    here = made_up.coordinator
    here.signal(0, says(cost=0.1))
    for n in (1, 2):
        opened = here.signal(1, says(2 * n, cost=0.1, epoch=n - 1, growth=1.0)).round
        assert opened is not None
        assert (opened.number, opened.stage) == (n, "open")
        here.signal(1, says(2 * n, cost=0.1, epoch=n - 1, growth=0.0))
        here.upload(0, made(n, n - 1, FIRST, 0.1))
        here.upload(1, made(n, n - 1, 0.1 * SECOND, 0.1))
        here.upload(2, made(n, n - 1, np.empty((0, 2)), 0.0))
        assert made_up.offered() == {}  # too early
    ignored = here.signal(1, says(9, cost=0.1, epoch=2, growth=1.0)).round
    assert ignored is not None
    assert ignored.number == 2
    made_up.wait(61.0)
    assert len(made_up.of("opened")) == 2
    here.signal(1, says(10, cost=0.1, epoch=2, growth=1.0))
    assert len(made_up.of("opened")) == 3
    made_up.store.close()


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


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Federation]:
    made = Federation(
        tmp_path / "rows.db", 3, dim=2, ridge=1.0, mechanism=incfed.PaymentFree(),
        trigger=incfed.Patient(1.0),
    )  # fmt: skip
    yield made
    made.store.close()


def test_what_was_streamed_is_the_upload(rows: Federation) -> None:
    here = rows.coordinator
    here.signal(0, says(dV=pack_rows(FIRST)))
    assert here.signal(0, says(dV=pack_rows(FIRST))).round is None
    opened = here.signal(1, says(dV=pack_rows(SECOND))).round
    assert opened is not None
    assert (opened.stage, opened.uploaded, opened.taken) == ("offered", True, 1)
    assert sorted(rows.offered()) == [0, 1]
    idle = here.state(2).round
    assert idle is not None
    assert (idle.uploaded, idle.taken, idle.offer) == (True, None, None)
    here.signal(0, says(2, rows=SECOND))  # one step more, which belongs to the next round
    seen = here.state(0).round
    assert seen is not None
    assert seen.taken == 1
    for client, x in enumerate((FIRST, SECOND)):
        rows.deliver(client, 1, x)
    assert here.state(0).epoch == 1
    assert rows.of("closed")[0]["communication"] == 3 * 2 + 3 * (4 + 2)  # no dV
    with rows.store.read() as connection:
        np.testing.assert_array_equal(read_epoch(connection, 1, 2)[0], np.eye(2))
        assert audit(connection).findings == []


def test_rows_add_up_and_none_may_be_missing(rows: Federation) -> None:
    here = rows.coordinator
    with pytest.raises(Conflict, match="send dV instead"):
        here.signal(0, says(rows=FIRST))  # nothing before it
    here.signal(0, says(dV=pack_rows(FIRST), cost=50.0))
    both = np.concatenate([FIRST, SECOND])
    here.signal(0, says(2, rows=both, cost=50.0))  # the first of them again
    here.signal(0, says(2, rows=SECOND, cost=50.0))  # repeated
    with pytest.raises(Conflict, match="send dV instead"):
        here.signal(0, says(5, rows=FIRST, cost=50.0))
    with rows.store.read() as connection:
        [one] = streamed(connection, rows.settings, 0, [0, 1, 2]).values()
    assert one.upload.steps == 2
    np.testing.assert_allclose(one.upload.dV.matrix(), np.eye(2), atol=1e-12)


def test_a_signal_that_comes_late_or_again_calls_nobody(two: Federation) -> None:
    here = two.coordinator
    here.signal(0, says(2))
    here.signal(1, says(2, cost=50.0))  # too dear to call
    assert here.signal(1, says(1)).round is None  # an earlier one, which would have called
    assert here.signal(1, says(1)).round is None
    assert here.signal(1, says(3)).round is not None


@pytest.mark.parametrize("trigger", ["rows", "growth", "news"])
@pytest.mark.parametrize("download", ["everyone", "one-for-one"])
def test_what_is_kept_in_memory_changes_no_judgement(
    trigger: str, download: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator against one that remembers nothing, and against the rule itself."""
    rule = incfed.News(2.0) if trigger == "news" else incfed.Patient(2.0, trigger, 1.0)
    judged = []

    class Checked(Judge):
        def opens(self, connection: Any, settings: Any, epoch: int, clients: Any) -> bool:
            said = super().opens(connection, settings, epoch, clients)
            sent = streamed(connection, settings, epoch, clients)
            uploads = {client: one.upload for client, one in sent.items()}
            opened = open_round(
                connection, settings, uploads, epoch=epoch, trigger=0, spent=0.0, out=(),
                past=NO_PAST, members=0,
            )  # fmt: skip
            exact = bool(uploads) and worthwhile(opened)
            judged.append(said)
            assert said == exact
            return said

        def calls(self, connection: Any, settings: Any, epoch: int, clients: Any) -> bool:
            said = super().calls(connection, settings, epoch, clients)
            judged.append(said)
            assert said == Judge().calls(connection, settings, epoch, clients)
            return said

    monkeypatch.setattr(listening, "Judge", Checked)
    trace = synthetic(4, 100)
    algorithm = incfed.IncFedUCB(
        incfed.PaymentFree(), costs=[0.0, 0.5, 1.0, 5.0], trigger=rule, download=download
    )
    federation = federate(tmp_path / "ledger.db", trace, algorithm)
    play(trace, federation, algorithm.prices(4), tmp_path)
    assert True in judged
    assert False in judged
    federation.store.close()


def test_a_claim_on_an_epoch_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    """Client 2 never shared, and says so of epoch 0, which was pruned. It calls, because the others
    may not call so soon again."""
    three = Federation(
        tmp_path / "ledger.db", 3, dim=2, ridge=1.0, mechanism=incfed.PaymentFree(), lag=0,
        trigger=incfed.Patient(1.0, signal="growth", factor=1.0), false_calls=3,
        round_interval=1000.0,
    )  # fmt: skip
    here = three.coordinator
    here.signal(0, says())
    here.signal(1, says())
    for client, x in enumerate((FIRST, SECOND)):
        here.upload(client, made(1, 0, x, 0.5))
    here.upload(2, made(1, 0, np.empty((0, 2)), 0.0))
    for client, x in enumerate((FIRST, SECOND)):
        three.deliver(client, 1, x)
    with three.store.write() as connection:
        prune(connection, three.clock() + 1.0, three.clock())
    for client in (0, 1, 2):
        epoch = here.state(client).epoch if client < 2 else 0
        here.signal(client, says(learned=9, steps=1, cost=0.01, epoch=epoch, growth=0.6))
    state = here.state(2)
    assert state.round is not None
    assert (state.round.number, three.of("opened")[-1]["client"]) == (2, 2)
    for client, x in enumerate((SECOND, FIRST)):
        here.upload(client, made(2, 1, x, 0.01))
    here.upload(2, made(2, 1, np.empty((0, 2)), 0.0))  # decides: it raised Pruned, for good
    assert here.state(0).round is not None
    with three.store.read() as connection:
        row = connection.execute(tables.conduct.select().where(tables.conduct.c.client == 2)).one()
        assert audit(connection).findings == []
    assert row.false_calls == 1
    three.store.close()
