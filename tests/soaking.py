"""What is too slow for every run: `make soak` does all of it, `make test` a part spread over it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")
SOAK = "INCFED_SCHEDULES" in os.environ


def some(cases: Sequence[Case], count: int) -> list[Case]:
    """All of them in a soak, else `count`, evenly spread."""
    if SOAK or count >= len(cases):
        return list(cases)
    return [cases[round(n * (len(cases) - 1) / max(count - 1, 1))] for n in range(count)]
