"""Named points of a client at which a test can stop it. The client itself knows nothing of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from incfed.service.client import state_folder
from incfed.service.client.agent import Agent
from incfed.service.client.background import BackgroundThread
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.journal import Journal

SENDS = ("state", "open", "upload", "answer", "delivery", "download")
FAILPOINTS = (
    *(f"{kind}.{moment}" for kind in SENDS for moment in ("before", "after")),
    "learn.written", "freeze.written", "rotate.before", "rotate.begun",
    "snapshot.before-rename", "snapshot.after-rename",
)  # fmt: skip


@contextmanager
def client_failpoints(reached: Callable[[str], None]) -> Iterator[None]:
    """Call `reached` with the name of each point that a client of this process reaches."""
    with pytest.MonkeyPatch.context() as patch:

        def hook(owner: Any, name: str, *, before: Any = None, after: Any = None) -> None:
            """`before` and `after` name a point; `before` may be a function of the arguments."""
            real = getattr(owner, name)

            @wraps(real)
            def call(*given: Any) -> Any:
                if point := before(*given) if callable(before) else before:
                    reached(point)
                result = real(*given)
                if after:
                    reached(after)
                return result

            patch.setattr(owner, name, call)

        def renames(_: Path, target: Path) -> str | None:
            return "snapshot.before-rename" if target.name == state_folder.SNAPSHOT else None

        hook(BackgroundThread, "_send", before=lambda *given: f"{given[2].kind}.before")
        hook(Agent, "replied", before=lambda *given: f"{given[1].kind}.after")
        hook(Journal, "step", after="learn.written")
        hook(Journal, "freeze", after="freeze.written")
        hook(DurableLearner, "rotate", before="rotate.before")
        hook(state_folder, "save", before="rotate.begun")
        hook(os, "replace", before=renames)
        hook(state_folder, "sync_names", after="snapshot.after-rename")
        yield
