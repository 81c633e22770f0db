"""Real processes that start at once: forked from one that has imported and compiled everything."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

import pytest


@cache
def context() -> ForkServerContext:
    """One for all tests of this process; it ends with it."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["support.preload"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        patch.setenv("OPENBLAS_NUM_THREADS", "1")  # no threads where processes fork
        forkserver.ensure_running()
    return made


def start(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """Kill it, or `ended` it, when done."""
    process = context().Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def ended(process: ForkServerProcess, seconds: float = 60.0) -> int:
    """Its exit code; -9: it was killed."""
    process.join(seconds)
    assert process.exitcode is not None, "it lives on"
    return process.exitcode


def kill(process: ForkServerProcess) -> None:
    process.kill()
    process.join()
    process.close()
