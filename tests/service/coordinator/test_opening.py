"""When what clients said is judged, and that what they stream bears their signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.clients import reset_key
from incfed.ledger.federation import set_paused
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Delivery, Signal
from incfed.protocol.packing import add_rows, pack_rows
from incfed.protocol.statements import STREAMED, statement, stream_fields
from incfed.service.coordinator import handlers, listening
from incfed.service.coordinator.errors import Conflict
from incfed.service.coordinator.round import RoundTransaction
from incfed.support.signing import digest, new_key, public_key, sign
from support.federation import Federation

FIRST, SECOND = np.eye(2)[:1], np.eye(2)[1:]
Make = Callable[..., Federation]


@pytest.fixture
def federate(tmp_path: Path) -> Iterator[Make]:
    known: list[Federation] = []

    def make(**options: Any) -> Federation:
        given = {"dim": 2, "ridge": 1.0, "trigger": incfed.News(0.5)}
        given |= {"mechanism": incfed.PaymentFree(), "live_time": 1e6}
        known.append(Federation(tmp_path / f"{len(known)}.db", 2, **given | options))
        return known[-1]

    yield make
    for one in known:
        one.store.close()


def findings(one: Federation) -> list[str]:
    with one.store.read() as connection:
        return audit(connection).findings


# ------------------------------------------------------------------------- when it is judged


def share(two: Federation, number: int, x: Any) -> None:
    """Client 0 streams a row, which opens a round, and delivers."""
    epoch = two.coordinator.state(0).epoch
    two.coordinator.signal(0, Signal(epoch, number, 1, 0.7, 0.0, dV=pack_rows(x)))
    two.deliver(0, number, x)
    assert len(two.of("closed")) == number


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("pace", [{"round_interval": 10.0}, {"rounds_per_second": 0.1}], ids=str)
def test_a_signal_inside_the_interval_is_judged_when_it_ends(
    federate: Make, pace: dict[str, float], restarted: bool
) -> None:
    two = federate(**pace)
    share(two, 1, FIRST)
    two.coordinator.signal(0, Signal(1, 2, 1, 0.7, 0.0, dV=pack_rows(SECOND)))
    if restarted:
        two.coordinator = two.another()
    two.wait(9.5)
    assert len(two.of("opened")) == 1
    two.wait(0.5)
    assert len(two.of("opened")) == 2
    assert sorted(two.offered()) == [0]
    two.deliver(0, 2, SECOND)
    two.wait(60.0)
    assert len(two.of("opened")) == 2  # once
    assert findings(two) == []


def test_a_signal_in_a_round_or_a_pause_is_judged_after_it(federate: Make) -> None:
    two = federate()
    two.coordinator.signal(0, Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))
    two.coordinator.signal(1, Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(SECOND)))
    assert len(two.of("opened")) == 1
    two.deliver(0, 1, FIRST)
    with two.store.write() as connection:
        set_paused(connection, True, "ada", two.clock())
    two.wait(3.0)
    assert len(two.of("opened")) == 1
    with two.store.write() as connection:
        set_paused(connection, False, "ada", two.clock())
    two.wait(1.0)
    assert [one["client"] for one in two.of("opened")] == [0, 1]
    assert findings(two) == []


def test_who_has_left_opens_nothing(federate: Make) -> None:
    two = federate(round_interval=10.0, live_time=5.0)
    share(two, 1, FIRST)
    two.coordinator.signal(0, Signal(1, 2, 1, 0.7, 0.0, dV=pack_rows(SECOND)))
    two.wait(60.0)
    assert len(two.of("opened")) == 1


def test_who_comes_back_is_judged(federate: Make) -> None:
    two = federate(round_interval=10.0, live_time=5.0)
    share(two, 1, FIRST)
    two.coordinator.signal(0, Signal(1, 2, 1, 0.7, 0.0, dV=pack_rows(SECOND)))
    two.wait(30.0)
    assert len(two.of("opened")) == 1
    for _ in range(4):
        two.coordinator.state(0)
        two.wait(3.0)
    assert len(two.of("opened")) == 2


def test_what_could_not_be_written_is_judged_again(
    federate: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = federate(round_interval=10.0)
    share(two, 1, FIRST)
    two.coordinator.signal(0, Signal(1, 2, 1, 0.7, 0.0, dV=pack_rows(SECOND)))

    def fail(self: RoundTransaction) -> None:
        raise OSError("the disk is full")

    two.wait(9.0)
    with monkeypatch.context() as patched:
        patched.setattr(RoundTransaction, "advance", fail)
        with pytest.raises(OSError, match="the disk is full"):
            two.wait(1.0)
    assert len(two.of("opened")) == 1
    two.wait(1.0)
    assert len(two.of("opened")) == 2


# ------------------------------------------------------------ what cannot be taken, or no more


def test_what_cannot_be_taken_opens_one_round_at_most(federate: Make) -> None:
    """Somebody deleted the signature of client 0."""
    two = federate()
    with two.store.write() as connection:
        set_paused(connection, True, "ada", two.clock())
    member = Streaming(two, 0)
    member.say(Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))
    with two.store.write() as connection:
        connection.execute(tables.signals.update().values(signature=None))
        set_paused(connection, False, "ada", two.clock())
    for learned in (1, 2):  # worth nothing alone
        two.coordinator.signal(1, Signal(0, learned, 1, 0.1, 0.0, dV=pack_rows(small(SECOND))))
        two.wait(20.0)
    assert [one["steps"] for one in two.of("uploaded") if one["client"] == 0] == [0]
    assert len(two.of("opened")) == 1
    with pytest.raises(Conflict, match="send dV instead"):
        member.say(Signal(0, 2, 2, 0.1, 0.0, rows=small(FIRST)))


def test_what_was_said_under_other_settings_is_said_again(federate: Make) -> None:
    two = federate()
    member = Streaming(two, 0)
    member.say(Signal(0, 1, 1, 0.1, 1.24, dV=pack_rows(small(FIRST))))
    two.settings = replace(two.settings, lag=15)
    two.coordinator = two.another()
    two.coordinator.signal(1, Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))
    assert [one["steps"] for one in two.of("uploaded")] == [0, 1]
    assert findings(two) == []
    with pytest.raises(Conflict, match="send dV instead"):
        member.say(Signal(0, 2, 2, 0.1, 1.24, rows=small(SECOND)))


def test_new_settings_leave_a_round_in_progress_what_was_streamed(federate: Make) -> None:
    two = federate()
    two.coordinator.signal(0, Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))
    two.settings = replace(two.settings, lag=15)
    two.coordinator = two.another()
    round = two.coordinator.state(0).round
    assert round is not None
    assert round.taken == 1
    two.deliver(0, 1, FIRST)
    assert len(two.of("closed")) == 1
    assert findings(two) == []


# ------------------------------------------------------------------------------- signatures


class Streaming:
    """A client that signs what it streams."""

    def __init__(self, federation: Federation, client: int) -> None:
        self.federation, self.client, self.key = federation, client, new_key()
        federation.coordinator._send(client, handlers.register_key, public_key(self.key))
        self.stream = pack_rows(np.empty((0, 2)))

    def signed(self, signal: Signal, stream: Any) -> Signal:
        with self.federation.store.read() as connection:
            name = str(connection.exec_driver_sql("SELECT name FROM federation").scalar())
        said = statement(name, STREAMED, stream_fields(self.client, signal, stream, 0))
        return signal._replace(signature=sign(self.key, said))

    def say(self, signal: Signal) -> Any:
        rows = np.empty((0, 2)) if signal.rows is None else signal.rows
        whole = add_rows(self.stream, rows) if signal.dV is None else signal.dV
        state = self.federation.coordinator.signal(self.client, self.signed(signal, whole))
        self.stream = whole
        return state


def small(x: Any) -> Any:
    return 0.1 * x


def test_what_is_streamed_is_signed(federate: Make) -> None:
    two = federate()
    member = Streaming(two, 0)
    member.say(Signal(0, 1, 1, 0.1, 1.24, dV=pack_rows(small(FIRST))))
    member.say(Signal(0, 2, 2, 0.1, 1.5, rows=small(SECOND)))  # a triangle now
    two.coordinator.signal(1, Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))  # it has no key
    mine, other = two.of("uploaded")
    assert (mine["client"], mine["learned"], mine["steps"], mine["cost"]) == (0, 2, 2, 150)
    assert len(mine["signature"]) == 88
    assert "signature" not in other
    assert findings(two) == []


def test_what_is_not_signed_is_refused(federate: Make) -> None:
    two = federate()
    member = Streaming(two, 0)
    first = Signal(0, 1, 1, 0.1, 1.0, dV=pack_rows(small(FIRST)))
    with pytest.raises(Refusal, match="it is not signed"):
        two.coordinator.signal(0, first)
    for wrong in (first._replace(cost=2.0), first._replace(learned=2), first._replace(epoch=1)):
        forged = member.signed(wrong, first.dV)
        with pytest.raises(Refusal, match="the signature is not that of its sender"):
            two.coordinator.signal(0, first._replace(signature=forged.signature))
    member.say(first)
    member.stream = pack_rows(small(SECOND))  # it thinks that it said something else
    with pytest.raises(Conflict, match=r"^rows: .*Send dV instead"):
        member.say(Signal(0, 2, 2, 0.1, 1.0, rows=small(SECOND)))
    with two.store.write() as connection:  # what it said under the old key counts no more
        reset_key(connection, "0", two.clock())
    two.coordinator.signal(1, Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))
    assert [one["steps"] for one in two.of("uploaded")] == [0, 1]
    assert findings(two) == []


def test_what_was_not_signed_before_it_had_to_be_is_left_out(federate: Make) -> None:
    two = federate()
    two.coordinator.signal(0, Signal(0, 1, 1, 0.1, 1.0, dV=pack_rows(small(FIRST))))
    two.settings = federate(signatures="required").settings
    two.coordinator = two.another()
    member = Streaming(two, 1)
    member.say(Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))
    assert [one["steps"] for one in two.of("uploaded")] == [0, 1]
    assert findings(two) == []


@pytest.mark.parametrize("change", ["cost", "steps", "numbers", "unsigned"])
def test_a_changed_stream_shows(federate: Make, change: str) -> None:
    """The coordinator takes something else than the client streamed for its upload."""
    two = federate()
    member = Streaming(two, 0)
    member.say(Signal(0, 1, 1, 0.1, 1.0, dV=pack_rows(small(FIRST))))
    changes: dict[str, dict[str, Any]] = {
        "cost": {"cost_units": 50}, "steps": {"steps": 2, "learned": 2},
        "unsigned": {"signature": None},
        "numbers": {"numbers": pack_rows(small(SECOND)).numbers.astype("<f8").tobytes()},
    }  # fmt: skip
    with two.store.touch() as connection:
        own = tables.signals.c.client == 0
        connection.execute(tables.signals.update().where(own).values(changes[change]))
        if change == "unsigned":  # and takes it nevertheless
            connection.execute(tables.clients.update().values(key=None))
    two.coordinator.signal(1, Signal(0, 1, 1, 0.7, 0.0, dV=pack_rows(FIRST)))
    said = "it is not signed" if change == "unsigned" else "the signature is not that of its sender"
    assert any(said in one for one in findings(two))


@pytest.mark.parametrize("lies", [False, True])
def test_what_was_shared_cannot_be_taken_again(
    federate: Make, monkeypatch: pytest.MonkeyPatch, lies: bool
) -> None:
    """The coordinator keeps what it was told before the client shared, signature and all; and says
    that the client had not shared then."""
    two = federate()
    member = Streaming(two, 0)
    member.say(Signal(0, 1, 1, 0.1, 0.0, dV=pack_rows(small(FIRST))))
    with two.store.read() as connection:
        kept = dict(connection.execute(tables.signals.select()).mappings().one())
    member.say(Signal(0, 2, 2, 0.7, 0.0, rows=FIRST))
    db = (FIRST + small(FIRST))[0]
    fields = {"round": 1, "client": 0, "steps": 2, "cost": 0.0, "db": digest(db.tobytes())}
    with two.store.read() as connection:
        name = str(connection.exec_driver_sql("SELECT name FROM federation").scalar())
    signature = sign(member.key, statement(name, "delivered", fields))
    two.coordinator.deliver(0, Delivery(1, db, signature=signature))
    assert findings(two) == []
    with two.store.touch() as connection:
        connection.execute(tables.signals.insert().values(kept))
    honest = vars(listening.Streamed)["said"].fget
    if lies:
        said = property(lambda one: honest(one) | {"since": 0})
        monkeypatch.setattr(listening.Streamed, "said", said)
    two.coordinator.signal(1, Signal(1, 1, 1, 0.7, 0.0, dV=pack_rows(3.0 * SECOND)))
    forged, again = "the signature is not that of its sender", "some of these steps were shared"
    [finding] = findings(two)
    assert (again if lies else forged) in finding
