"""Notifications: wake the requests that wait for news, without asking the database repeatedly.

What this process does wakes its waiters at once. What another coordinator does over the same
database is noticed by one thread for all of them.
"""

from __future__ import annotations

import asyncio
import threading

from ...ledger.database import Database, changes


class Notifications:
    def __init__(self, store: Database) -> None:
        self._store = store
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watcher = threading.Thread(
            target=self._watch, name="incfed-notifications", daemon=True
        )
        self.stopping = False

    def start(self) -> None:
        """Call this in the event loop that serves requests."""
        self._loop = asyncio.get_running_loop()
        self._watcher.start()

    def release_waiters(self) -> None:
        """The server is stopping: end all waiting. From any thread, or a signal handler."""
        self.stopping = True
        self.publish()

    async def stop(self) -> None:
        self.stopping = True
        self._wake()
        await asyncio.to_thread(self._watcher.join)

    def publish(self) -> None:
        """Wake everybody who waits. From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def next_change(self) -> asyncio.Event:
        """The event to wait for. Take it before reading the state, so that no change is missed."""
        return self._changed

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _watch(self) -> None:
        for _ in changes(self._store, lambda: self.stopping):
            self.publish()
