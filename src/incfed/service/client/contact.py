"""The first words with a coordinator, before a client is there to say them in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from ..wire import Request
from .refusals import Unreachable, refusal
from .transport import Transport


def ask(connect: Callable[[], Transport], *requests: Request) -> list[Any]:
    """The answers, in order; Unreachable, or a ServiceError where one was refused.

    In a thread of its own: the caller may have an event loop running in this one.
    """
    answers: list[Any] = []
    errors: list[Exception] = []

    async def talk() -> None:
        transport = connect()
        try:
            for request in requests:
                status, said = await transport.send(request)
                if status >= 500:
                    raise Unreachable(str(refusal(status, said)))
                if not 200 <= status < 300:
                    raise refusal(status, said)
                answers.append(said)
        finally:
            await transport.close()

    def run() -> None:
        try:
            asyncio.run(talk())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="incfed-contact", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers
