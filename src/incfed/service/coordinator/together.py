"""Requests that wait for the same work, done together: no request waits for more to come, but those
that come while the work is being done are the next lot. The busier, the larger the lots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Told = TypeVar("Told")


class Together(Generic[Asked, Told]):
    """`work` blocks: it is called by a thread, one lot at a time. An answer that is an exception
    is raised where it was asked for. If `work` raises, each is asked for alone, unless it is an
    error that nobody would be spared."""

    def __init__(
        self,
        work: Callable[[list[Asked]], Sequence[Told | Exception]],
        spares_nobody: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> None:
        self._work = work
        self._spares_nobody = spares_nobody
        self._waiting: list[tuple[Asked, asyncio.Future[Told]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def __call__(self, asked: Asked) -> Told:
        told: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, told))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run())
        return await told

    async def _run(self) -> None:
        while self._waiting:
            lot, self._waiting = self._waiting, []
            answers: Sequence[Told | Exception]
            try:
                answers = await asyncio.to_thread(self._answer, [asked for asked, _ in lot])
            except Exception as error:  # no thread to be had: nobody is left waiting
                answers = [error] * len(lot)
            for (_, told), answer in zip(lot, answers, strict=True):
                if told.done():  # whoever asked has gone
                    continue
                if isinstance(answer, Exception):
                    told.set_exception(answer)
                else:
                    told.set_result(answer)
        self._worker = None

    def _answer(self, lot: list[Asked]) -> Sequence[Told | Exception]:
        try:
            return self._work(lot)
        except Exception as error:
            if len(lot) == 1 or isinstance(error, self._spares_nobody):
                return [error] * len(lot)
            return [answer for asked in lot for answer in self._answer([asked])]
