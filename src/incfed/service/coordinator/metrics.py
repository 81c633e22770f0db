"""Figures for Prometheus: of this process, and a few of the federation as the database has it."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .coordinator import Coordinator

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept = self.registry
        self._requests = Counter(
            "incfed_requests", "Requests answered.", ("route", "status"), registry=kept
        )
        self._seconds = Histogram(
            "incfed_request_seconds",
            "Time to answer, waiting for news left out.",
            ("route",),
            registry=kept,
        )
        self._refused = Counter(
            "incfed_refused", "Messages refused, by field.", ("field",), registry=kept
        )
        self._events = Counter("incfed_events", "What this process did.", ("event",), registry=kept)
        self._paid = Counter("incfed_paid", "Money booked by this process.", registry=kept)
        self._round = Histogram(
            "incfed_round_ratio", "det V_g(S) / det V_g(all) of rounds closed here.", registry=kept,
            buckets=(0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0),
        )  # fmt: skip
        self._epoch = Gauge("incfed_epoch", "Rounds closed in the federation.", registry=kept)
        self._spent = Gauge("incfed_spent", "Money spent by the federation.", registry=kept)
        self._left = Gauge("incfed_budget_left", "Money left, if there is a budget.", registry=kept)
        self._live = Gauge("incfed_live_clients", "Clients heard of lately.", registry=kept)

    def answered(self, route: str, status: int, seconds: float | None) -> None:
        self._requests.labels(route, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(route).observe(seconds)

    def refused(self, field: str) -> None:
        self._refused.labels(field).inc()

    def event(self, event: dict[str, Any]) -> None:
        self._events.labels(event["event"]).inc()
        if event["event"] == "closed":
            self._paid.inc(sum(event["payments"].values()))
            self._round.observe(event["ratio"])

    def page(self, coordinator: Coordinator) -> bytes:
        overview = coordinator.overview()
        self._epoch.set(overview.epoch)
        self._spent.set(overview.spent)
        self._left.set(float("inf") if overview.budget is None else overview.left)
        self._live.set(overview.live)
        return generate_latest(self.registry)
