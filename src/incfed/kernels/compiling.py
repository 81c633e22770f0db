"""How the kernels are compiled, and where the compiled code is kept between runs.

numba notices a change of the file a function stands in, not of the files it calls into; here every
function's cache is stamped with the whole room, so that an edited kernel is never run in its old
form. Where no cache can be written or read (a read-only install, a full disk, a damaged file) the
code is compiled afresh and the run goes on.
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
    """The same place on disk, but valid for this state of the whole room only."""
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
        except Exception:  # a file cut off or not ours to read is as good as none: begin anew
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # no room or no right to write: only the next start is slower
            self.disable()


def compiled(function: Function) -> Function:
    """Compile on first call; multiply-adds may be fused, nothing else is reordered."""
    return _compile(function, {"contract"})


def compiled_bare(function: Function) -> Function:
    """As `compiled`, for code that makes no arrays: no reference is counted, which in the small
    pieces of a step would cost more than what they do."""
    return _compile(function, {"contract"}, _nrt=False)


def compiled_within(function: Function) -> Function:
    """As `compiled_bare`, but always made part of its caller: a call would copy all the arrays that
    a store and a bench hold, which takes longer than most of a step."""
    return _compile(function, {"contract"}, _nrt=False, forceinline=True)


def compiled_sum(function: Function) -> Function:
    """As `compiled_bare`, for short sums whose terms may come in any order (so SIMD applies)."""
    return _compile(function, {"contract", "reassoc", "nsz"}, _nrt=False)


def _compile(function: Function, fastmath: set[str], **options: bool) -> Function:
    dispatcher = numba.njit(function, fastmath=fastmath, error_model="numpy", nogil=True, **options)
    with suppress(RuntimeError):  # numba: "no locator available", there is nowhere to write
        dispatcher._cache = _RoomCache(function)
    result: Function = dispatcher
    return result
