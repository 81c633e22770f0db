"""What an attack is, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from federation import DIM, HONEST, Federation

PAYING = 'budget = 10000.0\nmechanism = "PayEveryone"'
LIFTED = (  # no limit but the budget
    '\nlimits = { per_round = "none", per_payment = "none", per_client = "none", '
    'price_rise = "none", price_spread = "none", steps_per_upload = "none", '
    'largest_share = "none", steps_spread = "none", least_sharers = 1, least_steps = 1, '
    "refuse_resale = false }\n"
    "silent_rounds = 0\nround_interval = 0.0\nrounds_per_second = 0.0\nfalse_calls = 0\n"
    "steps_per_second = 0\n"
)
LIFTED_AT_THE_DOOR = (
    "header_time = 3600.0\nbody_time = 3600.0\nconnections = 100000\n"
    "connections_per_address = 100000\nrequests_per_client = 100000\nbad_tokens = 100000\n"
)


class Outcome(NamedTuple):
    spent: str  # by the attacker
    cost: str  # to the federation
    held: bool


class Attack(NamedTuple):
    """`lifted`: no setting lifts what stops some attacks; `known`: docs/security.md says that it
    does not hold."""

    what: str  # is tried
    run: Callable[[Federation], Outcome]
    settings: str = PAYING
    server: str = ""
    dim: int = DIM
    honest: int = HONEST  # clients
    pause: float = 0.05  # seconds between two steps of each
    lifted: bool = True
    known: bool = False

    def attempt(self, federation: Federation) -> Outcome:
        """What came of it; an attack after which the audit finds something has succeeded."""
        outcome = self.run(federation)
        findings = federation.findings()
        return (
            outcome._replace(cost=f"the audit: {findings[0]}", held=False) if findings else outcome
        )
