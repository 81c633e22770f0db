"""A caller without a token, or a member, wants to stop the coordinator or to look behind it.

Attackers call from other addresses of the loopback than honest clients do.
"""

from __future__ import annotations

import json
import math
import socket
import stat
import threading
import time
from contextlib import ExitStack, suppress

import httpx
import numpy as np

from federation import ELSEWHERE, Attacker, Federation, attacker
from outcome import Attack, Outcome

MANY = 1_100  # connections: more than there are files
SPAM = 5.0  # seconds
GANG, MADE_UP = 8, 10  # members that agree; steps that each makes up before a call
SLOW = 5.0  # seconds that an honest request may take meanwhile, on a busy machine
DRIP = 15.0  # seconds; a head has to come in 10
BODY = 5.0  # seconds that a body may take here
STRANGE = ("NaN", "Infinity", "1e400", "-1", "null", "[]", "{}", '"\\ud800"', "true", "0.5",
           str(2**63))  # fmt: skip


def waits(seconds: float) -> str:
    return "nobody is answered" if math.isinf(seconds) else f"honest requests take {seconds:.2f} s"


def half_sent(federation: Federation, addresses: list[str]) -> Outcome:
    with ExitStack() as sockets:
        opened = 0
        for n in range(MANY):
            with suppress(OSError):
                one = federation.connect(addresses[n % len(addresses)], timeout=2.0)
                sockets.enter_context(one)
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-")
                opened += 1
        longest = federation.longest_wait()
        newcomer = federation.answers(5.0)
    cost = waits(longest) + ("" if newcomer else "; newcomers are not answered")
    return Outcome(f"{opened:,} connections", cost, longest < SLOW and newcomer)


def half_sent_requests(federation: Federation) -> Outcome:
    return half_sent(federation, [ELSEWHERE])


def half_sent_from_many(federation: Federation) -> Outcome:
    return half_sent(federation, [f"127.0.0.{n}" for n in range(2, 12)])


def dripping(federation: Federation) -> Outcome:
    """A byte a second: heads, and bodies of a member."""
    member = f"Authorization: Bearer {federation.token}\r\nIncfed-Protocol: 1\r\n"
    begun = {
        "heads": b"GET /healthz HTTP/1.1\r\nX-",
        "bodies": b"PUT /v1/rounds/1/upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/json"
        b"\r\nContent-Length: 1000\r\n" + member.encode() + b"\r\n",
    }
    open: list[tuple[str, socket.socket]] = []
    with ExitStack() as sockets:
        for kind, sent in begun.items():
            for _ in range(5):
                one = sockets.enter_context(federation.connect())
                one.sendall(sent)
                one.settimeout(0.0)
                open.append((kind, one))
        end = time.monotonic() + DRIP
        while open and time.monotonic() < end:
            open = [(kind, one) for kind, one in open if _drip(one)]
            time.sleep(1.0)
        left = [kind for kind, _ in open]
    cost = f"{left.count('heads')} heads and {left.count('bodies')} bodies of 5 are still awaited"
    return Outcome(f"10 connections for {DRIP:.0f} s", cost, not left)


def _drip(one: socket.socket) -> bool:
    """Is it still listened to?"""
    try:
        one.sendall(b" ")
        return one.recv(65_536).startswith(b"HTTP/1.1 100")
    except BlockingIOError:  # no answer yet
        return True
    except OSError:
        return False


def endless_bodies(federation: Federation, token: str, most: float) -> Outcome:
    """All of each but the last byte."""
    before, highest = federation.memory(), 0.0
    head = b"PUT /v1/rounds/1/upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {token}\r\nIncfed-Protocol: 1\r\n".encode()
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    sent = 0
    with ExitStack() as sockets:
        for _ in range(60):
            one = sockets.enter_context(federation.connect(timeout=1.0))
            with suppress(OSError):
                one.sendall(head + b"7a1200\r\n" + b" " * 7_999_999)
                sent += 1
            highest = max(highest, federation.memory())
    grown = max(0.0, highest - before)
    return Outcome(f"60 bodies of 8 MB, {sent} sent", f"{grown:.0f} MiB of memory", grown < most)


def endless_bodies_of_nobody(federation: Federation) -> Outcome:
    return endless_bodies(federation, "wrong", 100.0)


def endless_bodies_of_a_member(federation: Federation) -> Outcome:
    return endless_bodies(federation, federation.token, 250.0)  # eight requests at a time


