"""What operators watch: logs as lines of JSON, and metrics for Prometheus.

Neither contains tokens or statistics of clients.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ...ledger.money import amounts

LOG = logging.getLogger("incfed.service")
HIDDEN = {"numbers", "db", "V", "b", "body", "token"}  # digests could be used to test guesses
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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


def log_event(event: dict[str, Any]) -> None:
    """Log an event of a round."""
    fields = {key: value for key, value in event.items() if key not in HIDDEN}
    warns = event["event"] in ("void", "barred") or event.get("data_only") is True
    level = logging.WARNING if warns else logging.INFO
    LOG.log(level, event["event"], extra={"fields": fields})


def set_up_logging(level: str = "INFO") -> None:
    """Write all logs of this process to standard error, as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("alembic").setLevel(logging.WARNING)


class Overview(NamedTuple):
    """The federation in a few figures."""

    epoch: int
    spent: float
    budget_left: float  # infinite without a budget
    live: int  # clients


class Metrics:
    """Of this process, and a few of the federation from the database."""

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
            self._paid.inc(sum(amounts(event["payments"], event.get("money_digits")).values()))
            self._ratio.observe(event["ratio"])

    def page(self, overview: Overview) -> bytes:
        for name, gauge in self._federation.items():
            gauge.set(getattr(overview, name))
        return generate_latest(self._registry)
