"""Cost and accept functions that go wrong: that exit, wait for themselves, or name a cost above the
federation's limit. And what the log says of it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.service.client import agent
from incfed.service.client.transport import ServiceError
from support.client_state import rows
from support.fake_coordinator import Fake
from support.fake_server import Service, serving

X, SOON = [1.0, 0.0], 60.0


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(agent, "WAIT", 5.0)


@pytest.fixture
def service() -> Iterator[tuple[str, Service]]:
    with serving(Fake(1, 2, threshold=0.5, cost_limit=5.0)) as served:
        yield served


class Once:
    """A policy that goes wrong when it is first asked."""

    def __init__(self, wrong: Callable[[], Any], right: Any) -> None:
        self._wrong, self._right, self.asked = wrong, right, 0

    def __call__(self, given: Any) -> Any:
        self.asked += 1
        return self._wrong() if self.asked == 1 else self._right


def exits() -> None:
    raise SystemExit(3)


def interrupts() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("wrong", [exits, interrupts])
@pytest.mark.parametrize("which", ["cost", "accept"])
def test_a_policy_that_exits_is_asked_again(
    which: str, wrong: Callable[[], None], service: tuple[str, Service], tmp_path: Path
) -> None:
    policy = Once(wrong, True if which == "accept" else 1.0)
    given: dict[str, Any] = {which: policy}
    with incfed.Client(service[0], "token-0", tmp_path, **given) as client:
        client._durable.learn(rows_of_two(), 1.0)  # without waking the thread that talks
        with pytest.raises(RuntimeError, match=rf"{which}: raised (SystemExit\(3\)|Keyboard)"):
            client.sync(SOON)
        client.sync(SOON)
        assert (client.pending, policy.asked) == (0, 2)


@pytest.mark.parametrize("what", ["close", "sync"])
def test_a_policy_that_would_wait_for_itself(
    what: str, service: tuple[str, Service], tmp_path: Path
) -> None:
    client: incfed.Client
    policy = Once(lambda: getattr(client, what)(), 1.0)
    with incfed.Client(service[0], "token-0", tmp_path, cost=policy) as client:
        client._durable.learn(rows_of_two(), 1.0)
        with pytest.raises(RuntimeError, match=f"{what}: cannot be called by a cost or accept"):
            client.sync(SOON)
        client.sync(SOON)
        assert (client.pending, policy.asked) == (0, 2)


def rows_of_two() -> Any:
    return rows(1)[0][:2] * 4.0


def test_a_price_above_the_limit(service: tuple[str, Service], tmp_path: Path) -> None:
    """A number is refused at once; what a function said is not kept for the round."""
    url, served = service
    said = r"cost: got 5\.5, must be at most 5, the federation's cost_limit"
    with pytest.raises(incfed.InputError, match=said):
        incfed.Client(url, "token-0", tmp_path / "new", cost=5.5)
    assert not (tmp_path / "new").exists()
    policy = Once(lambda: 5.5, 5.0)
    with incfed.Client(url, "token-0", tmp_path / "shop", cost=policy) as client:
        client._durable.learn(rows_of_two(), 1.0)
        with pytest.raises(incfed.InputError, match=said):
            client.sync(SOON)
        client.sync(SOON)
        assert client.pending == 0
        assert client.earned == pytest.approx(5.0, rel=1e-12)
    assert [request for _, request in served.fake.seen if "upload" in request] == [
        "PUT rounds/1/upload"
    ]
    served.fake.terms["cost_limit"] = 0.5  # from now on
    with pytest.raises(incfed.InputError, match=r"cost: got 1, must be at most 0\.5"):
        incfed.Client(url, "token-0", tmp_path / "shop", cost=1)


def test_the_log_says_who_and_what(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(Fake(1, 2)) as (url, served):
        policy = Once(lambda: 1 / 0, 1.0)
        with incfed.Client(url, "token-0", tmp_path, cost=policy) as client:
            client._durable.learn(rows_of_two(), 1.0)
            with pytest.raises(ZeroDivisionError):
                client.sync(SOON)
            served.before = lambda *request: (403, {"field": "Authorization", "message": "no"})
            with pytest.raises(ServiceError):
                client.sync(SOON)
    said = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert said[0] == "incfed client client-0: preparing the upload to round 1: division by zero"
    # which request is the next one depends on when the client looks
    assert re.match(r"incfed client client-0: request '(state|poll)': the coordinator ref", said[1])
