"""The public Client over real sockets; and several of them, in step, against the simulator."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.service.client import agent
from incfed.service.client.policies import Proposal, Stake
from incfed.service.client.transport import ServiceError, Unreachable
from incfed.simulation import Simulation
from reference.mechanisms import FloatArray
from support.fake_coordinator import Fake
from support.fake_server import Service, serving

DIM, SOON = 3, 60.0


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "LONGEST_PAUSE", 0.2)
    monkeypatch.setattr(agent, "WAIT", 5.0)


@pytest.fixture
def fake() -> Fake:
    return Fake(1, DIM, threshold=0.5)


@pytest.fixture
def service(fake: Fake) -> Iterator[tuple[str, Service]]:
    with serving(fake) as served:
        yield served


def unit(seed: int) -> FloatArray:
    x = np.random.default_rng(seed).standard_normal(DIM)
    return np.asarray(x / np.linalg.norm(x))


def until(condition: object) -> None:
    end = time.monotonic() + SOON
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.01)


def test_a_round_from_trigger_to_download(service: tuple[str, Service], tmp_path: Path) -> None:
    url, served = service
    with incfed.Client(url, "token-0", tmp_path, cost=2.0) as client:
        assert (client.name, client.dim, client.epoch, client.steps) == ("client-0", DIM, 0, 0)
        arms = np.array([unit(1), unit(2)])
        assert client.choose(arms) in (0, 1)
        client.learn(arms[0], 1.0)  # log(1 + 1 / 0.1) > 0.5
        client.sync(SOON)
        assert (client.epoch, client.pending, client.steps) == (1, 0, 1)
        assert client.earned == pytest.approx(2.0)  # alone: no data to be had for it
        assert client.problem is None
        said = "<Client 'client-0': 1 step learned, 0 not shared, epoch 1, earned 2>"
        assert repr(client) == said
        assert "<b>Client</b>" in client._repr_html_()
    assert repr(client) == "<Client: closed>"
    np.testing.assert_allclose(served.fake.aggregator.server.shared.V, np.outer(arms[0], arms[0]))
    np.testing.assert_allclose(served.fake.aggregator.server.shared.b, arms[0])
    assert not served.fake.violations


def test_every_trigger_wakes_the_thread_that_talks(
    service: tuple[str, Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the step before it, of an epoch ago, had called for a round too."""
    monkeypatch.setattr(agent, "WAIT", 3600.0)  # no poll comes back to help
    with incfed.Client(service[0], "token-0", tmp_path) as client:
        for epoch in range(1, 4):
            client.learn(unit(epoch), 1.0)
            until(lambda epoch=epoch: client.epoch == epoch)


def test_scalars_and_bytes(service: tuple[str, Service], tmp_path: Path) -> None:
    """The paper's: d^2 and d up, d^2 + d down. The wire's: what the server saw."""
    url, served = service
    with incfed.Client(url, "token-0", tmp_path) as client:
        client.learn(unit(0), 1.0)
        client.sync(SOON)
        assert client.traffic.scalars_up == DIM**2 + DIM
        assert client.traffic.scalars_down == DIM**2 + DIM
        until(lambda: client.traffic.requests == len(served.heads))  # the poll waits there
        until(lambda: client.traffic.bytes_sent == served.received)
        until(lambda: client.traffic.bytes_received == served.sent)
    assert all(head["Incfed-Protocol"] == "1" for head in served.heads)


def test_it_learns_alone_while_the_coordinator_is_away(fake: Fake, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with serving(fake, port) as (url, _):
        incfed.Client(url, "token-0", tmp_path).close()
    with incfed.Client(url, "token-0", tmp_path) as client:
        for k in range(20):
            client.learn(unit(k), 0.5)
            client.choose([unit(k)])
        until(lambda: client.problem is not None)
        with pytest.raises(TimeoutError, match="last problem"):
            client.sync(0.3)
        assert isinstance(client.problem, Unreachable)
        assert client.pending == 20
        with serving(fake, port):
            client.sync(SOON)
            assert client.pending == 0
            assert fake.steps_given == [20]
            assert client.problem is None


def test_the_first_start_needs_the_coordinator(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1/"):
        incfed.Client("http://127.0.0.1:1", "token-0", tmp_path)
    assert not (tmp_path / "snapshot").exists()


def test_others_hear_of_a_round_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Client 1 does nothing at all, and is in the round all the same."""
    monkeypatch.setattr(agent, "WAIT", 3600.0)  # not by the end of a poll
    fake = Fake(2, DIM)
    with serving(fake) as (url, _):
        first = incfed.Client(url, "token-0", tmp_path / "0")
        second = incfed.Client(url, "token-1", tmp_path / "1")
        with first, second:
            first.learn(unit(0), 1.0)
            first.sync(SOON)
            until(lambda: second.epoch == 1)
            second.sync(SOON)
            assert second.traffic.scalars_up == DIM**2 + DIM  # of those with nothing to share


def test_what_is_learned_meanwhile_belongs_to_the_next_round(tmp_path: Path) -> None:
    fake = Fake(2, DIM)
    with serving(fake) as (url, served), incfed.Client(url, "token-0", tmp_path) as client:
        client.learn(unit(0), 1.0)
        until(lambda: fake.round is not None and 0 in fake.round.uploads)
        client.learn(unit(1), 1.0)
        with pytest.raises(TimeoutError):
            client.sync(0.2)  # the other one is silent
        served.deadline()
        until(lambda: fake.epoch >= 1)
        assert fake.closed[0].participants == [0]
        until(lambda: client.epoch == 1)
        assert fake.steps_given[0] == 1
        until(lambda: client.pending == 1)


def test_policies(service: tuple[str, Service], tmp_path: Path) -> None:
    stakes: list[Stake] = []
    offers: list[Proposal] = []

    def cost(stake: Stake) -> float:
        stakes.append(stake)
        return 7.0

    def accept(offer: Proposal) -> bool:
        offers.append(offer)
        return len(offers) > 1

    with incfed.Client(service[0], "token-0", tmp_path, cost=cost, accept=accept) as client:
        client.learn(unit(0), 1.0)
        client.sync(SOON)
        assert stakes[0][:2] == (1, 1)
        assert stakes[0].value == pytest.approx(np.log(1 + 1 / 0.1))
        assert [offer._replace(payment=7.0) for offer in offers] == [
            Proposal(round=1, attempt=1, payment=7.0, cost=7.0, steps=1)
        ]
        assert offers[0].payment == pytest.approx(7.0, rel=1e-12)  # alone: data is worth nothing
        assert (client.epoch, client.pending, client.earned) == (1, 1, 0.0)  # it said no
        client.learn(unit(1), 1.0)
        client.sync(SOON)
        assert stakes[1].steps == 2
        assert client.pending == 0
        assert client.earned == pytest.approx(7.0, rel=1e-12)


@pytest.mark.parametrize("wrong", [float("nan"), -1.0, "dear", None, 1e301])
def test_a_cost_that_is_none_is_raised_by_sync(
    wrong: object, service: tuple[str, Service], tmp_path: Path
) -> None:
    answers = [wrong, 1.0]

    def cost(stake: Stake) -> float:
        return answers.pop(0) if len(answers) > 1 else answers[0]  # type: ignore[return-value]

    with incfed.Client(service[0], "token-0", tmp_path, cost=cost) as client:
        client.choose([unit(0)])
        client._durable.learn(unit(0), 1.0)  # without waking the thread that talks
        with pytest.raises(incfed.InputError, match="cost"):
            client.sync(SOON)
        client.sync(SOON)
        assert client.pending == 0


def test_a_refused_token(service: tuple[str, Service], tmp_path: Path) -> None:
    url, served = service
    with pytest.raises(ServiceError, match=r"401.*Authorization") as refused:
        incfed.Client(url, "secret-word", tmp_path / "new")
    assert refused.value.status == 401
    assert "secret-word" not in str(refused.value)
    with incfed.Client(url, "token-0", tmp_path / "old") as client:
        served.before = lambda *request: (403, {"field": "Authorization", "message": "revoked"})
        with pytest.raises(ServiceError, match="revoked"):
            client.sync(SOON)
        client.learn(unit(0), 1.0)
        served.before = lambda *request: None
        client.sync(SOON)
        assert client.pending == 0


def test_a_refused_upload_is_said_and_tried_in_the_next_round(
    service: tuple[str, Service], tmp_path: Path
) -> None:
    url, served = service
    with incfed.Client(url, "token-0", tmp_path) as client:
        served.before = lambda who, method, path: (
            (422, {"field": "cost", "message": "absurd"}) if "upload" in path else None
        )
        client._durable.learn(unit(0), 1.0)
        with pytest.raises(ServiceError, match="cost: absurd"):
            client.sync(SOON)
        served.before = lambda *request: None
        served.deadline()
        until(lambda: client.epoch == 1)
        client.learn(unit(1), 1.0)
        client.sync(SOON)
        assert served.fake.steps_given == [2]


@pytest.mark.parametrize(
    "nonsense", [(200, b"{"), (200, []), (200, {"version": "x"}), (0, None), (500, b""), (302, b"")]
)
def test_nonsense_from_the_other_side_is_survived(
    nonsense: tuple[int, object], service: tuple[str, Service], tmp_path: Path
) -> None:
    url, served = service
    left = [3]

    def garble(who: int, method: str, path: str) -> object:
        left[0] -= 1
        return nonsense if left[0] >= 0 else None

    with incfed.Client(url, "token-0", tmp_path) as client:
        served.before = garble
        client.learn(unit(0), 1.0)
        for _ in range(6):  # a refusal is raised, the rest is tried again
            try:
                client.sync(SOON)
                break
            except ServiceError:
                continue
        assert client.pending == 0
    assert not served.fake.violations


def test_close_does_not_wait_for_a_poll(
    service: tuple[str, Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "WAIT", 3600.0)
    client = incfed.Client(service[0], "token-0", tmp_path)
    client.sync(SOON)
    until(lambda: client.traffic.requests == len(service[1].heads))  # the poll waits there
    begun = time.monotonic()
    client.close()
    client.close()
    assert time.monotonic() - begun < SOON
    assert not [t for t in threading.enumerate() if t.name.startswith("incfed")]
    for call in (client.sync, lambda: client.learn(unit(0), 1.0), lambda: client.choose([unit(0)])):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    incfed.Client(service[0], "token-0", tmp_path).close()  # the folder is free again


def test_in_a_running_event_loop(service: tuple[str, Service], tmp_path: Path) -> None:
    async def main() -> int:
        with incfed.Client(service[0], "token-0", tmp_path) as client:
            return client.choose([unit(0)])

    assert asyncio.run(main()) == 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_certificates_of_ones_own(fake: Fake, tmp_path: Path) -> None:
    make = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=us"
    subject = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*make.split(), *subject], cwd=tmp_path, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with serving(fake, tls=tls) as (url, _):
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            incfed.Client(url, "token-0", tmp_path / "state")
        with incfed.Client(url, "token-0", tmp_path / "state", ca=tmp_path / "cert") as client:
            client.learn(unit(0), 1.0)
            client.sync(SOON)
            assert client.epoch == 1


@pytest.mark.parametrize("mechanism", [incfed.PaymentEfficient(beta=0.7), incfed.PaymentFree()])
def test_a_trace_over_http(mechanism: incfed.Mechanism, tmp_path: Path) -> None:
    """Participants, payments, communication and (V_g, b_g) equal `simulate`."""
    N, T, K, d = 4, 60, 3, 3
    chance = np.random.default_rng(5)
    arms = chance.standard_normal((T, K, d))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ np.array([0.5, -0.3, 0.2]) + 0.1 * chance.standard_normal((T, 1))
    world = incfed.Trace(chance.integers(0, N, T), arms, rewards, count=N)
    costs = [0.0, 0.4, 1.0, 2.0]
    run = Simulation(world, incfed.IncFedUCB(mechanism=mechanism, threshold=2.0, costs=costs))
    run.advance(T)
    expected = run.result()
    fake = Fake(N, d, mechanism, threshold=2.0, reward_bound=5.0)
    got = []
    with serving(fake) as (url, _), ExitStack() as stack:
        clients = [
            stack.enter_context(incfed.Client(url, f"token-{i}", tmp_path / str(i), cost=costs[i]))
            for i in range(N)
        ]
        for t, who in enumerate(world.clients.tolist()):
            picked = clients[who].choose(arms[t])
            got.append(rewards[t, picked])
            epoch = clients[who].epoch
            clients[who].learn(arms[t, picked], rewards[t, picked])
            clients[who].sync(30.0)
            if clients[who].epoch != epoch:
                for client in clients:
                    client.sync(30.0)
        traffic = [client.traffic for client in clients]
        assert sum(client.earned for client in clients) == pytest.approx(
            expected.payment[-1], abs=1e-9
        )
    np.testing.assert_array_equal(np.cumsum(got), expected.reward)
    rounds = expected.rounds
    assert len(fake.closed) == len(rounds.step) > 5
    for k, record in enumerate(fake.closed):
        place = slice(rounds.offsets[k], rounds.offsets[k + 1])
        assert record.participants == rounds.participants[place].tolist()
        assert record.payments == pytest.approx(rounds.payments[place].tolist(), abs=1e-9)
    scalars = sum(one.scalars_up + one.scalars_down for one in traffic)
    assert scalars == expected.communication[-1]
    np.testing.assert_allclose(fake.aggregator.server.shared.V, run._run.shared.V, atol=1e-9)
    np.testing.assert_allclose(fake.aggregator.server.shared.b, run._run.shared.b, atol=1e-9)
    assert not fake.violations


def test_plain_http_off_loopback_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for url in ("http://192.0.2.1:9", "http://127.0.0.1:1", "https://192.0.2.1:9"):
        with pytest.raises(Unreachable):  # where it is sent does not matter
            incfed.Client(url, "token-0", tmp_path / "state", timeout=0.05)
    [warning] = [one.getMessage() for one in caplog.records if "HTTP" in one.getMessage()]
    assert warning.startswith("PLAIN HTTP to http://192.0.2.1:9: anybody on the way can read")
