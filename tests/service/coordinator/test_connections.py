"""Callers without a token, over real sockets: whatever they send, or do not send, the coordinator
answers the others."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from incfed.service.coordinator import connections
from incfed.service.coordinator.admission import Visit
from incfed.service.coordinator.connections import RESERVED
from incfed.support.addresses import caller, is_loopback
from support.coordinator_app import Site
from support.live_coordinator import SETTINGS, live
from support.serving import serving

HALF = b"GET /healthz HTTP/1.1\r\nHost: here\r\n"
SOON = 20.0  # seconds: long before any of this would end by itself


@contextmanager
def site(folder: Path, **server: Any) -> Iterator[Site]:
    made = Site(folder, **server)
    with serving(made.app) as address, made.http:
        made.http.base_url = httpx.URL(address)
        yield made
    made.store.close()


def connect(site: Site, sent: bytes = b"") -> socket.socket:
    base = site.http.base_url
    wire = socket.create_connection((base.host, base.port or 0), timeout=SOON)
    wire.sendall(sent)
    return wire


def head(site: Site, *more: str, method: str = "PUT", path: str = "/v1/rounds/1/upload") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: here", "Incfed-Protocol: 1", *more, "", ""]
    return "\r\n".join(lines).encode()


def bearer(site: Site, client: int = 0) -> str:
    return f"Authorization: Bearer {site.tokens[client]}"


def is_closed(wire: socket.socket) -> bool:
    """Closed without a word."""
    try:
        return wire.recv(1) == b""
    except ConnectionResetError:
        return True


def answer(wire: socket.socket) -> tuple[int, dict[str, Any]]:
    """The status, and the JSON, of the next answer."""
    said = b""
    while b"\r\n\r\n" not in said:
        said += (part := wire.recv(4096))
        assert part, said
    top, _, body = said.partition(b"\r\n\r\n")
    lengths = [line for line in top.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2])
    while len(body) < length:
        body += (part := wire.recv(4096))
        assert part, said
    return int(top.split()[1]), json.loads(body)


def test_half_sent_requests_do_not_stop_it(tmp_path: Path) -> None:
    """More of them than the process may open files."""
    files = RESERVED + 64
    with live(tmp_path, 1, SETTINGS) as coordinator, ExitStack() as stack:
        coordinator.start(files=files)
        place = ("127.0.0.1", coordinator.port)
        for _ in range(files + 20):
            wire = stack.enter_context(socket.create_connection(place, timeout=SOON))
            wire.sendall(HALF)
        headers = {"Authorization": f"Bearer {coordinator.tokens[0]}", "Incfed-Protocol": "1"}
        for path in ("/healthz", "/v1/state"):
            asked = httpx.get(f"{coordinator.url}{path}", headers=headers, timeout=SOON)
            assert asked.status_code == 200
        assert len(coordinator.logged("too many connections")) == 1


@pytest.mark.parametrize("sent", [b"", HALF, b"G"])
def test_a_head_has_to_come_in_time(tmp_path: Path, sent: bytes) -> None:
    with site(tmp_path, header_time=0.2) as made, connect(made, sent) as wire:
        assert is_closed(wire)


def drips_until_closed(wire: socket.socket) -> bool:
    end = time.monotonic() + SOON
    try:
        while time.monotonic() < end:
            wire.sendall(b"G")
            time.sleep(0.05)
    except ConnectionError:
        return True
    return False


def test_a_dripping_head_is_late_too(tmp_path: Path) -> None:
    """Also that of a second request, on a connection that is kept."""
    with site(tmp_path, header_time=1.0) as made:
        for first in (b"", HALF + b"\r\n"):
            with connect(made, first) as wire:
                if first:
                    assert answer(wire)[0] == 200
                assert drips_until_closed(wire)


def test_a_body_has_to_come_in_time(tmp_path: Path) -> None:
    kind = "Content-Type: application/json"
    with site(tmp_path, body_time=0.3) as made:
        sent = head(made, bearer(made), kind, "Content-Length: 100") + b'{"epoch":'
        with connect(made, sent) as wire:
            status, said = answer(wire)
            assert (status, said["field"]) == (408, "body")
            assert said["message"] == "must be sent within 0.3 seconds"
            assert is_closed(wire)


@pytest.mark.parametrize("token", ["Authorization: Bearer wrong", "X-Nothing: here"])
def test_the_token_is_checked_before_the_body_is_read(
    tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LINGER", 0.1)
    with site(tmp_path) as made:
        sent = head(made, token, "Content-Type: application/json", "Content-Length: 4000")
        with connect(made, sent) as wire:
            assert answer(wire)[0] == 401  # nothing of the body was sent
            assert is_closed(wire), "nor is it waited for"


def test_who_sent_the_rest_of_a_refused_body_may_ask_again_but_not_wait_for_ever(
    tmp_path: Path,
) -> None:
    with site(tmp_path, header_time=1.0) as made:
        sent = head(made, "Content-Type: application/json", "Content-Length: 4")
        with connect(made, sent) as wire:
            assert answer(wire)[0] == 401
            wire.sendall(b"1234" + HALF + b"\r\n")
            assert answer(wire)[0] == 200
        with connect(made, sent) as wire:
            assert answer(wire)[0] == 401
            wire.sendall(b"1234")
            assert is_closed(wire)


def test_who_does_not_read_its_answers_is_closed(tmp_path: Path) -> None:
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n"
    with (
        site(tmp_path, body_time=0.3) as made,
        connect(made) as wire,
        pytest.raises(ConnectionError),
    ):
        wire.sendall(asked * 100_000)


def test_connections_of_an_address(tmp_path: Path) -> None:
    with site(tmp_path, connections_per_address=2, proxies=()) as made, ExitStack() as stack:
        two = [stack.enter_context(connect(made, HALF)) for _ in range(2)]
        third = stack.enter_context(connect(made))
        assert is_closed(third)
        two[0].close()
        while True:  # until that is noticed
            with connect(made, HALF + b"\r\n") as wire:
                if not is_closed(wire):
                    break
        two[1].sendall(b"\r\n")
        assert answer(two[1])[0] == 200


def test_a_proxy_may_have_more(tmp_path: Path) -> None:
    with site(tmp_path, connections_per_address=1) as made, ExitStack() as stack:
        for wire in [stack.enter_context(connect(made, HALF + b"\r\n")) for _ in range(4)]:
            assert answer(wire)[0] == 200


def test_idle_connections_give_way_and_requests_in_progress_do_not(tmp_path: Path) -> None:
    with site(tmp_path, connections=3) as made, ExitStack() as stack:
        version = made(0, "GET", "/v1/state").json()["version"]
        made.http.close()  # that connection is idle now, too
        path = f"/v1/state?after={version}&wait=30"
        poll = stack.enter_context(connect(made, head(made, bearer(made), method="GET", path=path)))
        while not any(one.polls for one in in_progress(made)):
            time.sleep(0.01)
        others = [stack.enter_context(connect(made, HALF)) for _ in range(8)]
        for wire in others[:6]:
            assert is_closed(wire)
        for wire in others[6:]:
            wire.sendall(b"\r\n")
            assert answer(wire)[0] == 200
        open_round(made)
        status, said = answer(poll)
        assert (status, said["round"]["stage"]) == (200, "open")


def in_progress(site: Site) -> list[Visit]:
    return list(site.app.state.services.admission._visits.get(0, ()))


def open_round(site: Site) -> None:
    with httpx.Client(base_url=site.http.base_url, timeout=SOON) as http:
        headers = {"Authorization": f"Bearer {site.tokens[1]}", "Incfed-Protocol": "1"}
        assert http.post("/v1/rounds", headers=headers).status_code == 200


AMBIGUOUS = [
    (["Content-Length: 2", "Transfer-Encoding: chunked"], "Content-Length"),
    (["Content-Length: 2", "Content-Length: 3"], "Content-Length"),
    (["Content-Length: 2x"], "Content-Length"),
    (["Authorization: Bearer another"], "Authorization"),
    (["Incfed-Protocol: 2"], "Incfed-Protocol"),
    (["Incfed-Start: 1-00000000", "Incfed-Start: 2-00000000"], "Incfed-Start"),
    (["Incfed-Signature: YQ==", "Incfed-Signature: Yg=="], "Incfed-Signature"),
    (["a header without a colon"], "request"),
]


@pytest.mark.parametrize(("lines", "field"), AMBIGUOUS)
def test_what_could_be_understood_in_two_ways_is_refused(
    tmp_path: Path, lines: list[str], field: str, caplog: pytest.LogCaptureFixture
) -> None:
    with site(tmp_path) as made:
        for _ in range(3):
            with connect(made, head(made, bearer(made), *lines) + b"{}") as wire:
                status, said = answer(wire)
                assert (status, said["field"]) == (400, field)
                assert is_closed(wire)
        assert f'incfed_refused_total{{field="{field}"}} 3.0' in made.http.get("/metrics").text
    lines = [one.getMessage() for one in caplog.records if one.name == "incfed.service"]
    assert lines.count("malformed requests") == 1, "one line a burst"


def test_whose_an_address_is() -> None:
    assert caller("192.0.2.7") == "192.0.2.7" == caller("::ffff:192.0.2.7")
    assert caller("2001:db8::1") == caller("2001:db8::ffff:1") != caller("2001:db8:0:1::1")
    assert caller("unknown") == "unknown"
    near = ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "a.localhost")
    assert all(is_loopback(host) for host in near)
    far = ("0.0.0.0", "::", "192.0.2.7", "example.org", "localhost.example.org")
    assert not any(is_loopback(host) for host in far)
