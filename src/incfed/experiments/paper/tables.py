"""Tables 1 to 6 of the paper: their layout, the setting behind each cell, what was printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from .settings import ALTRUISTIC, MOVIELENS, SYNTHETIC, PaperSetting

QUANTITIES = ("performance", "communication", "payment")
THRESHOLDS = {
    "high": "D_c = T / (N d ln T)",
    "low": "D_c = T / (N² d ln T)",
    "theory": "D_c = T / (N² d ln T) - sqrt(T² / (N² d R ln T)) ln β",
}


class Printed(NamedTuple):
    """A cell as published; None: the paper has no such figure."""

    performance: float
    communication: float
    payment: float | None


@dataclass(frozen=True)
class PaperTable:
    """Blocks of three lines (performance, communication, payment), columns of methods.

    A block is a cost D at one threshold (Tables 1 to 4), or a threshold at cost 100 (5 and 6).
    """

    name: str
    title: str
    world: str
    threshold: str | None = None  # None: the blocks are thresholds
    notes: tuple[str, ...] = ()  # errors in print

    @property
    def performance(self) -> str:
        """What the first line of a block is."""
        return "reward" if self.world == MOVIELENS else "regret"

    @property
    def figures(self) -> dict[tuple[str, str], Printed]:
        """What was printed, by block and column."""
        return {
            (block, column): Printed(*printed)
            for block, cells in _published()[self.name].items()
            for column, printed in cells.items()
        }

    @property
    def blocks(self) -> list[str]:
        return list(dict.fromkeys(block for block, _ in self.figures))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for _, column in self.figures))

    def setting(self, block: str, column: str) -> PaperSetting:
        threshold, cost = (
            (block, 100.0) if self.threshold is None else (self.threshold, float(block))
        )
        if column == ALTRUISTIC:
            return PaperSetting(self.world, threshold, method=ALTRUISTIC)
        return PaperSetting(self.world, threshold, cost=cost, beta=float(column))

    def settings(self) -> list[PaperSetting]:
        return [self.setting(*place) for place in self.figures]

    def block_title(self, block: str) -> str:
        return THRESHOLDS[block] if self.threshold is None else f"D = {block}"

    def column_title(self, column: str) -> str:
        return column if column == ALTRUISTIC else f"β = {column}"


TABLES = {
    table.name: table
    for table in (
        PaperTable("table1", "Synthetic, fixed D_c", SYNTHETIC, "high"),
        PaperTable(
            "table2", "MovieLens, theoretical D_c", MOVIELENS, "theory",
            ("At D = 0, β = 0.3, the reward falls by 4.0 %; the paper prints 2.4 %.",
             "The last block of the printed table says regret where it means reward."),
        ),
        PaperTable("table3", "MovieLens, lower fixed D_c", MOVIELENS, "low"),
        PaperTable(
            "table4", "MovieLens, higher fixed D_c", MOVIELENS, "high",
            ("At β = 0.3 the reward falls by 0.4 % (D = 10) and by 1.0 % (D = 100); the paper "
             "prints 0.1 % for both.",),
        ),
        PaperTable("table5", "Synthetic case study, D = 100", SYNTHETIC),
        PaperTable("table6", "MovieLens case study, D = 100", MOVIELENS),
    )
}  # fmt: skip


@cache
def _published() -> dict[str, Any]:
    """table -> block -> column -> the three figures."""
    text = resources.files(__package__).joinpath("published.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
