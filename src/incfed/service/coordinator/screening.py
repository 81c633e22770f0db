"""Screening: checks of messages that may take long are made before their transaction.

The eigenvalues of a large upload take a tenth of a second or more, and a transaction locks out
everybody else. So they are computed before it, in threads of their own, and the transaction looks
up what was found. Whatever depends on the state of the federation is checked in the transaction; if
that has changed meanwhile (its settings, say), so has the key, and the check is made again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ...protocol.checks import Refusal
from ...protocol.floats import to_bytes
from ...support.signing import digest

LARGE = 64  # dimensions from which on a check takes longer than handing it to a thread
THREADS = 2
KEPT = 1000  # outcomes


def is_large(dim: int) -> bool:
    """Are messages of so many dimensions screened?"""
    return dim >= LARGE


class Check(NamedTuple):
    """A check that may take long; `kind` and `given` are all that its outcome depends on."""

    kind: Hashable
    run: Callable[..., None]  # raises Refusal
    given: tuple[Any, ...]


class Outcomes:
    """What checks have found, in a process."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, tuple[Any, ...] | None] = OrderedDict()
        self._lock = threading.Lock()

    def make(self, check: Check) -> None:
        """Raise Refusal if the check does, or did when it was given the same before."""
        key = check.kind, _identity(check.given)
        with self._lock:
            known, refused = key in self._found, self._found.get(key)
        if not known:
            try:
                check.run(*check.given)
            except Refusal as error:  # itself, it would keep everything that was checked
                refused = error.field, error.value, error.allowed
            with self._lock:
                self._found[key] = refused
                if len(self._found) > KEPT:
                    self._found.popitem(last=False)
        if refused is not None:
            raise Refusal(*refused)


def _identity(given: Any) -> Hashable:
    """Arrays by their digest."""
    if isinstance(given, np.ndarray):
        return given.shape, digest(to_bytes(given))
    return tuple(map(_identity, given)) if isinstance(given, tuple) else given


class Screening:
    """Calls `work` in a few threads, for each client with one message at a time: many messages of
    one client do not keep the others waiting."""

    def __init__(self, work: Callable[..., None], dim: int) -> None:
        self._work, self._dim = work, dim
        self._threads = ThreadPoolExecutor(THREADS, "screening")
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, client: int, *message: Any) -> None:
        if not is_large(self._dim):
            return
        turn = self._turns.setdefault(client, asyncio.Lock())
        async with turn:
            with suppress(Refusal):  # it is refused in its transaction, if that comes to it
                await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._work, client, *message
                )
