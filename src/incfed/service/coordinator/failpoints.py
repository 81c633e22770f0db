"""Named points at which a coordinator can be made to die, for tests of what happens then.

before, opened, uploaded, deciding, offered, answered, delivered, "deciding again", adding, paying,
closing, committing, committed. INCFED_FAILPOINT="paying:2" kills the process the second time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

Reached = Callable[[str], None]


def nowhere(point: str) -> None:
    """The usual case."""


def from_environment(environment: Mapping[str, str] = os.environ) -> Reached:
    """kill -9 of this very process where the environment says."""
    name, _, times = environment.get("INCFED_FAILPOINT", "").partition(":")
    if not name:
        return nowhere
    left = [int(times or 1)]

    def reached(point: str) -> None:
        if point == name:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reached
