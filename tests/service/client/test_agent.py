"""What a client does next, one situation at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.service.client import agent as agents
from incfed.service.client.patience import FIRST, LONGEST, SULK
from incfed.service.client.refusals import ServiceError
from incfed.service.client.wishes import Wish
from support.agents import Desk
from support.fake_coordinator import Fake

X = np.array([1.0, 0.0])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_nothing_happens_without_a_reason(desk: Desk) -> None:
    assert desk.work() == ["federation", "state"]
    desk.poll()
    assert desk.work() == []


def test_a_whole_round(desk: Desk) -> None:
    desk.work()
    desk.keeper.learn(X, 1.0)
    assert desk.work() == ["open", "state", "upload"]
    desk.poll()
    assert desk.work() == ["answer", "delivery"]
    desk.poll()
    assert desk.work() == ["download"]
    assert (desk.keeper.learner.epoch, desk.keeper.pending) == (1, 0)
    assert desk.keeper.earned == pytest.approx(1.0, rel=1e-12)
    assert not desk.keeper.learner.triggered


def test_a_call_for_a_round_names_its_epoch(desk: Desk) -> None:
    """So that one that comes late, when that epoch is over, opens nothing."""
    desk.work()
    desk.keeper.learn(X, 1.0)
    call = desk.agent.errand(desk.now)
    assert call is not None
    assert (call.method, call.path) == ("POST", "/v1/rounds?epoch=0")


def test_an_old_poll_does_not_make_it_say_things_twice(desk: Desk) -> None:
    desk.work()
    desk.keeper.learn(X, 1.0)
    desk.work()
    assert desk.agent.state is not None
    old = desk.fake.state(0) | {"version": desk.fake.version - 1}
    old["round"] |= {"stage": "open", "uploaded": False, "offer": None}
    poll = desk.agent.poll(desk.now)
    assert poll is not None
    desk.agent.replied(poll, 200, old | {"version": poll.number + 1}, desk.now)
    assert desk.work() == []


def test_a_coordinator_that_counts_anew_is_asked_anew(desk: Desk) -> None:
    desk.fake.version = 50
    desk.work()
    desk.fake.version = 3
    desk.poll()
    assert desk.work() == ["state"]


def test_a_poll_that_comes_back_at_once_is_not_sent_at_once(desk: Desk) -> None:
    desk.work()
    desk.poll()
    assert desk.agent.poll(desk.now) is None
    assert desk.agent.rest(desk.now) == pytest.approx(agents.CALM)
    assert desk.agent.poll(desk.now + agents.CALM) is not None
    later = desk.now + agents.CALM
    poll = desk.agent.poll(later)
    assert poll is not None
    desk.agent.replied(poll, 200, desk.fake.state(0), later + agents.WAIT)
    assert desk.agent.poll(later + agents.WAIT) is not None, "that one took its time"


def test_while_it_is_frozen_for_an_open_round_news_unfreezes_nothing(desk: Desk) -> None:
    """As if its upload, late or lost, were refused for an epoch that has passed."""
    desk.work()
    desk.keeper.learn(X, 1.0)
    desk.reply(desk.next())  # open
    desk.reply(desk.next())  # state
    upload = desk.next()
    assert upload is not None
    desk.agent.replied(upload, 409, {"field": "epoch", "message": "old"}, desk.now)
    desk.fake.hub.close(*desk.fake.hub.decide({}), lambda who: X)  # an epoch from nowhere
    desk.now = 10.0
    desk.reply(desk.next())
    download = desk.next()
    assert download is not None
    assert (download.kind, download.closed) == ("download", False)
    desk.reply(download)
    assert desk.keeper.learner.frozen is not None
    again = desk.next()
    assert again is not None
    assert again.body is not None
    assert upload.body is not None
    assert again.body == upload.body | {"epoch": 1}
    desk.reply(again)
    assert not desk.fake.violations


@pytest.mark.parametrize("status", [404, 408, 409, 429, 500, 503])
def test_not_now_is_tried_again_after_a_while(status: int, desk: Desk) -> None:
    pauses = []
    for _ in range(12):
        request = desk.next()
        assert request is not None
        desk.agent.replied(request, status, None, desk.now)
        assert desk.next() is None
        pauses.append(desk.agent.patience.until - desk.now)
        desk.now = desk.agent.patience.until
    assert FIRST / 2 <= pauses[0] <= 2 * FIRST
    assert pauses[4] > 4 * pauses[0]
    assert LONGEST / 2 <= pauses[-1] <= 1.5 * LONGEST
    desk.work()
    assert desk.agent.problem is None


def test_a_refused_token_is_raised_and_tried_again_later(desk: Desk) -> None:
    wish = Wish()
    desk.agent.wish(wish)
    request = desk.next()
    assert request is not None
    desk.agent.replied(request, 401, {"field": "Authorization", "message": "who?"}, desk.now)
    with pytest.raises(ServiceError, match="who"):
        wish.granted.result(0)
    assert desk.agent.patience.until >= SULK / 2
    desk.now = 2 * SULK
    assert desk.work()


def test_a_coordinator_that_went_back_is_no_longer_talked_to(desk: Desk) -> None:
    desk.work()
    desk.keeper.learn(X, 1.0)
    for _ in range(3):
        desk.work()
        desk.agent.state = None
    assert desk.keeper.learner.epoch == 1
    desk.fake = Fake(1, 2)
    desk.agent.state = None
    desk.reply(desk.next())
    assert desk.agent.halted
    assert desk.next() is None
    wish = Wish()
    desk.agent.wish(wish)
    with pytest.raises(incfed.InputError, match="knows epoch 1, the coordinator only 0"):
        wish.granted.result(0)


def test_a_round_that_comes_to_nothing_is_not_called_for_at_once_again(desk: Desk) -> None:
    desk.work()
    desk.keeper.learn(X, 1.0)
    assert desk.reply(desk.next()) == "open"
    desk.fake.round = None  # gone
    assert desk.work() == ["state"]
    assert desk.agent.rest(desk.now) is not None
    desk.now = 10.0
    assert desk.kind() == "open"


def test_what_an_earlier_life_uploaded_is_declined(desk: Desk) -> None:
    desk.work()
    desk.fake.handle(0, "POST", "/v1/rounds", None)
    desk.keeper.learn(X, 1.0)
    body = {"epoch": 0, "steps": 1, "cost": 1.0, "dV": {"form": "factor", "numbers": ""}}
    desk.fake.handle(0, "PUT", "/v1/rounds/1/upload", body)
    desk.agent.state = None
    assert desk.work() == ["state", "answer"]
    assert desk.fake.closed[0].participants == []
    assert desk.keeper.learner.frozen is None


def test_a_wish_made_while_a_state_is_on_its_way_asks_for_another(desk: Desk) -> None:
    desk.reply(desk.next())
    state = desk.next()
    assert state is not None
    wish = Wish()
    desk.agent.wish(wish)
    desk.reply(state)
    assert not wish.granted.done()
    assert desk.work() == ["state"]
    assert wish.granted.done()


def test_a_wish_waits_for_the_round_that_is_open_and_no_longer(tmp_path: Path) -> None:
    desk = Desk(tmp_path, count=2)
    desk.work()
    desk.fake.handle(1, "POST", "/v1/rounds", None)
    wish = Wish()
    desk.agent.wish(wish)
    assert desk.work() == ["state", "upload"]
    assert not wish.granted.done()
    desk.fake.deadline()
    desk.fake.handle(1, "POST", "/v1/rounds", None)  # the next one
    desk.poll()
    assert desk.work()[0] == "download"
    assert wish.granted.done()


def test_a_wish_whose_call_was_answered_by_another_round(tmp_path: Path) -> None:
    desk = Desk(tmp_path, count=2)
    desk.work()
    desk.keeper.learn(X, 1.0)
    wish = Wish()
    desk.agent.wish(wish)
    desk.reply(desk.next())
    assert desk.kind() == "open"
    desk.fake.handle(1, "POST", "/v1/rounds", None)
    desk.fake.deadline()  # without this client
    desk.agent.state = None
    assert desk.work() == ["state", "download"]
    assert wish.granted.done()


def test_a_round_that_closed_without_a_new_epoch(desk: Desk) -> None:
    """What it was told is pending again, after a download that says so."""
    desk.work()
    desk.keeper.learn(X, 1.0)
    assert desk.work() == ["open", "state", "upload"]
    wish = Wish()
    desk.agent.wish(wish)
    desk.fake.round = None
    assert desk.reply(desk.next()) == "state"
    assert not wish.granted.done()
    assert desk.reply(desk.next()) == "download"
    assert wish.granted.done()
    assert desk.keeper.learner.frozen is None
    assert desk.keeper.pending == 1
