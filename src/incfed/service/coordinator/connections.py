"""Connections: how many there may be, and how long a caller may take over one.

uvicorn limits neither: a caller without a token could hold every file that the process may open
with half-sent requests. It parses HTTP with h11 here, whatever else is installed: h11 keeps the
state of the caller's side, by which one sees what it owes us.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...support.addresses import caller
from .config import ServerConfig
from .monitoring import BurstLog, Metrics

LINGER = 2.0  # seconds to send the rest of a body that is already answered
RESERVED = 256  # files for the database, for what is just being accepted, and for operators
FEWEST = 16  # connections, however few files there are


def raise_file_limit() -> int | None:
    """Files that this process may open, from now on as many as it may ask for; None: unknown."""
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # some systems allow less than they say
        hard = soft
    return None if hard == resource.RLIM_INFINITY else hard


class Connections:
    """The open connections. If there is no room for another one, the one that has been idle for
    longest is closed: it has no request in progress, and to have one takes a token."""

    def __init__(self, server: ServerConfig, metrics: Metrics, files: int | None = None) -> None:
        self.server = server
        room = server.connections if files is None else max(FEWEST, files - RESERVED)
        self._most = min(server.connections, room)
        self._proxies = [ip_network(one) for one in server.proxies]
        self._open: dict[LimitedConnection, str] = {}
        self._idle: dict[LimitedConnection, None] = {}  # since when, by their order
        self._by_caller: Counter[str] = Counter()
        self._metrics = metrics
        self._malformed = BurstLog("malformed requests")
        self._crowded = BurstLog("too many connections")

    def enter(self, connection: LimitedConnection, address: str) -> bool:
        """Whether there is room for it."""
        who, most = caller(address), self.server.connections_per_address
        if self._by_caller[who] >= most and not self._is_proxy(address):
            self._crowded.note(who, most=most)
            return False
        if len(self._open) >= self._most:
            self._crowded.note("any", most=self._most)
            longest = next(iter(self._idle), None)
            if longest is None:
                return False
            self.leave(longest)
            longest.transport.abort()
        self._open[connection] = who
        self._by_caller[who] += 1
        self._idle[connection] = None
        return True

    def leave(self, connection: LimitedConnection) -> None:
        who = self._open.pop(connection, None)
        if who is not None:
            self._by_caller[who] -= 1
            if not self._by_caller[who]:
                del self._by_caller[who]
        self._idle.pop(connection, None)

    def __contains__(self, connection: object) -> bool:
        return connection in self._open

    def is_idle(self, connection: LimitedConnection, idle: bool) -> None:
        if not idle:
            self._idle.pop(connection, None)
        elif connection in self._open:
            self._idle.setdefault(connection)

    def refused(self, address: str, field: str) -> None:
        self._metrics.refused(field)
        self._malformed.note(caller(address), field=field)

    def _is_proxy(self, address: str) -> bool:
        try:
            return any(ip_address(address) in one for one in self._proxies)
        except ValueError:
            return False


class MalformedRequest(h11.RemoteProtocolError):
    """A head that two readers could understand in two ways."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class StrictParser(h11.Connection):
    """h11, which lets Transfer-Encoding win over Content-Length, and takes headers twice."""

    error: h11.RemoteProtocolError | None = None

    def next_event(self) -> Any:
        try:
            event = super().next_event()
            if isinstance(event, h11.Request):
                _check_head(event)
        except h11.RemoteProtocolError as error:
            self.error = error
            raise
        return event


def _check_head(request: h11.Request) -> None:
    names = Counter(name for name, _ in request.headers)
    if names[b"content-length"] and names[b"transfer-encoding"]:
        raise MalformedRequest("Content-Length", "must not come with Transfer-Encoding")
    for name, count in names.items():
        ours = name in (b"authorization", b"content-type") or name.startswith(b"incfed-")
        if ours and count > 1:
            raise MalformedRequest(name.decode().title(), "must be given once")


class LimitedConnection(H11Protocol):
    """Times limit what the caller has to do: send a head, send a body, read the answer. What it
    waits for, such as a long poll, has no limit here."""

    def __init__(self, connections: Connections, **made: Any) -> None:
        super().__init__(**made)
        self.conn = self._parser = StrictParser(h11.SERVER)
        self._connections = connections
        self._owed: str | None = None  # what the caller has to do now
        self._timer: asyncio.TimerHandle | None = None

    # ----------------------------------------------------------------- what uvicorn calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._connections.enter(self, self._address):
            self._owes("head", self._connections.server.header_time)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owes(None)
        self._connections.leave(self)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():  # it does not read its answer
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        """`msg` is uvicorn's; ours names the field."""
        error = self._parser.error
        if isinstance(error, MalformedRequest):
            self._refuse(400, error.field, str(error))
        elif "Content-Length" in str(error):
            self._refuse(400, "Content-Length", "must be one whole number")
        else:
            self._refuse(400, "request", "must be HTTP/1.1")

    # ----------------------------------------------------------------------------- limits

    def _look(self) -> None:
        """Set the limit for what the caller has to do now."""
        if self not in self._connections:
            return
        server, theirs = self._connections.server, self.conn.their_state
        answered = self.cycle is None or self.cycle.response_complete
        self._connections.is_idle(self, answered)
        if self.flow.write_paused or (answered and self.transport.is_closing()):
            self._owes("reading", server.body_time)
        elif theirs is h11.SEND_BODY and answered:
            self._owes("rest", min(LINGER, server.body_time))
        elif theirs is h11.SEND_BODY:
            self._owes("body", server.body_time)
        elif theirs is h11.IDLE and (self._has_begun or self.timeout_keep_alive_task is None):
            self._owes("head", server.header_time)
        else:
            self._owes(None)

    @property
    def _has_begun(self) -> bool:
        """Has the caller sent a part of the next head?"""
        return bool(self.conn.trailing_data[0])

    def _owes(self, owed: str | None, seconds: float = 0.0) -> None:
        if owed == self._owed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._owed = owed
        self._timer = None if owed is None else self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        if self._owed == "body":
            seconds = self._connections.server.body_time
            self._refuse(408, "body", f"must be sent within {seconds:g} seconds")
        else:
            self.transport.abort()

    def _refuse(self, status: int, field: str, message: str) -> None:
        self._connections.refused(self._address, field)
        if self.cycle is not None:
            self.cycle.disconnected = True  # what the application still says is for nobody
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        body = json.dumps({"field": field, "value": None, "message": message}).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        headers.append(("Connection", "close"))
        head = h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase)
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._owes("reading", self._connections.server.body_time)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else "unknown"
