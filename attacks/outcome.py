"""What an attack is, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from federation import DIM, HONEST, Federation


class Outcome(NamedTuple):
    gained: str  # by the attacker
    cost: str  # to the federation
    held: bool


class Attack(NamedTuple):
    what: str  # is tried
    run: Callable[[Federation], Outcome]
    settings: str = 'budget = 10000.0\nmechanism = "PayEveryone"'
    dim: int = DIM
    honest: int = HONEST  # clients
    pause: float = 0.05  # seconds between two steps of each
    lifted: str = ""  # settings without the limits that stop it; empty: it has none
