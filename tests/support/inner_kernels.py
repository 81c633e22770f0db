"""Kernels that only other kernels call, made callable from a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def callable_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    caller: Callable[..., Any] = numba.njit(lambda *args: kernel(*args))
    return caller
