"""The held-out runs of the advice and of learning alone, client by client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..experiments.cells import Cell, Record
from ..experiments.engine import Session
from ..results.intervals import Interval
from ..types import Floats
from .alone import Rules
from .case import JUDGE, Case
from .goals import loss
from .search import RunsFailed, run_cells
from .space import Setting

if TYPE_CHECKING:
    from .judging import Judgement


@dataclass(frozen=True)
class ByClient:
    """What each client gained and was paid in each run."""

    gain: Floats  # [seeds, N]: reward more than alone, or regret less
    paid: Floats  # [seeds, N]


@dataclass(frozen=True)
class ClientWorth:
    """What sharing is worth to one client."""

    name: str
    gain: Interval  # reward more than alone, or regret less
    payment: float  # that it gets, in the mean

    @property
    def loses(self) -> bool:
        """For sure: the whole interval says so."""
        return self.gain.high < 0

    @property
    def wins(self) -> bool:
        """For sure."""
        return self.gain.low > 0


def cells_by_client(
    case: Case, setting: Setting, alone: Rules, seeds: Sequence[int]
) -> tuple[list[Cell], list[Cell]]:
    """The held-out runs of a setting and of learning alone, with the figures of each client."""
    groups = case.cells(setting, seeds, JUDGE), case.alone(alone, seeds, JUDGE)
    shared, apart = ([replace(cell, by_client=True) for cell in group] for group in groups)
    return shared, apart


def judge_by_client(
    case: Case,
    session: Session,
    judgement: Judgement,
    performance: str,
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
) -> ByClient:
    """What each client has of the advice. Runs that the judgement has made are not made again."""
    setting, alone = judgement.chosen.setting, judgement.alone.rules
    assert setting is not None  # an advice shares
    assert alone is not None
    cells = [cell for group in cells_by_client(case, setting, alone, seeds) for cell in group]
    outcome = run_cells(session, cells, progress)
    if outcome.failures:
        raise RunsFailed(outcome.failures[0][1])
    shared, apart = outcome.records[: len(seeds)], outcome.records[len(seeds) :]
    sign = loss(performance, 1.0)
    gain = sign * (_column(apart, performance) - _column(shared, performance))
    return ByClient(gain, _column(shared, "paid"))


def _column(records: Sequence[Record], name: str) -> Floats:
    return np.array([record.clients[name] for record in records])


def each_client(names: Sequence[str], found: ByClient, judgement: Judgement) -> list[ClientWorth]:
    """Those that lose for sure, then the others, each from the least gain to the most. Without
    names none: each run has other clients."""
    if not names:
        return []
    clients = [
        ClientWorth(name, judgement.chosen.interval(gain), float(paid.mean()))
        for name, gain, paid in zip(names, found.gain.T.tolist(), found.paid.T, strict=True)
    ]
    return sorted(clients, key=lambda one: (not one.loses, one.gain.mean))
