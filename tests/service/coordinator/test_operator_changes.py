"""What operators change while a federation lives: settings, budgets, who may take part, what is
kept; and a clock that goes on while a transaction waits."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.chain import START, canonical, link
from incfed.ledger.clients import revoke
from incfed.ledger.database import Database
from incfed.ledger.federation import prune
from incfed.protocol.messages import Answer
from incfed.service.coordinator.errors import Conflict, Unauthorized
from support.federation import Federation, made
from support.single_messages import SingleCoordinator
from support.sqlite import unguarded

ONE = np.array([[1.0, 0.5]])


def founded(path: Path, **options: Any) -> Federation:
    settings = {"dim": 2, "threshold": 1.0, "mechanism": incfed.PayEveryone(), "ridge": 1.0}
    return Federation(path, 3, **{**settings, **options})


def again(one: Federation, **changes: Any) -> SingleCoordinator:
    """A restart, with other settings."""
    one.settings = replace(one.settings, **changes)
    one.coordinator = one.another()
    return one.coordinator


def play(one: Federation, cost: float, silent: int = -1) -> int:
    number = one.upload(range(3), [ONE] * 3, cost)
    for k in one.offered():
        if k != silent:
            one.deliver(k, number, ONE)
    return number


def findings(one: Federation) -> list[str]:
    with one.store.read() as connection:
        return audit(connection).findings


def test_an_epoch_that_was_pruned_is_refused(tmp_path: Path) -> None:
    one = founded(tmp_path / "l.db", lag=1)
    for _ in range(4):
        play(one, 0.0)
    with one.store.write() as connection:
        gone = prune(connection, one.clock() + 1.0, one.clock())
    assert gone.epoch == 3
    here = again(one, lag=16)  # as far as the config goes, epoch 0 would do
    here.open_round(0)
    with pytest.raises(Conflict, match=r"^epoch: got 2, must be from 4 to 4"):
        here.upload(0, made(5, 2, ONE, 0.0))
    for k in range(3):
        here.upload(k, made(5, 4, ONE, 0.0))
    assert findings(one) == []
    one.store.close()


def test_a_client_that_never_shared_may_not_refer_to_it_either(tmp_path: Path) -> None:
    one = founded(tmp_path / "l.db", lag=1, mechanism=incfed.PaymentFree())
    for _ in range(3):
        number = one.upload([0, 1], [ONE, ONE], 0.0)
        one.wait(10.0)
        for k in one.offered():
            one.deliver(k, number, ONE)
    with one.store.write() as connection:
        prune(connection, one.clock() + 1.0, one.clock())
    here = again(one, lag=16)
    here.open_round(2)
    with pytest.raises(Conflict, match=r"^epoch: got 0, must be from 2 to 3"):
        here.upload(2, made(4, 0, ONE, 0.0))
    here.upload(2, made(4, 2, ONE, 0.0))
    one.coordinator = here
    one.wait(10.0)
    assert one.of("decided")[-1]["round"] == 4
    one.store.close()


def test_what_a_running_round_may_need_is_not_pruned(tmp_path: Path) -> None:
    one = founded(tmp_path / "l.db", lag=3)
    for _ in range(4):
        play(one, 0.0)
    one.coordinator.open_round(0)
    again(one, lag=0)  # in force from the next round on
    with one.store.write() as connection:
        assert prune(connection, one.clock() + 1.0, one.clock()).epoch == 1
    one.store.close()


def test_a_budget_below_what_is_spent_ends_payments_and_no_more(tmp_path: Path) -> None:
    one = founded(tmp_path / "l.db", budget=100.0, answer_time=5.0)
    play(one, 10.0)
    spent = one.coordinator.overview().spent
    assert spent > 1.0
    again(one, budget=1.0)
    play(one, 0.0)  # costs nothing
    number = play(one, 0.0, silent=1)
    one.wait(10.0)
    assert [event["round"] for event in one.of("closed")] == [1, 2, number]
    assert one.coordinator.overview().spent == spent
    assert findings(one) == []
    one.store.close()


def test_settings_in_force_while_a_round_runs(tmp_path: Path) -> None:
    one = founded(tmp_path / "l.db")
    one.coordinator.open_round(0)
    assert again(one, threshold=0.25).settings().threshold == 0.25
    one.store.close()


def test_a_client_revoked_meanwhile(tmp_path: Path) -> None:
    one = founded(tmp_path / "l.db")
    one.coordinator.open_round(0)
    with one.store.write() as connection:
        revoke(connection, "client 1", one.clock())
    with pytest.raises(Unauthorized, match="Authorization"):
        one.coordinator.upload(1, made(1, 0, ONE, 0.0))
    assert [event["client"] for event in one.of("uploaded")] == []
    one.store.close()


def test_the_time_is_that_of_the_lock(tmp_path: Path) -> None:
    """A message that waited for another one's transaction does not set the clock back."""
    one = founded(tmp_path / "l.db", upload_time=30.0)
    with one.store.write():
        waiting = threading.Thread(target=one.coordinator.open_round, args=(0,))
        waiting.start()
        waiting.join(0.3)
        one.clock.now += 20.0  # a long transaction
    waiting.join()
    assert one.of("opened")[0]["deadline"] == one.clock.now + 30.0
    one.store.close()


