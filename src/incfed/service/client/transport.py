"""Requests over HTTP, with httpx, and what can go wrong with them."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from urllib.parse import urlsplit

from ... import errors
from ...protocol.messages import VERSION
from ...support.addresses import is_loopback
from ...support.extras import needs
from ..binary import PACKED
from ..requests import HISTORY, SIGNATURE, START, Request
from .traffic import Traffic
from .validation import URL_ALLOWED

LARGEST_REPLY = 2**28  # bytes
PLAIN_HTTP = (
    "PLAIN HTTP to %s: anybody on the way can read this client's token, and act and be paid as it. "
    "Use https://"
)
_log = logging.getLogger("incfed.client")


class ServiceError(RuntimeError):
    """The coordinator refused a request; `status` is the HTTP status, `field` what was wrong."""

    def __init__(self, status: int, reply: Any) -> None:
        """`reply`: its JSON, whatever that contains."""
        said = reply if isinstance(reply, dict) else {"message": "no reason given"}
        self.status, self.field = status, said.get("field") and str(said["field"])[:100]
        where = f"{self.field}: " if self.field else ""
        message = str(said.get("message"))[:500]
        super().__init__(f"the coordinator refused ({status}): {where}{message}")


def warn_of_plain_http(url: str) -> None:
    if url.startswith("http:") and not is_loopback(urlsplit(url).hostname or ""):
        _log.warning(PLAIN_HTTP, url)


class Unreachable(ConnectionError):
    """No reply, or one that cannot be read. The request is sent again later."""


class Transport:
    """Sends requests with a client's token and counts bytes. Belongs to one event loop."""

    def __init__(
        self, url: str, token: str, timeout: float, ca: str | None, traffic: Traffic,
        start: str | None = None,
    ) -> None:  # fmt: skip
        with needs("httpx", "a Client", "client"):
            import httpx
        self._httpx = httpx
        self._timeout = timeout
        self._traffic = traffic
        headers = {"Authorization": f"Bearer {token}", "Incfed-Protocol": str(VERSION)}
        headers["Accept"] = f"application/json, {PACKED}"
        if start is not None:
            headers[START] = start
        context = _ssl_context(ca) if url.startswith("https:") else False
        # No redirects: the token is for this address only.
        try:
            self._client = httpx.AsyncClient(
                base_url=url, headers=headers, verify=context, follow_redirects=False
            )
        except httpx.InvalidURL:  # a host name that cannot exist, for example
            raise errors.refuse("url", url, URL_ALLOWED) from None

    async def send(
        self, request: Request, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """The status, and the reply: its JSON, or the bytes of a packed message (None: an error
        reply without JSON). `headers` gets those of the reply."""
        httpx, traffic = self._httpx, self._traffic
        timeout = httpx.Timeout(self._timeout, read=self._timeout + request.wait)
        body: dict[str, Any] = {"json": request.body, "headers": {}}
        if isinstance(request.body, bytes):
            body = {"content": request.body, "headers": {"Content-Type": PACKED}}
        if request.signature is not None:
            body["headers"][SIGNATURE] = request.signature
        if request.history:
            body["headers"][HISTORY] = request.history
        sent = self._client.build_request(request.method, request.path, timeout=timeout, **body)
        traffic.requests += 1
        head = _head_size(sent.headers.raw, sent.method.encode(), sent.url.raw_path)
        traffic.bytes_sent += head + len(sent.content)
        try:
            reply = await self._client.send(sent, stream=True)
            try:
                received = await _body(reply)
            finally:
                traffic.bytes_received += reply.num_bytes_downloaded
                await reply.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise Unreachable(f"{request.method} {sent.url}: {_reason(error)}") from None
        if headers is not None:
            headers.update(reply.headers)
        reason = reply.extensions.get("reason_phrase", b"")
        traffic.bytes_received += _head_size(reply.headers.raw, b"%d" % reply.status_code, reason)
        if reply.is_success and reply.headers.get("Content-Type") == PACKED:
            return reply.status_code, received
        try:
            return reply.status_code, json.loads(received)
        except ValueError:
            if reply.is_success:
                raise Unreachable(f"{request.method} {sent.url}: the reply is not JSON") from None
            return reply.status_code, None

    async def close(self) -> None:
        await self._client.aclose()


def ask(
    connect: Callable[[], Transport], *requests: Request, headers: dict[str, str] | None = None
) -> list[Any]:
    """Send these requests and wait for the replies; Unreachable or ServiceError if one fails.
    `headers` gets those of the replies.

    For the first start, before there is a background thread. Uses a thread of its own, because the
    caller's may have an event loop running.
    """
    replies: Future[list[Any]] = Future()

    async def talk() -> list[Any]:
        transport, received = connect(), []
        try:
            for request in requests:
                status, reply = await transport.send(request, headers)
                if status >= 500:
                    raise Unreachable(str(ServiceError(status, reply)))
                if not 200 <= status < 300:
                    raise ServiceError(status, reply)
                received.append(reply)
        finally:
            await transport.close()
        return received

    def run() -> None:
        try:
            replies.set_result(asyncio.run(talk()))
        except BaseException as error:
            replies.set_exception(error)

    threading.Thread(target=run, name="incfed-handshake", daemon=True).start()
    return replies.result()


def _ssl_context(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError):
        raise errors.refuse("ca", ca, "a file of certificates in PEM format") from None


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
