"""The background thread: does what the agent asks for, and lets itself be woken."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..wire import Request
from . import points
from .agent import Agent
from .refusals import Unreachable
from .transport import Transport
from .wishes import Wish


class Link:
    def __init__(self, agent: Agent, connect: Callable[[], Transport]) -> None:
        self._agent = agent
        self._connect = connect
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ends = False
        self._thread = threading.Thread(target=self._run, name="incfed-client", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def here(self) -> bool:
        """Is it this thread that asks: a policy of the owner's?"""
        return threading.current_thread() is self._thread

    def wake(self) -> None:
        """Something happened here: is there anything to send? By any thread."""
        self._call(self._wake.set)

    def wish(self, wish: Wish) -> None:
        def pass_on() -> None:
            self._agent.wish(wish)
            self._wake.set()

        if not self._call(pass_on):
            wish.fail(RuntimeError("this Client is closed"))

    def stop(self) -> None:
        """What is on its way is given up: it is sent again some time."""

        def end() -> None:
            self._ends = (
                True  # a cancellation that meets a wake-up is lost (Python 3.11's wait_for)
            )
            if self._task is not None:
                self._task.cancel()

        self._call(end)
        if self._thread.is_alive():
            self._thread.join()

    def _call(self, what: Callable[[], Any]) -> bool:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._task = self._loop.create_task(self._work())
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._task)
        finally:
            self._agent.abandon(RuntimeError("this Client was closed"))
            self._loop.close()

    async def _work(self) -> None:
        agent, poll = self._agent, None
        transport = self._connect()
        try:
            while not self._ends:
                self._wake.clear()
                if request := agent.errand(time.monotonic()):
                    await self._send(transport, request)
                    continue
                if poll is not None and poll.done():
                    poll = None
                if poll is None and (request := agent.poll(time.monotonic())):
                    poll = asyncio.create_task(self._send(transport, request))
                    poll.add_done_callback(lambda _: self._wake.set())
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), agent.rest(time.monotonic()))
        finally:
            if poll is not None:
                poll.cancel()
                with suppress(asyncio.CancelledError):
                    await poll
            await transport.close()

    async def _send(self, transport: Transport, request: Request) -> None:
        points.reach(f"{request.kind}.before")
        try:
            status, said = await transport.send(request)
        except Unreachable as error:
            self._agent.failed(request, error, time.monotonic())
        else:
            points.reach(f"{request.kind}.after")
            self._agent.replied(request, status, said, time.monotonic())
