"""A stand-in for GroupLens on this machine; no test by itself."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAME = "ml-latest-small"


class Server(ThreadingHTTPServer):
    """Serves `files`; `cut` bytes are left off at the end of an archive, or it waits halfway."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut = 0
        self.wait = threading.Event()
        self.wait.set()
        self.half_sent = threading.Event()
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/datasets"

    def offer(self, archive: bytes, name: str = NAME, md5: str | None = None) -> None:
        md5 = md5 or hashlib.md5(archive).hexdigest()
        self.files[f"/datasets/{name}.zip"] = archive
        self.files[f"/datasets/{name}.zip.md5"] = f"MD5 ({name}.zip) = {md5}\n".encode()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not self.path.endswith(".zip"):
            self.wfile.write(body)
            return
        body = body[: len(body) - self.server.cut]
        half = len(body) // 2
        self.wfile.write(body[:half])
        self.server.half_sent.set()
        self.server.wait.wait(60)
        with suppress(ConnectionError):  # whoever asked has left
            self.wfile.write(body[half:])

    def log_message(self, *given: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.wait.set()
        server.shutdown()
        thread.join()


def archive(folder: Path, top: str = NAME, **more: str) -> bytes:
    """A release, packed as GroupLens does."""
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.mkdir(top)
        for name, text in {**files, "README.txt": "terms", **more}.items():
            packed.writestr(f"{top}/{name}", text)
    return made.getvalue()
