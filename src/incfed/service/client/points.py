"""Named places where a test may stop a process; nothing happens there otherwise."""

from __future__ import annotations

from collections.abc import Callable

_watcher: Callable[[str], None] | None = None


def reach(name: str) -> None:
    if _watcher is not None:
        _watcher(name)


def watch(watcher: Callable[[str], None] | None) -> None:
    """Call `watcher` with the name of every place that is reached from now on."""
    global _watcher
    _watcher = watcher
