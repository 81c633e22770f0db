"""Metrics for Prometheus: of this process, and a few of the federation from the database."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .views import Overview

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    def __init__(self) -> None:
        self.registry = kept = CollectorRegistry()

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(name, help, labels, registry=kept)

        def gauge(name: str, help: str) -> Gauge:
            return Gauge(name, help, registry=kept)

        self._requests = counter("incfed_requests", "Requests answered.", "route", "status")
        self._seconds = Histogram(
            "incfed_request_seconds",
            "Seconds to answer a request, without long polls.",
            ("route",),
            registry=kept,
        )
        self._refused = counter("incfed_refused", "Requests refused, by the wrong field.", "field")
        self._events = counter("incfed_events", "Events of rounds in this process.", "event")
        self._paid = counter("incfed_paid", "Payments booked by this process.")
        self._round = Histogram(
            "incfed_round_ratio",
            "det V_g(S) / det V_g(all) of the rounds closed by this process.",
            registry=kept,
            buckets=(0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0),
        )
        self._epoch = gauge("incfed_epoch", "Rounds closed in the federation.")
        self._spent = gauge("incfed_spent", "Payments booked by the federation.")
        self._left = gauge("incfed_budget_left", "Budget that is left; +Inf without a budget.")
        self._live = gauge("incfed_live_clients", "Clients seen within live_time.")

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

    def page(self, overview: Overview) -> bytes:
        self._epoch.set(overview.epoch)
        self._spent.set(overview.spent)
        self._left.set(float("inf") if overview.budget is None else overview.left)
        self._live.set(overview.live)
        return generate_latest(self.registry)
