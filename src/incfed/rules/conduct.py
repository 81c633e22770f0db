"""How a coordinator conducts its rounds: how long it waits, who is barred, how often rounds open.

Times are in seconds.
"""

from __future__ import annotations

import math
from typing import Annotated

from ..configured import Configured
from ..values import Number, Rate, Whole
from .rule import rule, setting

BURST = 1.0  # seconds' worth of steps that are allowed at once
LONGEST = 1e7  # seconds
Seconds = Annotated[float, Number(0.0, LONGEST)]
Time = Annotated[float, Number(0.0, LONGEST, above=True)]
Count = Annotated[int, Whole(0, 10**6)]


@rule(kw_only=True)
class Conduct(Configured):
    """What only a coordinator needs."""

    upload_time: Time = setting("seconds to upload, after a round opens", default=10.0)
    answer_time: Time = setting("seconds to answer and deliver, after an offer", default=10.0)
    live_time: Time = setting("clients seen within this time are awaited", default=90.0)
    attempts: Annotated[int, Whole(1, 1000)] = setting(
        "decisions of a round, before it closes with those who delivered", default=3
    )
    barred_time: Seconds = setting(
        "seconds out after failing to deliver; 0: it is not barred", default=300.0
    )
    silent_rounds: Count = setting(
        "rounds in which a client is silent, after which it is not awaited; 0: it always is",
        default=2,
    )
    round_interval: Seconds = setting(
        "seconds between two rounds that the same client calls for", default=0.5
    )
    rounds_per_second: Annotated[float, Rate(1e-7, 1e6)] = setting(
        "the most rounds in a second, whoever calls for them; 0: no limit", default=2.0
    )
    false_calls: Count = setting(
        "false calls in a row, after which a client's calls are ignored; 0: never", default=3
    )
    ignored_time: Seconds = setting("seconds that false calls are ignored", default=60.0)
    steps_per_second: Annotated[float, Number(0.0, 1e9)] = setting(
        "the most steps that a client can learn in a second; 0: no limit", default=1000.0
    )
    lag: Count = setting("epochs that an upload may be behind", default=16)

    @property
    def round_gap(self) -> float:
        """Seconds from the opening of a round to that of the next, at least."""
        return 1.0 / self.rounds_per_second if self.rounds_per_second else 0.0

    def most_steps(self, seconds: float) -> float:
        """That a client can have learned in this time."""
        if not self.steps_per_second:
            return math.inf
        return math.floor(self.steps_per_second * (max(0.0, seconds) + BURST))

    def barred_until(self, now: float) -> float | None:
        """Until when a client is barred that fails to deliver now; None: it is not."""
        return now + self.barred_time if self.barred_time else None
