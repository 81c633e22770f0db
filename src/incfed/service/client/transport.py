"""Requests over HTTP, with httpx."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Callable
from typing import Any

from ...protocol.messages import VERSION
from ...support import inputs
from ...support.extras import needs
from ..wire import Request
from .errors import Unreachable, service_error
from .traffic import ByteCounter
from .validation import URL_ALLOWED

LARGEST_REPLY = 2**28  # bytes


class Transport:
    """Sends requests with a client's token and counts bytes. Belongs to one event loop."""

    def __init__(
        self, url: str, token: str, timeout: float, ca: str | None, counter: ByteCounter
    ) -> None:
        with needs("httpx", "a Client", "client"):
            import httpx
        self._httpx = httpx
        self._timeout = timeout
        self._counter = counter
        headers = {"Authorization": f"Bearer {token}", "Incfed-Protocol": str(VERSION)}
        context = _ssl_context(ca) if url.startswith("https:") else False
        # No redirects: the token is for this address only.
        try:
            self._client = httpx.AsyncClient(
                base_url=url, headers=headers, verify=context, follow_redirects=False
            )
        except httpx.InvalidURL:  # a host name that cannot exist, for example
            raise inputs.refuse("url", url, URL_ALLOWED) from None

    async def send(self, request: Request) -> tuple[int, Any]:
        """The status, and the JSON of the reply (None: an error reply without JSON)."""
        httpx, counter = self._httpx, self._counter
        timeout = httpx.Timeout(self._timeout, read=self._timeout + request.wait)
        sent = self._client.build_request(
            request.method, request.path, json=request.body, timeout=timeout
        )
        counter.requests += 1
        counter.sent += _head_size(sent.headers.raw, sent.method.encode(), sent.url.raw_path)
        counter.sent += len(sent.content)
        try:
            reply = await self._client.send(sent, stream=True)
            try:
                body = await _body(reply)
            finally:
                counter.received += reply.num_bytes_downloaded
                await reply.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise Unreachable(f"{request.method} {sent.url}: {_reason(error)}") from None
        counter.received += _head_size(
            reply.headers.raw,
            b"%d" % reply.status_code,
            reply.extensions.get("reason_phrase", b""),
        )
        try:
            return reply.status_code, json.loads(body)
        except ValueError:
            if reply.is_success:
                raise Unreachable(f"{request.method} {sent.url}: the reply is not JSON") from None
            return reply.status_code, None

    async def close(self) -> None:
        await self._client.aclose()


def ask(connect: Callable[[], Transport], *requests: Request) -> list[Any]:
    """Send these requests and wait for the replies; Unreachable or ServiceError if one fails.

    For the first start, before there is a background thread. Uses a thread of its own, because the
    caller's may have an event loop running.
    """
    replies: list[Any] = []
    errors: list[Exception] = []

    async def talk() -> None:
        transport = connect()
        try:
            for request in requests:
                status, reply = await transport.send(request)
                if status >= 500:
                    raise Unreachable(str(service_error(status, reply)))
                if not 200 <= status < 300:
                    raise service_error(status, reply)
                replies.append(reply)
        finally:
            await transport.close()

    def run() -> None:
        try:
            asyncio.run(talk())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="incfed-handshake", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return replies


def _ssl_context(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError):
        raise inputs.refuse("ca", ca, "a file of certificates in PEM format") from None


def _reason(error: Exception) -> str:
    """What went wrong, with advice for the common mistakes."""
    message = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in message:
        return (
            "the coordinator's certificate is not trusted. Pass the certificate of its authority "
            f"as `ca` ({message})"
        )
    if "WRONG_VERSION_NUMBER" in message or "RECORD_LAYER_FAILURE" in message:
        return f"the coordinator does not use TLS there. Try http:// ({message})"
    if "disconnected without" in message or "Errno 104" in message:
        return f"the connection was closed without a reply. Try https:// ({message})"
    return message


async def _body(reply: Any) -> bytes:
    parts, size = [], 0
    async for part in reply.aiter_bytes():
        size += len(part)
        if size > LARGEST_REPLY:
            raise OSError(f"the reply is larger than {LARGEST_REPLY} bytes")
        parts.append(part)
    return b"".join(parts)


def _head_size(headers: list[tuple[bytes, bytes]], *first: bytes) -> int:
    """Bytes of an HTTP/1.1 head: its first line, 'HTTP/1.1' included, and 'name: value' lines."""
    line = sum(map(len, first)) + len(b"HTTP/1.1") + 2 + 2
    return line + sum(len(name) + 2 + len(value) + 2 for name, value in headers) + 2
