"""The background thread: sends what the agent asks for, until it is stopped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ... import errors
from .. import codec
from ..requests import Request
from .agent import Agent
from .keys import KINDS, Signer
from .receipts import Fork, Receipts
from .sync import PendingSync
from .transport import ServiceError, Transport, Unreachable


class BackgroundThread:
    def __init__(
        self, agent: Agent, signer: Signer, receipts: Receipts, connect: Callable[[], Transport]
    ) -> None:
        self._agent, self._signer, self._receipts = agent, signer, receipts
        self._connect = connect
        self._loop = asyncio.new_event_loop()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="incfed-client", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Is the caller in this thread, as a cost or accept function is?"""
        return threading.current_thread() is self._thread

    def wake(self) -> None:
        """There may be something to send. Any thread may call this."""
        self._call(self._wake.set)

    def sync(self, sync: PendingSync) -> None:
        if self._call(self._agent.sync, sync):
            self.wake()
        else:
            sync.fail(RuntimeError("this Client is closed"))

    def stop(self) -> None:
        """Requests under way are cancelled; they are sent again after the next start."""

        def end() -> None:
            # Python 3.11's wait_for loses a cancellation that comes together with a wake-up.
            self._stopping = True
            if self._task is not None:
                self._task.cancel()

        self._call(end)
        if self._thread.is_alive():
            self._thread.join()

    def _call(self, function: Callable[..., object], *arguments: Any) -> bool:
        """In the thread's event loop. False: it has ended."""
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            return False
        return True

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._task = self._loop.create_task(self._work())
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._task)
        finally:
            self._agent.stop(RuntimeError("this Client was closed"))
            self._loop.close()

    async def _work(self) -> None:
        agent, poll = self._agent, None
        transport = self._connect()
        try:
            while not self._stopping:
                self._wake.clear()
                if request := agent.next_request(time.monotonic()):
                    await self._send(transport, request)
                    continue
                if poll is not None and poll.done():
                    poll = None
                if poll is None and (request := agent.poll(time.monotonic())):
                    poll = asyncio.create_task(self._send(transport, request))
                    poll.add_done_callback(lambda _: self._wake.set())
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), agent.pause(time.monotonic()))
        finally:
            if poll is not None:
                poll.cancel()
                with suppress(asyncio.CancelledError):
                    await poll
            await transport.close()

    async def _send(self, transport: Transport, request: Request) -> None:
        agent, signer, receipts = self._agent, self._signer, self._receipts
        headers: dict[str, str] = {}
        try:
            if signer.signs(request) and signer.unregistered:
                status, reply = await transport.send(signer.registration())
                if status != 200:
                    raise ServiceError(status, reply)
                signer.registered()
            request = signer.signed(request)
            status, reply = await transport.send(request, headers)
            receipts.see(headers)
            if status == 200 and request.signature is not None and request.kind != "signal":
                receipts.keep(request, KINDS[request.kind], signer.fields(request), headers)
        except Fork as error:
            agent.halt(error)
        except (Unreachable, ServiceError, OSError, errors.InputError) as error:
            agent.failed(request, error, time.monotonic())
        else:
            agent.replied(request, status, reply, time.monotonic(), headers)
            if request.kind == "download" and receipts.due:
                await self._prove(transport)

    async def _prove(self, transport: Transport) -> None:
        """Does the ledger still extend the one that this client has seen?"""
        try:
            self._receipts.check(*await transport.send(self._receipts.question()))
        except Fork as error:
            self._agent.halt(error)
        except (Unreachable, ServiceError, codec.BadReply):
            pass  # it is asked again after the next round