def bad_tokens(federation: Federation) -> Outcome:
    refused: dict[int, int] = {}
    elsewhere = httpx.HTTPTransport(local_address=ELSEWHERE)
    with httpx.Client(base_url=federation.url, transport=elsewhere) as client:
        for number in range(1_000):
            headers = {"Authorization": f"Bearer {number}", "Incfed-Protocol": "1"}
            status = client.get("/v1/state", headers=headers).status_code
            refused[status] = refused.get(status, 0) + 1
    lines = sum("invalid tokens" in line for line in federation.log().splitlines())
    shown = ", ".join(f"{count} x {status}" for status, count in sorted(refused.items()))
    held = refused.get(401, 0) <= 60 and set(refused) == {401, 429} and lines <= 2
    return Outcome(f"1,000 requests: {shown}", f"{lines} lines of log", held)


def ambiguous_requests(federation: Federation) -> Outcome:
    good = f"Authorization: Bearer {federation.token}\r\nIncfed-Protocol: 1\r\n"
    typed = f"{good}Content-Type: application/json\r\n"
    twice = '{"attempt": 1, "accepted": true, "accepted": false}'
    nested = '{"epoch": 0, "steps": 1, "cost": 1.0, "dV": {"form": "factor", "form": "factor"}}'
    requests = [
        f"POST /v1/rounds HTTP/1.1\r\nHost: a\r\n{good}Content-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"POST /v1/rounds HTTP/1.1\r\nHost: a\r\n{good}Content-Length: 5\r\n"
        "Content-Length: 6\r\n\r\nabcdef",
        f"POST /v1/rounds HTTP/1.1\r\nHost: a\r\n{good}Transfer-Encoding: identity, chunked\r\n\r\n"
        "0\r\n\r\n",
        f"POST /v1/rounds HTTP/1.1\r\nHost: a\r\n{good}Content-Length : 5\r\n\r\nabcde",
        f"POST /v1/rounds HTTP/1.1\r\nHost: a\r\n{good}X: a\r\n folded: b\r\nContent-Length: +5\r\n"
        "\r\nabcde",
        f"GET /v1/state HTTP/1.1\r\nHost: a\r\n{good}Authorization: Bearer other\r\n\r\n",
        f"GET /v1/state HTTP/1.1\r\nHost: a\r\nHost: b\r\n{good}\r\n",
        f"PUT /v1/rounds/1/answer HTTP/1.1\r\nHost: a\r\n{typed}"
        f"Content-Length: {len(twice)}\r\n\r\n{twice}",
        f"PUT /v1/rounds/1/upload HTTP/1.1\r\nHost: a\r\n{typed}"
        f"Content-Length: {len(nested)}\r\n\r\n{nested}",
    ]
    taken = 0
    for request in requests:
        with federation.connect() as one:
            one.sendall(request.encode())
            status = one.recv(65_536).split(b" ", 2)[1:2]
            taken += status not in ([b"400"], [b"401"], [b"422"], [b"501"])
    return Outcome(f"{len(requests)} requests", f"{taken} of them are taken", not taken)


