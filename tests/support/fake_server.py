"""The fake coordinator behind a real socket: the standard library's HTTP server, long polls too."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from incfed.service.binary import MAGIC, PACKED
from support.fake_coordinator import Fake


class Service:
    """`token-<i>` is client i's. `before(who, method, path)` may answer in the fake's place."""

    def __init__(self, fake: Fake) -> None:
        self.fake, self.changed = fake, threading.Condition()
        self.received = self.sent = 0  # bytes
        self.heads: list[dict[str, str]] = []
        self.before: Any = lambda who, method, path: None
        self.running = True

    def answer(self, who: int, method: str, path: str, body: Any) -> tuple[int, Any]:
        query = parse_qs(urlsplit(path).query)
        with self.changed:
            if (instead := self.before(who, method, path)) is not None:
                return instead  # type: ignore[no-any-return]
            if "wait" in query:
                version, end = int(query["after"][0]), time.monotonic() + float(query["wait"][0])
                while self.fake.version == version and time.monotonic() < end and self.running:
                    self.changed.wait(0.2)
            version = self.fake.version
            reply = self.fake.handle(who, method, path, body)
            if self.fake.version != version:
                self.changed.notify_all()
            return reply

    def deadline(self) -> None:
        with self.changed:
            self.fake.deadline()
            self.changed.notify_all()


def handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        raw_requestline: bytes

        def _do(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            head = sum(len(f"{name}: {value}\r\n") for name, value in self.headers.items())
            service.received += len(self.raw_requestline) + head + 2 + len(raw)
            service.heads.append(dict(self.headers))
            scheme, _, token = self.headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or not token.startswith("token-"):
                status, said = 401, {"field": "Authorization", "message": "no such token"}
            elif self.headers.get("Incfed-Protocol") != "1":
                status, said = 400, {"field": "Incfed-Protocol", "message": "1 is spoken here"}
            else:
                who = int(token.removeprefix("token-"))
                packed = self.headers.get("Content-Type") == PACKED
                body = raw if packed else json.loads(raw) if raw else None
                status, said = service.answer(who, self.command, self.path, body)
            if status == 0:  # the connection breaks
                self.close_connection = True
                return
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            kind = PACKED if data.startswith(MAGIC) else "application/json"
            lines = [f"HTTP/1.1 {status} Fine", f"Content-Type: {kind}"]
            lines += [f"Content-Length: {len(data)}", "", ""]
            answer = "\r\n".join(lines).encode() + data
            service.sent += len(answer)
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = _do

        def log_message(self, *args: object) -> None:
            pass

    return Handler


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that is killed leaves its connection as it is


@contextmanager
def serving(
    fake: Fake, port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, Service]]:
    service = Service(fake)
    server = Quiet(("127.0.0.1", port), handler(service))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' * (tls is not None)}://127.0.0.1:{server.server_address[1]}", service
    finally:
        service.running = False
        with service.changed:
            service.changed.notify_all()
        server.shutdown()
        server.server_close()
        thread.join()