def forged(one: Federation, kind: str, nth: int, changes: dict[str, Any]) -> list[str]:
    """What an audit says after the nth entry of a kind was changed, and all hashed anew."""
    one.store.close()
    path = one.url.removeprefix("sqlite:///")
    with unguarded(path) as outside:
        previous = START
        for number, body in outside.execute("SELECT number, body FROM entries").fetchall():
            entry = json.loads(body)
            if entry["kind"] == kind:
                nth -= 1
                entry |= changes if nth == -1 else {}
            body = canonical(entry)
            previous = link(previous, body)
            sql = "UPDATE entries SET body = ?, hash = ? WHERE number = ?"
            outside.execute(sql, (body, previous, number))
    one.store = Database(one.url)
    return findings(one)


@pytest.mark.parametrize(
    ("kind", "nth", "changes", "said"),
    [
        ("opened", 1, {"settings": 1}, "settings 1, where 2 was due"),
        ("opened", 1, {"epoch": 0}, "epoch 0, where 1 was due"),
        ("opened", 0, {"round": 2}, "round 2, where 1 was due"),
        ("settings", 1, {"settings": 7}, "not the next settings"),
        ("answered", 0, {"kind": "fail"}, "does not follow: KeyError: 'fail'"),
        ("barred", 0, {"kind": "deadline", "deadline": 1.0}, "client 1 was not barred"),
        ("barred", 0, {"until_time": 1.0}, "client 1: no reason to bar it so"),
    ],
)
def test_a_forged_chain(
    tmp_path: Path, kind: str, nth: int, changes: dict[str, Any], said: str
) -> None:
    one = founded(tmp_path / "l.db", answer_time=5.0, barred_time=60.0)
    play(one, 1.0)
    again(one, threshold=0.5)
    number = one.upload(range(3), [ONE] * 3, 1.0)
    one.coordinator.answer(1, Answer(number, 1, True))
    for k in (0, 2):
        one.deliver(k, number, ONE)
    one.wait(10.0)
    assert findings(one) == []
    assert any(said in finding for finding in forged(one, kind, nth, changes))
    one.store.close()


def test_nothing_is_not_clean(tmp_path: Path) -> None:
    store = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    with store.read() as connection:
        assert audit(connection).findings == [
            "there are no entries: no federation was ever founded here"
        ]
    store.close()


@pytest.mark.parametrize(("name", "value"), [("ridge", 1e308), ("noise", 1e300), ("delta", 1e-200)])
def test_settings_are_within_their_ranges_when_founded_and_when_changed(
    tmp_path: Path, name: str, value: float
) -> None:
    with pytest.raises(incfed.InputError, match=rf"^{name}: got .*, must be a number from "):
        founded(tmp_path / "new.db", **{name: value})
    old = founded(tmp_path / "old.db")
    with pytest.raises(incfed.InputError, match=rf"^{name}: got .*, must be a number from "):
        again(old, **{name: value})
    assert again(old, attempts=5).settings().attempts == 5
    assert findings(old) == []
