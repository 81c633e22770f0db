"""What a client does next, one situation at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.protocol.messages import Upload
from incfed.protocol.packing import pack_rows
from incfed.service import binary
from incfed.service.client import agent as agents
from incfed.service.client.agent import AWAY_PAUSE, FIRST_PAUSE, REFUSED_PAUSE
from incfed.service.client.sync import PendingSync
from incfed.service.client.transport import ServiceError
from support.agents import Harness
from support.fake_coordinator import DIGITS, Fake

X = np.array([1.0, 0.0])


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_nothing_happens_without_a_reason(harness: Harness) -> None:
    assert harness.work() == ["federation", "state"]
    harness.poll()
    assert harness.work() == []


def test_a_whole_round(harness: Harness) -> None:
    harness.work()
    harness.durable.learn(X, 1.0)
    assert harness.work() == ["open", "state", "upload"]
    harness.poll()
    assert harness.work() == ["delivery"]
    harness.poll()
    assert harness.work() == ["download"]
    assert (harness.durable.learner.epoch, harness.durable.pending) == (1, 0)
    assert harness.durable.earned == pytest.approx(1.0, rel=1e-12)
    assert not harness.durable.learner.triggered


def test_a_call_for_a_round_names_its_epoch(harness: Harness) -> None:
    """So that one that comes late, when that epoch is over, opens nothing."""
    harness.work()
    harness.durable.learn(X, 1.0)
    call = harness.agent.next_request(harness.now)
    assert call is not None
    assert (call.method, call.path) == ("POST", "/v1/rounds?epoch=0&after=0")


def test_an_old_poll_does_not_make_it_say_things_twice(harness: Harness) -> None:
    harness.work()
    harness.durable.learn(X, 1.0)
    harness.work()
    assert harness.agent.state is not None
    old = harness.fake.state(0) | {"version": harness.fake.version - 1}
    old["round"] |= {"stage": "open", "uploaded": False, "offer": None}
    poll = harness.agent.poll(harness.now)
    assert poll is not None
    harness.agent.replied(poll, 200, old | {"version": poll.version + 1}, harness.now)
    assert harness.work() == []


def test_a_coordinator_that_counts_anew_is_asked_anew(harness: Harness) -> None:
    harness.fake.version = 50
    harness.work()
    harness.fake.version = 3
    harness.poll()
    assert harness.work() == ["state"]


def test_a_poll_that_comes_back_at_once_is_not_sent_at_once(harness: Harness) -> None:
    harness.work()
    harness.poll()
    assert harness.agent.poll(harness.now) is None
    assert harness.agent.pause(harness.now) == pytest.approx(agents.POLL_PAUSE)
    assert harness.agent.poll(harness.now + agents.POLL_PAUSE) is not None
    later = harness.now + agents.POLL_PAUSE
    poll = harness.agent.poll(later)
    assert poll is not None
    harness.agent.replied(poll, 200, harness.fake.state(0), later + agents.WAIT)
    assert harness.agent.poll(later + agents.WAIT) is not None, "that one took its time"


def test_while_it_is_frozen_for_an_open_round_news_unfreezes_nothing(harness: Harness) -> None:
    """As if its upload, late or lost, were refused for an epoch that has passed."""
    harness.work()
    harness.durable.learn(X, 1.0)
    harness.reply(harness.next())  # open
    harness.reply(harness.next())  # state
    upload = harness.next()
    assert upload is not None
    harness.agent.replied(upload, 409, {"field": "epoch", "message": "old"}, harness.now)
    aggregator = harness.fake.aggregator
    aggregator.close(*aggregator.decide({}), lambda who: X)  # an epoch from nowhere
    harness.now = 10.0
    harness.reply(harness.next())
    download = harness.next()
    assert download is not None
    assert (download.kind, download.closed) == ("download", False)
    harness.reply(download)
    assert harness.durable.learner.frozen is not None
    again = harness.next()
    assert again is not None
    assert isinstance(again.body, bytes)
    assert isinstance(upload.body, bytes)
    first, second = (binary.read_upload(1, body, 2) for body in (upload.body, again.body))
    assert (first.epoch, second.epoch) == (0, 1)
    assert binary.write_upload(first._replace(epoch=1), DIGITS) == again.body
    harness.reply(again)
    assert not harness.fake.violations


@pytest.mark.parametrize("status", [404, 408, 409, 429, 500, 503])
def test_not_now_is_tried_again_after_a_while(status: int, harness: Harness) -> None:
    pauses = []
    for _ in range(12):
        request = harness.next()
        assert request is not None
        harness.agent.replied(request, status, None, harness.now)
        assert harness.next() is None
        pauses.append(harness.agent.backoff.until - harness.now)
        harness.now = harness.agent.backoff.until
    assert FIRST_PAUSE / 2 <= pauses[0] <= 2 * FIRST_PAUSE
    assert pauses[4] > 4 * pauses[0]
    assert AWAY_PAUSE / 2 <= pauses[-1] <= 1.5 * AWAY_PAUSE
    harness.work()
    assert harness.agent.problem is None


@pytest.mark.parametrize(("within", "most"), [(3.0, 2.25), (10.0, 7.5), (600.0, 7.5), (0.01, 0.15)])
def test_it_is_back_in_the_time_that_a_round_waits_for_it(
    tmp_path: Path, within: float, most: float
) -> None:
    """After an outage the coordinator gives clients all of their time again, from its start on."""
    harness = Harness(tmp_path, answer_within=within)
    harness.work()
    harness.agent.state = None
    pauses = []
    for _ in range(60):
        request = harness.next()
        assert request is not None
        harness.agent.failed(request, ConnectionError("away"), harness.now)
        pauses.append(harness.agent.backoff.until - harness.now)
        harness.now = harness.agent.backoff.until
    assert 0.9 * most < max(pauses) <= most


def test_a_call_that_is_too_early_is_not_repeated_until_it_may_be(harness: Harness) -> None:
    """Else a thousand clients that wait for a round would ask for it ten times a second."""
    harness.work()
    harness.durable.learn(X, 1.0)
    call = harness.next()
    assert call is not None
    refusal = {"field": "round", "message": "must be 20 s after the last round"}
    harness.agent.replied(call, 429, refusal, harness.now, {"retry-after": "20"})
    harness.now = harness.agent.backoff.until
    assert harness.work() == ["state"]
    pause = harness.agent.pause(harness.now)
    assert pause is not None
    assert 19.5 <= harness.now + pause <= 20.0
    harness.now = 19.4
    assert harness.work() == []
    harness.fake.handle(0, "POST", "/v1/rounds?epoch=0", None)  # as if another one called
    harness.poll()
    assert harness.work() == ["upload"]


def refused_call(harness: Harness, retry_after: str) -> None:
    harness.work()
    harness.durable.learn(X, 1.0)
    call = harness.next()
    assert call is not None
    harness.agent.replied(call, 429, None, harness.now, {"retry-after": retry_after})


@pytest.mark.parametrize(
    "said", ["", "0", "-5", "soon", "9" * 5000, "Wed, 21 Oct 2015 07:28:00 GMT"]
)
def test_a_call_is_repeated_soon_if_nobody_says_how_long_to_wait(
    said: str, harness: Harness
) -> None:
    refused_call(harness, said)
    harness.now = harness.agent.backoff.until
    assert harness.work()[:2] == ["state", "open"]


def test_at_the_usual_pace_of_rounds_a_call_waits_too(harness: Harness) -> None:
    """The header has whole seconds: 1 for the half that is left."""
    refused_call(harness, "1")
    harness.now = 0.49
    assert harness.work() == ["state"]
    assert harness.work() == []
    harness.now = 1.0
    assert harness.work()[0] == "open"


def test_a_call_does_not_wait_by_settings_of_the_past(harness: Harness) -> None:
    refused_call(harness, "9000")
    harness.now = 1.0
    assert harness.work() == ["state"]
    harness.agent._has_settings = False  # their revision has changed
    assert harness.work()[:2] == ["federation", "open"]


def test_a_refused_token_is_raised_and_tried_again_later(harness: Harness) -> None:
    sync = PendingSync()
    harness.agent.sync(sync)
    request = harness.next()
    assert request is not None
    harness.agent.replied(request, 401, {"field": "Authorization", "message": "who?"}, harness.now)
    with pytest.raises(ServiceError, match="who"):
        sync.future.result(0)
    assert harness.agent.backoff.until >= REFUSED_PAUSE / 2
    harness.now = 2 * REFUSED_PAUSE
    assert harness.work()


def test_a_coordinator_that_went_back_is_no_longer_talked_to(harness: Harness) -> None:
    harness.work()
    harness.durable.learn(X, 1.0)
    for _ in range(3):
        harness.work()
        harness.agent.state = None
    assert harness.durable.learner.epoch == 1
    harness.fake = Fake(1, 2)
    harness.agent.state = None
    harness.reply(harness.next())
    assert harness.agent.halted
    assert harness.next() is None
    sync = PendingSync()
    harness.agent.sync(sync)
    with pytest.raises(incfed.InputError, match="knows epoch 1, the coordinator only 0"):
        sync.future.result(0)


def test_a_round_that_comes_to_nothing_is_not_called_for_at_once_again(harness: Harness) -> None:
    harness.work()
    harness.durable.learn(X, 1.0)
    assert harness.reply(harness.next()) == "open"
    harness.fake.round = None  # gone
    assert harness.work() == ["state"]
    assert harness.agent.pause(harness.now) is not None
    harness.now = 10.0
    assert harness.kind() == "open"


def test_what_an_earlier_life_uploaded_is_declined(harness: Harness) -> None:
    harness.work()
    harness.fake.handle(0, "POST", "/v1/rounds", None)
    harness.durable.learn(X, 1.0)
    body = binary.write_upload(Upload(1, 0, 1, 1.0, pack_rows(np.array([X]))), DIGITS)
    harness.fake.handle(0, "PUT", "/v1/rounds/1/upload", body)
    harness.agent.state = None
    assert harness.work() == ["state", "answer"]
    assert harness.fake.closed[0].participants == []
    assert harness.durable.learner.frozen is None


def test_a_sync_called_while_a_state_is_on_its_way_asks_for_another(harness: Harness) -> None:
    harness.reply(harness.next())
    state = harness.next()
    assert state is not None
    sync = PendingSync()
    harness.agent.sync(sync)
    harness.reply(state)
    assert not sync.future.done()
    assert harness.work() == ["state"]
    assert sync.future.done()


def test_a_sync_waits_for_the_round_that_is_open_and_no_longer(tmp_path: Path) -> None:
    harness = Harness(tmp_path, count=2)
    harness.work()
    harness.fake.handle(1, "POST", "/v1/rounds", None)
    sync = PendingSync()
    harness.agent.sync(sync)
    assert harness.work() == ["state", "upload"]
    assert not sync.future.done()
    harness.fake.deadline()
    harness.fake.handle(1, "POST", "/v1/rounds", None)  # the next one
    harness.poll()
    assert harness.work()[0] == "download"
    assert sync.future.done()


def test_a_sync_whose_call_was_answered_by_another_round(tmp_path: Path) -> None:
    harness = Harness(tmp_path, count=2)
    harness.work()
    harness.durable.learn(X, 1.0)
    sync = PendingSync()
    harness.agent.sync(sync)
    harness.reply(harness.next())
    assert harness.kind() == "open"
    harness.fake.handle(1, "POST", "/v1/rounds", None)
    harness.fake.deadline()  # without this client
    harness.agent.state = None
    assert harness.work() == ["state", "download"]
    assert sync.future.done()


def test_a_round_that_closed_without_a_new_epoch(harness: Harness) -> None:
    """The upload is pending again, after a download that says so."""
    harness.work()
    harness.durable.learn(X, 1.0)
    assert harness.work() == ["open", "state", "upload"]
    sync = PendingSync()
    harness.agent.sync(sync)
    harness.fake.round = None
    assert harness.reply(harness.next()) == "state"
    assert not sync.future.done()
    assert harness.reply(harness.next()) == "download"
    assert sync.future.done()
    assert harness.durable.learner.frozen is None
    assert harness.durable.pending == 1


def test_the_log_of_a_disk_that_fails(
    harness: Harness, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    harness.work()
    harness.durable.learn(X, 1.0)
    for path in tmp_path.iterdir():
        path.unlink()
    assert harness.next() is None
    [record] = caplog.records
    assert record.getMessage().startswith("incfed client client-0: ")
    assert "preparing a request: " in record.getMessage()
    assert str(tmp_path) in record.getMessage()
