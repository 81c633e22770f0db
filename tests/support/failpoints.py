"""Named points at which a test can stop a client or a coordinator. They know nothing of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from incfed.ledger import tables
from incfed.ledger.records import CLOSED
from incfed.protocol.deciding import Offers
from incfed.service.client import state_folder
from incfed.service.client.agent import Agent
from incfed.service.client.background import BackgroundThread
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.journal import Journal
from incfed.service.coordinator import round
from incfed.service.coordinator.coordinator import Coordinator
from incfed.service.coordinator.round import RoundTransaction

SENDS = ("state", "open", "upload", "answer", "delivery", "download")
POINTS = (  # of a coordinator
    "before", "opened", "uploaded", "deciding", "offered", "answered", "delivered",
    "deciding again", "adding", "paying", "closing", "committing", "committed",
)  # fmt: skip
FAILPOINTS = (  # of a client
    *(f"{kind}.{moment}" for kind in SENDS for moment in ("before", "after")),
    "learn.written", "freeze.written", "rotate.before", "rotate.begun",
    "snapshot.before-rename", "snapshot.after-rename",
)  # fmt: skip


Hook = Callable[..., None]


@contextmanager
def hooks(reached: Callable[[str], None]) -> Iterator[Hook]:
    """A function that puts points before and after the calls of another one: `before` and `after`
    are names, or functions of the arguments that return a name or None."""
    with pytest.MonkeyPatch.context() as patch:

        def hook(owner: Any, name: str, *, before: Any = None, after: Any = None) -> None:
            real = getattr(owner, name)

            @wraps(real)
            def call(*given: Any, **named: Any) -> Any:
                if point := before(*given, **named) if callable(before) else before:
                    reached(point)
                result = real(*given, **named)
                if point := after(*given, **named) if callable(after) else after:
                    reached(point)
                return result

            patch.setattr(owner, name, call)

        yield hook


@contextmanager
def client_failpoints(reached: Callable[[str], None]) -> Iterator[None]:
    """Call `reached` with the name of each point that a client of this process reaches."""

    def renames(_: Path, target: Path) -> str | None:
        return "snapshot.before-rename" if target.name == state_folder.SNAPSHOT else None

    with hooks(reached) as hook:
        hook(BackgroundThread, "_send", before=lambda *given: f"{given[2].kind}.before")
        hook(Agent, "replied", before=lambda *given: f"{given[1].kind}.after")
        hook(Journal, "step", after="learn.written")
        hook(Journal, "freeze", after="freeze.written")
        hook(DurableLearner, "rotate", before="rotate.before")
        hook(state_folder, "save", before="rotate.begun")
        hook(os, "replace", before=renames)
        hook(state_folder, "sync_names", after="snapshot.after-rename")
        yield


@contextmanager
def coordinator_failpoints(reached: Callable[[str], None]) -> Iterator[None]:
    """The same for a coordinator."""

    def recorded(_: RoundTransaction, kind: str, **what: Any) -> str | None:
        return kind if kind in ("opened", "uploaded", "answered", "delivered") else None

    def decided(_: RoundTransaction, offers: Offers, failed: list[int], kept: Any) -> str | None:
        return "deciding again" if failed else None

    def updates(_: RoundTransaction, **changes: Any) -> str | None:
        return "paying" if changes.get("stage") == CLOSED else None

    with hooks(reached) as hook:
        hook(Coordinator, "_write", before="before")
        hook(RoundTransaction, "record", after=recorded)
        hook(RoundTransaction, "_decide", before="deciding")
        hook(RoundTransaction, "_offer", before=decided, after="offered")
        hook(round, "insert", before=lambda table: "adding" if table is tables.payments else None)
        hook(RoundTransaction, "_update_round", before=updates)
        hook(RoundTransaction, "_close", after="closing")
        hook(RoundTransaction, "finish", after="committing")
        hook(Coordinator, "_publish", before="committed")
        yield
