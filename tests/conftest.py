"""How hard the random tests try (`pytest --hypothesis-profile soak`, `make soak`: far harder), and
a database for all who need one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from postgres import Postgres, running

# No deadline: the first example of a test may have to compile.
settings.register_profile("default", max_examples=300, deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("default"))
settings.register_profile("soak", settings.get_profile("default"), max_examples=20_000)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Whoever kills it starts it again."""
    with running() as server:
        yield server
