"""Requests over HTTP, with httpx."""

from __future__ import annotations

import json
import ssl
from typing import Any

from ...protocol.messages import VERSION
from ...support import inputs
from ...support.extras import needs
from ..wire import Request
from .address import ALLOWED
from .refusals import Unreachable
from .traffic import Wire

MOST = 2**28  # bytes of an answer


class Transport:
    """Sends as a client with a token; counts bytes. One event loop's own."""

    def __init__(self, url: str, token: str, timeout: float, ca: str | None, wire: Wire) -> None:
        with needs("httpx", "a Client", "client"):
            import httpx
        self._httpx = httpx
        self._timeout = timeout
        self._wire = wire
        headers = {"Authorization": f"Bearer {token}", "Incfed-Protocol": str(VERSION)}
        context = _trust(ca) if url.startswith("https:") else False
        # Redirects are not followed: the token is for this address.
        try:
            self._client = httpx.AsyncClient(
                base_url=url, headers=headers, verify=context, follow_redirects=False
            )
        except httpx.InvalidURL:  # a name that cannot be one, say
            raise inputs.refuse("url", url, ALLOWED) from None

    async def send(self, request: Request) -> tuple[int, Any]:
        """Status, and the JSON of the answer (None: it is none); Unreachable if there is none."""
        httpx = self._httpx
        timeout = httpx.Timeout(self._timeout, read=self._timeout + request.wait)
        asked = self._client.build_request(
            request.method, request.path, json=request.body, timeout=timeout
        )
        wire = self._wire
        wire.requests += 1
        wire.sent += _size(asked.headers.raw, asked.method.encode(), asked.url.raw_path)
        wire.sent += len(asked.content)
        try:
            answer = await self._client.send(asked, stream=True)
            try:
                body = await _body(answer)
            finally:
                wire.received += answer.num_bytes_downloaded
                await answer.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise Unreachable(f"{request.method} {asked.url}: {_reason(error)}") from None
        wire.received += _size(
            answer.headers.raw,
            b"%d" % answer.status_code,
            answer.extensions.get("reason_phrase", b""),
        )
        try:
            return answer.status_code, json.loads(body)
        except ValueError:
            if answer.is_success:
                raise Unreachable(f"{request.method} {asked.url}: no JSON in the answer") from None
            return answer.status_code, None

    async def close(self) -> None:
        await self._client.aclose()


def _trust(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError):
        raise inputs.refuse("ca", ca, "a file of certificates, in PEM") from None


def _reason(error: Exception) -> str:
    """What went wrong, and what to do about the mistakes that everybody makes once."""
    said = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return f"the coordinator's certificate is not trusted; is `ca` its authority's? ({said})"
    if "WRONG_VERSION_NUMBER" in said or "RECORD_LAYER_FAILURE" in said:
        return f"no TLS is spoken there; is it http://? ({said})"
    if "disconnected without" in said or "Errno 104" in said:
        return f"the connection was closed without an answer; is it https://? ({said})"
    return said


async def _body(answer: Any) -> bytes:
    parts, size = [], 0
    async for part in answer.aiter_bytes():
        size += len(part)
        if size > MOST:
            raise OSError(f"an answer of more than {MOST} bytes")
        parts.append(part)
    return b"".join(parts)


def _size(headers: list[tuple[bytes, bytes]], *first: bytes) -> int:
    """Bytes of an HTTP/1.1 head: its first line, 'HTTP/1.1' included, and 'name: value' lines."""
    line = sum(map(len, first)) + len(b"HTTP/1.1") + 2 + 2
    return line + sum(len(name) + 2 + len(value) + 2 for name, value in headers) + 2