def looking_around(federation: Federation) -> Outcome:
    hidden = ["metrics", "docs", "openapi.json", "redoc", "console", "console/api/me"]
    ways = ["/{}", "//{}", "/v1/../{}", "/v1/%2e%2e/{}", "/./{}", "http://a/{}", "/v1/..%2f{}",
            "/healthz/../{}", "/%2f{}", "/;/{}"]  # fmt: skip
    paths = [way.format(one) for way in ways for one in hidden]
    paths += ["/%6d%65trics", "/METRICS", "/metrics/", "/metrics?", "/metrics%00", "/v1/%00"]
    seen = []
    for path in paths:
        for method in ("GET", "HEAD"):
            with federation.connect() as one:
                one.sendall(f"{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
                if one.recv(65_536).split(b" ", 2)[1][:1] not in (b"4", b"3"):
                    seen.append(path)
    return Outcome(f"{2 * len(paths)} requests", f"seen: {', '.join(seen) or 'nothing'}", not seen)


def strange_messages(federation: Federation) -> Outcome:
    """What no client sends, by a member: every answer names a fault of the sender."""
    upload = {"epoch": 0, "steps": 1, "cost": 1.0, "dV": {"form": "factor", "numbers": ""}}
    strange = [*STRANGE, "[" * 4_000, '{"a":' * 700, "1" * 4_000, "-" + "9" * 4_000, "\x00"]
    for field in upload:
        rest = json.dumps({key: one for key, one in upload.items() if key != field})
        strange += [f'{rest[:-1]}, "{field}": {value}}}' for value in (*STRANGE, "9" * 3_000)]
    answers: dict[int, int] = {}
    kinds = ["application/json", "application/x-incfed", "text/plain", "multipart/form-data", ""]
    paths = [f"/v1/rounds/{n}/{what}" for n in (1, 2**31, -1) for what in
             ("upload", "answer", "delivery")] + ["/v1/state", "/v1/key"]  # fmt: skip
    auth = {"Authorization": f"Bearer {federation.token}", "Incfed-Protocol": "1"}
    elsewhere = httpx.HTTPTransport(local_address=ELSEWHERE)
    with httpx.Client(base_url=federation.url, transport=elsewhere, timeout=30.0) as client:
        for number, text in enumerate(strange):
            path, kind = paths[number % len(paths)], kinds[number // 3 % len(kinds)]
            for one, what in ((path, kind), (paths[0], kinds[0])):
                headers = auth | {"Content-Type": what}
                status = client.put(one, headers=headers, content=text.encode()).status_code
                answers[status] = answers.get(status, 0) + 1
        for name in ("Incfed-Start", "Incfed-History", "Incfed-Signature", "Incfed-Protocol"):
            for value in (
                "",
                "-",
                "1-",
                "9" * 19 + "-0123abcd",
                "0-" + "0" * 64,
                "\xff",
                "A" * 9_000,
            ):
                headers = {**auth, name: value.encode("latin-1")}
                status = client.get("/v1/state", headers=headers).status_code
                answers[status] = answers.get(status, 0) + 1
    sent, wrong = sum(answers.values()), sum(n for code, n in answers.items() if code >= 500)
    traces = federation.log().count("Traceback")
    cost = f"{wrong} answered as a fault of the coordinator, {traces} tracebacks in the log"
    return Outcome(f"{sent} messages", cost, not wrong and not traces)


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
    federation.wait(lambda: len(statuses) >= 92, 10.0)
    waiting = len(threads) - len(statuses)
    longest = federation.longest_wait()
    held = longest < SLOW and waiting <= 8
    return Outcome("100 requests", f"{waiting} of 100 are kept waiting; {waits(longest)}", held)


def spam_of_rounds(federation: Federation) -> Outcome:
    with attacker(federation):  # takes part in every round, with nothing
        before, start, calls = len(federation.rounds()), time.monotonic(), 0
        while (seconds := time.monotonic() - start) < SPAM:
            federation.ask("POST", "/v1/rounds")
            calls += 1
    return paced(f"{calls} calls", len(federation.rounds()) - before, seconds)


def rounds_in_turns(federation: Federation) -> Outcome:
    """Each call has a reason: what its caller made up and shares."""
    tokens = [federation.token, *federation.accomplices(GANG - 1)]
    with ExitStack() as members:
        gang = [Attacker(federation, name=f"member {n}", token=one) for n, one in enumerate(tokens)]
        for one in gang:
            members.callback(one.close)
        before, start, calls = len(federation.rounds()), time.monotonic(), 0
        chance = np.random.default_rng(0)
        while (seconds := time.monotonic() - start) < SPAM:
            one = gang[calls % GANG]
            x = chance.standard_normal((MADE_UP, federation.dim))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            one.make_up(x.T @ x, x.sum(axis=0) / MADE_UP, MADE_UP)
            federation.ask("POST", "/v1/rounds", tokens[calls % GANG])
            calls += 1
        opened = len(federation.rounds()) - before
    return paced(f"{GANG} members, {calls} calls", opened, seconds)


def paced(spent: str, rounds: int, seconds: float) -> Outcome:
    rate = rounds / seconds
    return Outcome(spent, f"everybody takes part in {rate:.1f} rounds a second", rate < 4)


def other_users(federation: Federation) -> Outcome:
    """Of the same machine: may they read the files?"""
    files = [*federation.folder.glob("federation.db*"), *federation.folder.glob("honest-*/**/*")]
    others = stat.S_IRWXG | stat.S_IRWXO
    open = [one.name for one in files if one.is_file() and one.stat().st_mode & others]
    return Outcome(
        f"a look at {len(files)} files", f"readable: {', '.join(open) or 'none'}", not open
    )


ATTACKS = [
    Attack(f"{MANY:,} half-sent requests from one address", half_sent_requests, honest=1,
           lifted=False),
    Attack(f"{MANY:,} half-sent requests from ten addresses", half_sent_from_many, honest=1,
           lifted=False),
    Attack("a byte a second, of heads and of bodies", dripping, server=f"body_time = {BODY}",
           honest=1),
    Attack("60 endless bodies with a wrong token", endless_bodies_of_nobody, dim=1_000, honest=0,
           lifted=False),
    Attack("60 endless bodies with a member's token", endless_bodies_of_a_member, dim=1_000,
           honest=0),
    Attack("1,000 guessed tokens", bad_tokens, honest=1),
    Attack("requests with two meanings", ambiguous_requests, honest=1, lifted=False),
    Attack("messages that make no sense", strange_messages, honest=1, lifted=False),
    Attack("metrics, documentation and console by any path", looking_around, honest=0,
           lifted=False),
    Attack("100 long polls of one member at a time", many_polls, honest=1),
    Attack("calls for a round, without pause, by a member without data", spam_of_rounds),
    Attack(f"calls for a round by {GANG} members in turn, each with made-up data", rounds_in_turns),
    Attack("the database and clients' folders, read by other users", other_users,
           honest=1, lifted=False),
]  # fmt: skip
