"""The base class of worlds that wrap another one and delegate to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import World


class Wrapped(World):
    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def count(self) -> int:
        return self.world.count

    @property
    def dim(self) -> int:
        return self.world.dim

    @property
    def arms_per_step(self) -> int:
        return self.world.arms_per_step

    @property
    def length(self) -> int | None:
        return self.world.length

    @property
    def chance(self) -> bool:
        return self.world.chance

    @property
    def match_rate(self) -> float:
        return self.world.match_rate

    @property
    def notes(self) -> Sequence[str]:
        return self.world.notes

    def settings(self) -> dict[str, Any]:
        return self.world.settings()
