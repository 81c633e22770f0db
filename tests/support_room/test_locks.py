"""One process to a folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from incfed.support.locks import Lock, Locked

SOON = 60.0


def test_a_lock_that_was_taken_away_is_none(tmp_path: Path) -> None:
    """Who waits for a file that its holder removes tries again with a new one."""
    path = tmp_path / "lock"
    holder, found = Lock(path), []
    entered = threading.Event()

    def wait() -> None:
        entered.set()
        found.append(Lock(path))

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert entered.wait(SOON)
    holder.release(remove=True)
    waiter.join(SOON)
    assert path.exists()
    with pytest.raises(Locked):
        Lock(path)
    found[0].release()
    Lock(path).release(remove=True)
    assert not path.exists()
