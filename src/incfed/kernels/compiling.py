"""How the kernels are compiled, and where the compiled code is kept between runs.

numba detects a change of a function's own file, but not of the files that it calls into. Here the
cache of every function depends on the whole folder, so that outdated code is never run. If the
cache cannot be written or read (a read-only install, a full disk, a damaged file), the code is
compiled again and the run continues.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numba
from numba.core import caching

Function = TypeVar("Function", bound=Callable[..., Any])

_ROOM = Path(__file__).parent


def _room_stamp() -> tuple[tuple[str, float, int], ...]:
    files = sorted(_ROOM.glob("*.py"))
    return tuple((f.name, f.stat().st_mtime, f.stat().st_size) for f in files)


_STAMP = _room_stamp()


def _stamped(locator: type) -> type:
    """The same cache location, but valid only for the current state of the whole folder."""
    return type(locator.__name__, (locator,), {"get_source_stamp": lambda self: _STAMP})


class _RoomCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes: ClassVar = [
        _stamped(caching.UserProvidedCacheLocator),
        _stamped(caching.InTreeCacheLocator),
        _stamped(caching.UserWideCacheLocator),
    ]


class _RoomCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _RoomCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # truncated or unreadable: start with an empty cache
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # disk full or not writable: only the next start is slower
            self.disable()


def compiled(function: Function) -> Function:
    """For kernels called from Python. Compiled on first call; multiply-adds may be fused, nothing
    else is reordered.

    Kernels do not allocate arrays, their callers do. So numba counts no references, which would
    cost more than the small kernels themselves and increase compile time by half.
    """
    return _compile(function, _FUSED)


def compiled_sum(function: Function) -> Function:
    """Like `compiled`, for sums whose terms may be reordered, so that SIMD applies."""
    return _compile(function, _ANY_ORDER)


def inner(function: Function) -> Function:
    """Like `compiled`, for kernels that are called by kernels only: no Python wrapper is built."""
    return _compile(function, _FUSED, no_cpython_wrapper=True)


def inner_sum(function: Function) -> Function:
    """Like `inner`, for sums whose terms may be reordered."""
    return _compile(function, _ANY_ORDER, no_cpython_wrapper=True)


def inlined(function: Function) -> Function:
    """Inlined into the calling kernel before type inference. For functions that are called in one
    place, or take a whole store or bench: a call would copy the descriptors of all its arrays."""
    return _compile(function, _FUSED, inline="always")


_FUSED = {"contract"}
_ANY_ORDER = {"contract", "reassoc", "nsz"}


def _compile(function: Function, fastmath: set[str], **options: Any) -> Function:
    dispatcher = numba.njit(
        function,
        fastmath=fastmath,
        error_model="numpy",
        nogil=True,
        _nrt=False,
        no_cfunc_wrapper=True,
        **options,
    )
    with suppress(RuntimeError):  # numba: "no locator available", no place for a cache
        dispatcher._cache = _RoomCache(function)
    result: Function = dispatcher
    return result
