"""Open rounds of real clients, from all that their decision depends on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from incfed.mechanisms import Mechanism
from incfed.protocol.global_statistics import GlobalStatistics
from incfed.protocol.messages import Upload
from incfed.protocol.open_round import OpenRound, Server, Uploads
from incfed.rules.limits import NO_PAST, Limits, Past
from incfed.rules.rounds import RoundRules


class Case(NamedTuple):
    """A round that is open. `_replace` varies it."""

    uploads: Mapping[int, Upload]
    shared: Callable[[int], GlobalStatistics]  # the statistics of an epoch
    mechanism: Mechanism
    ridge: float
    epoch: int = 0
    spent: float = 0.0
    budget: float = math.inf
    money_digits: int | None = None
    limits: Limits | None = None
    past: Mapping[int, Past] = NO_PAST
    members: int = 0

    def open(self) -> OpenRound:
        rules = RoundRules(
            self.mechanism, budget=self.budget, money_digits=self.money_digits, limits=self.limits
        )
        server = Server(
            rules, self.ridge, self.members, self.shared(self.epoch), 0, self.spent, self.past
        )
        uploads = Uploads.of(self.uploads, self.shared, self.epoch, self.ridge)
        return OpenRound(server, uploads, trigger=-1, count=len(self.uploads))
