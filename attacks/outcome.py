"""What an attack is, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from federation import DIM, HONEST, Federation

PAYING = 'budget = 10000.0\nmechanism = "PayEveryone"'
LIFTED = (  # no limit but the budget
    '\nlimits = { per_round = "none", per_payment = "none", per_client = "none", '
    'price_rise = "none", price_spread = "none", steps_per_upload = "none", '
    'largest_share = "none", least_sharers = 1, least_steps = 1, refuse_resale = false }\n'
    "silent_rounds = 0\nround_interval = 0.0\nfalse_calls = 0\nsteps_per_second = 0\n"
)


class Outcome(NamedTuple):
    gained: str  # by the attacker
    cost: str  # to the federation
    held: bool


class Attack(NamedTuple):
    what: str  # is tried
    run: Callable[[Federation], Outcome]
    settings: str = PAYING
    dim: int = DIM
    honest: int = HONEST  # clients
    pause: float = 0.05  # seconds between two steps of each
    lifted: str = ""  # settings to run it with and without limits; empty: only with the defaults
    old: bool = False  # without limits: as version 0.1 decided
