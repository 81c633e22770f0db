"""Waiting for news without asking the database over and over.

What this process does wakes its waiters at once; what another coordinator over the same database
does is heard of by one watcher for all (ledger/changes.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

Changes = Callable[[Callable[[], bool]], Iterable[None]]


class News:
    """`changes(over)` blocks, yields when others did something, and ends once `over()`."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watcher = threading.Thread(target=self._watch, name="incfed-news", daemon=True)
        self.stopping = False

    def start(self) -> None:
        """In the loop that serves."""
        self._loop = asyncio.get_running_loop()
        self._watcher.start()

    def dismiss(self) -> None:
        """Send everybody home; from any thread, or a signal's handler."""
        self.stopping = True
        self.publish()

    async def stop(self) -> None:
        """The end."""
        self.stopping = True
        self._stopped.set()
        self._wake()
        await asyncio.to_thread(self._watcher.join)

    def publish(self) -> None:
        """Something happened; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def token(self) -> asyncio.Event:
        """What to wait for: taken before a look at the state, so that nothing is missed between."""
        return self._changed

    async def wait(self, changed: asyncio.Event, seconds: float) -> None:
        """Until something happens."""
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), seconds)

    async def wait_for_stop(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _watch(self) -> None:
        for _ in self._changes(lambda: self.stopping):
            self.publish()
