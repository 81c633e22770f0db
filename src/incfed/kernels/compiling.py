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
    """Called from Python. Compiled on first call; multiply-adds may be fused, nothing else is
    reordered.

    Kernels make no arrays, their callers do: no reference is counted, which in the small pieces of
    a step would cost more than what they do, and take half as long again to compile.
    """
    return _compile(function, _FUSED)


def compiled_sum(function: Function) -> Function:
    """As `compiled`, for sums whose terms may come in any order (so SIMD applies)."""
    return _compile(function, _ANY_ORDER)


def inner(function: Function) -> Function:
    """As `compiled`, but called by other kernels only: nothing to call it from Python is made."""
    return _compile(function, _FUSED, no_cpython_wrapper=True)


def inner_sum(function: Function) -> Function:
    """As `inner`, for sums whose terms may come in any order."""
    return _compile(function, _ANY_ORDER, no_cpython_wrapper=True)


def inlined(function: Function) -> Function:
    """Made part of the kernel that calls it, before types are inferred. For what is called in one
    place, or takes a whole store or bench: a call would copy the descriptors of all its arrays."""
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
    with suppress(RuntimeError):  # numba: "no locator available", there is nowhere to write
        dispatcher._cache = _RoomCache(function)
    result: Function = dispatcher
    return result
