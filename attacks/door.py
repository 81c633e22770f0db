"""A caller without a token, or with one that is no member's, wants to stop the coordinator."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, suppress

import httpx

from federation import Federation, attacker
from outcome import Attack, Outcome

SPAM = 5.0  # seconds
PATIENCE = 20.0  # seconds in which others must be answered


def half_sent_requests(federation: Federation) -> Outcome:
    with ExitStack() as sockets:
        opened = 0
        for _ in range(1_100):
            with suppress(OSError):
                one = socket.create_connection(("127.0.0.1", federation.port), timeout=2.0)
                sockets.enter_context(one)
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-")
                opened += 1
        start = time.monotonic()
        held = federation.wait(lambda: federation.answers(5.0), PATIENCE)
        took = time.monotonic() - start
    cost = f"others wait {took:.1f} s" if held else "nobody is answered"
    return Outcome(f"{opened} connections", cost, held)


def endless_bodies(federation: Federation) -> Outcome:
    before, most = federation.memory(), 0.0
    head = b"PUT /v1/rounds/1/upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    head += b"Authorization: Bearer wrong\r\nTransfer-Encoding: chunked\r\n\r\n"
    with ExitStack() as sockets:
        for _ in range(60):  # all of it but the last byte
            one = socket.create_connection(("127.0.0.1", federation.port), timeout=1.0)
            sockets.enter_context(one)
            with suppress(OSError):
                one.sendall(head + b"7a1200\r\n" + b" " * 7_999_999)
            most = max(most, federation.memory())
    grown = max(0.0, most - before)
    return Outcome("60 bodies of 8 MB", f"{grown:.0f} MiB of memory", grown < 100)


def bad_tokens(federation: Federation) -> Outcome:
    lines = federation.log().count("\n")
    refused: dict[int, int] = {}
    with httpx.Client(base_url=federation.url) as client:
        for number in range(1_000):
            headers = {"Authorization": f"Bearer {number}", "Incfed-Protocol": "1"}
            status = client.get("/v1/state", headers=headers).status_code
            refused[status] = refused.get(status, 0) + 1
    written = federation.log().count("\n") - lines
    held = 200 not in refused and 429 in refused and written < 100
    shown = ", ".join(f"{count} x {status}" for status, count in sorted(refused.items()))
    return Outcome(shown, f"{written} lines of log", held)


def ambiguous_requests(federation: Federation) -> Outcome:
    good = f"Authorization: Bearer {federation.token}\r\nIncfed-Protocol: 1\r\n"
    body = '{"attempt": 1, "accepted": true, "accepted": false}'
    requests = [
        f"POST /v1/rounds HTTP/1.1\r\nHost: a\r\n{good}Content-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"GET /v1/state HTTP/1.1\r\nHost: a\r\n{good}Authorization: Bearer other\r\n\r\n",
        f"PUT /v1/rounds/1/answer HTTP/1.1\r\nHost: a\r\n{good}Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}",
    ]
    taken = 0
    for request in requests:
        with socket.create_connection(("127.0.0.1", federation.port), timeout=10.0) as one:
            one.sendall(request.encode())
            status = one.recv(65_536).split(b" ", 2)[1:2]
            taken += status not in ([b"400"], [b"401"], [b"422"])
    return Outcome(f"{taken} of {len(requests)} taken", "none", not taken)


def looking_around(federation: Federation) -> Outcome:
    paths = ["/metrics", "/docs", "/openapi.json", "/redoc"]
    seen = [path for path in paths if httpx.get(federation.url + path).is_success]
    return Outcome(", ".join(seen) or "nothing", "budget and interface are seen", not seen)


def many_polls(federation: Federation) -> Outcome:
    statuses: list[int] = []

    def poll() -> None:
        with suppress(httpx.HTTPError):
            version = 10**9  # news that never comes
            path = f"/v1/state?after={version}&wait=25"
            statuses.append(federation.ask("GET", path).status_code)

    threads = [threading.Thread(target=poll, daemon=True) for _ in range(100)]
    for thread in threads:
        thread.start()
    federation.wait(lambda: len(statuses) > 80, 5.0)
    waiting = len(threads) - len(statuses)
    held = federation.answers(5.0) and waiting < 20
    return Outcome("100 long polls of one token", f"{waiting} wait, {len(statuses)} answered", held)


def spam_of_rounds(federation: Federation) -> Outcome:
    with attacker(federation):  # takes part in every round, with nothing
        before, start = len(federation.rounds()), time.monotonic()
        while (seconds := time.monotonic() - start) < SPAM:
            federation.ask("POST", "/v1/rounds")
    rate = (len(federation.rounds()) - before) / seconds
    return Outcome(f"{rate:.1f} rounds a second", "everybody takes part in each", rate < 4)


ATTACKS = [
    Attack("1,100 half-sent requests", half_sent_requests),
    Attack("60 endless bodies with a wrong token", endless_bodies, dim=1_000, honest=0),
    Attack("1,000 guessed tokens", bad_tokens),
    Attack("requests with two meanings", ambiguous_requests),
    Attack("metrics and documentation of the interface", looking_around),
    Attack("100 long polls of one member at a time", many_polls),
    Attack("calls for a round, without pause, by a member without data", spam_of_rounds),
]
