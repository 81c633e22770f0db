"""How hard the random tests try (`pytest --hypothesis-profile soak`, `make soak`: far harder), and
a database for all who need one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from support.postgres import Postgres, running

# No deadline: the first example of a test may have to compile. The same examples in every run, so
# that what fails is the change at hand; `make soak` looks for new ones.
settings.register_profile("default", max_examples=200, deadline=None, derandomize=True)
settings.register_profile(
    "soak", max_examples=20_000, deadline=None, derandomize=False, print_blob=True
)
settings.register_profile("few", max_examples=100, deadline=None, derandomize=True)
settings.load_profile("default")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the system has such: kill -9 loses nothing there either, and
    processes that flush to disk at every step are not what takes the time."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="incfed-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Whoever kills it starts it again."""
    with running() as server:
        yield server
