"""Sessions of operators: a signed cookie that expires, which every coordinator of the federation
accepts. Nothing of it is kept on the server but the key.

It names the operator only. What that operator may do is looked up at each request: who is revoked
is out at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

COOKIE = "incfed_session"
LASTS = 12 * 3600.0  # seconds
ATTEMPTS, PERIOD = 10, 60.0  # logins that may fail from one address in so many seconds
REMEMBERED = 10_000  # addresses


def sign(key: bytes, name: str, now: float) -> str:
    """The cookie of an operator who has logged in."""
    body = json.dumps({"name": name, "until": now + LASTS}, separators=(",", ":")).encode()
    return f"{_text(body)}.{_text(_mac(key, body))}"


def read(key: bytes, cookie: str, now: float) -> str | None:
    """The operator's name; None if the cookie is not ours, or has expired."""
    try:
        body, mac = (_bytes(part) for part in cookie.split("."))
        if not hmac.compare_digest(mac, _mac(key, body)):
            return None
        said: dict[str, Any] = json.loads(body)
        return str(said["name"]) if now < float(said["until"]) else None
    except (ValueError, KeyError, TypeError):
        return None


class Attempts:
    """Logins that failed, by address: after too many, one has to wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()  # requests run in threads
        self._failed: dict[str, deque[float]] = {}

    def wait(self, address: str) -> float:
        """Seconds until this address may try again; 0: now."""
        times = self._failed.get(address)
        if times is None or len(times) < ATTEMPTS:
            return 0.0
        return max(0.0, times[0] + PERIOD - self._clock())

    def fail(self, address: str) -> None:
        with self._lock:
            self._note(address)

    def _note(self, address: str) -> None:
        if address not in self._failed and len(self._failed) >= REMEMBERED:
            self._failed.pop(next(iter(self._failed)))
        self._failed.setdefault(address, deque(maxlen=ATTEMPTS)).append(self._clock())


def _mac(key: bytes, body: bytes) -> bytes:
    return hmac.new(key, b"incfed console session\0" + body, hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
