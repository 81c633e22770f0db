"""Logs and metrics for operators: logs as lines to read on a terminal and as JSON elsewhere,
metrics for Prometheus.

Neither contains tokens or statistics of clients.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ...ledger.money import amounts
from ...protocol.money import from_units

LOG = logging.getLogger("incfed.service")
HIDDEN = {"numbers", "db", "V", "b", "body", "token"}  # digests could be used to test guesses
FOR_MACHINES = {"event", "signature", "key", "form", "money_digits"}  # not on a terminal
MONEY = {"cost", "offers", "payments", "posted", "reserved"}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BURST = 60.0  # seconds that one line stands for
MOST_BURSTS = 10_000  # addresses that are remembered

UNAVAILABLE, AVAILABLE = "the database is unavailable", "the database is available again"
NEXT = "the coordinator keeps trying; requests get 503 until then, and clients repeat them"
SETTLED = 0.5  # seconds without a failure after which an outage is over


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower()}
        line |= {"logger": record.name, "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TerminalLines(logging.Formatter):
    """Log lines for people: `14:03:22  closed  round 7, paid 12.50`."""

    COLOURS: ClassVar = {logging.WARNING: "33", logging.ERROR: "31", logging.CRITICAL: "31"}

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        at = _clock(record.created)
        fields = getattr(record, "fields", {})
        said = ", ".join(
            f"{key.replace('_', ' ')} {_shown(key, value, fields.get('money_digits'))}"
            for key, value in fields.items()
            if key not in FOR_MACHINES
        )
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        words = "  ".join(filter(None, [f"{level}{_plain(record.getMessage())}", _plain(said)]))
        if self._colour and (code := self.COLOURS.get(record.levelno)):
            words = f"\033[{code}m{words}\033[0m"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{at}  {words}{trace}"


def _shown(name: str, value: Any, digits: int | None) -> str:
    """A field in words; `digits` of money, if it is in minor units."""
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{_shown(name, item, digits)} to {key}" for key, item in value.items())
    if isinstance(value, list):
        return " ".join(map(str, value))
    if name == "deadline":
        return _clock(value)
    if name in MONEY and digits is not None:
        return f"{from_units(value, digits):.{digits}f}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _plain(text: str) -> str:
    """Without control characters: callers choose some of what is logged."""
    return "".join(character if character.isprintable() else "?" for character in text)


def log_event(event: dict[str, Any]) -> None:
    """Log an event of a round."""
    fields = {key: value for key, value in event.items() if key not in HIDDEN}
    warns = event["event"] in ("void", "barred") or event.get("data_only") is True
    level = logging.WARNING if warns else logging.INFO
    LOG.log(level, event["event"], extra={"fields": fields})


def set_up_logging(level: str = "INFO") -> None:
    """Write all logs of this process to standard error: to be read on a terminal, else JSON."""
    handler = logging.StreamHandler()
    if sys.stderr.isatty():
        handler.setFormatter(TerminalLines(colour=not os.environ.get("NO_COLOR")))
    else:
        handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    # it would warn of every malformed request: `connections` does, once a burst
    logging.getLogger("uvicorn.error").setLevel(max(logging.ERROR, root.level))


class BurstLog:
    """A warning about a caller, once a minute however often it is noted: the line says how often
    it was since the last one."""

    def __init__(self, message: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._message, self._clock = message, clock
        self._bursts: dict[str, list[float]] = {}  # by address: when it was logged, count since

    def note(self, address: str, **fields: Any) -> None:
        now = self._clock()
        burst = self._bursts.get(address)
        if burst is not None and now - burst[0] < BURST:
            burst[1] += 1
            return
        if len(self._bursts) >= MOST_BURSTS:
            old = [key for key, (began, _) in self._bursts.items() if now - began >= BURST]
            for key in old or list(self._bursts)[: MOST_BURSTS // 2]:
                del self._bursts[key]
        since = 1 + (0 if burst is None else int(burst[1]))
        self._bursts[address] = [now, 0]
        LOG.warning(self._message, extra={"fields": {"address": address, "count": since} | fields})


class Outage:
    """Logs that the database is unavailable: a line when it begins and a line when it is over,
    however many requests it fails. All calls come from one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._last = 0.0  # failure
        self._requests = 0

    def failed(self, error: Exception, requests: int = 0) -> None:
        """An attempt to use the database failed, and with it so many requests."""
        self._last = self._clock()
        self._requests += requests
        if self._began is None:
            self._began = self._last
            why = " ".join(str(getattr(error, "orig", None) or error).split())
            fields = {"error": f"{type(error).__name__}: {why}", "next": NEXT}
            LOG.error(UNAVAILABLE, extra={"fields": fields})

    def succeeded(self) -> None:
        """An attempt succeeded. The outage is over once nothing has failed for a moment."""
        if self._began is not None and self._clock() - self._last >= SETTLED:
            fields = {"seconds": self._last - self._began, "failed_requests": self._requests}
            LOG.warning(AVAILABLE, extra={"fields": fields})
            self._began, self._requests = None, 0


class Overview(NamedTuple):
    """The federation in a few figures."""

    epoch: int
    spent: float
    budget_left: float  # infinite without a budget
    live: int  # clients


class Metrics:
    """The metrics of this process, and a few of the federation from the database."""

    def __init__(self) -> None:
        self._registry = kept = CollectorRegistry()
        counter, gauge = partial(Counter, registry=kept), partial(Gauge, registry=kept)
        histogram = partial(Histogram, registry=kept)
        self._requests = counter("incfed_requests", "Requests answered.", ("route", "status"))
        self._seconds = histogram(
            "incfed_request_seconds", "Seconds to answer a request, without long polls.", ("route",)
        )
        self._refused = counter("incfed_refused", "Requests refused, by field.", ("field",))
        self._events = counter("incfed_events", "Events of rounds in this process.", ("event",))
        self._paid = counter("incfed_paid", "Payments booked by this process.")
        self._ratio = histogram(
            "incfed_round_ratio",
            "det V_g(S) / det V_g(all) of the rounds closed by this process.",
            buckets=(0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0),
        )
        self._federation = {
            "epoch": gauge("incfed_epoch", "Rounds closed in the federation."),
            "spent": gauge("incfed_spent", "Payments booked by the federation."),
            "budget_left": gauge("incfed_budget_left", "Budget left; +Inf without a budget."),
            "live": gauge("incfed_live_clients", "Clients seen within live_time."),
        }

    def answered(self, route: str, status: int, seconds: float | None) -> None:
        self._requests.labels(route, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(route).observe(seconds)

    def refused(self, field: str) -> None:
        self._refused.labels(field).inc()

    def event(self, event: dict[str, Any]) -> None:
        self._events.labels(event["event"]).inc()
        if event["event"] == "closed":
            self._paid.inc(sum(amounts(event["payments"], event["money_digits"]).values()))
            self._ratio.observe(event["ratio"])

    def page(self, overview: Overview) -> bytes:
        for name, gauge in self._federation.items():
            gauge.set(getattr(overview, name))
        return generate_latest(self._registry)
