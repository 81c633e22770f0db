"""Waiting for news without asking the database over and over: one watcher for all who wait.

What this process does wakes its waiters at once. What another coordinator over the same database
does is seen by a look at one number, a few times a second, and only while somebody waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

LOOK = 0.25  # seconds


class News:
    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._seen = 0
        self._waiting = 0
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watcher: asyncio.Task[None] | None = None
        self.stopping = False

    def start(self) -> None:
        """In the loop that serves."""
        self._loop = asyncio.get_running_loop()
        self._watcher = self._loop.create_task(self._watch())

    def dismiss(self) -> None:
        """Send everybody home; from any thread, or a signal's handler."""
        self.stopping = True
        self.publish()

    async def stop(self) -> None:
        """The end."""
        self.stopping = True
        self._stopped.set()
        self._wake()
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher

    def publish(self) -> None:
        """Something happened here; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def token(self) -> asyncio.Event:
        """What to wait for: taken before a look at the state, so that nothing is missed between."""
        return self._changed

    async def wait(self, changed: asyncio.Event, seconds: float) -> None:
        """Until something happens."""
        self._waiting += 1
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), seconds)
        finally:
            self._waiting -= 1

    async def wait_for_stop(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _watch(self) -> None:
        while not self.stopping:
            await asyncio.sleep(LOOK)
            if not self._waiting:
                continue
            with suppress(Exception):  # a database that is away is the requests' to report
                version = await asyncio.to_thread(self._version)
                if version != self._seen:
                    self._seen = version
                    self._wake()
