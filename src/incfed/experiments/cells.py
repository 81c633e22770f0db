"""Cells: single runs as plain data, and what is kept of each.

A cell means the same wherever it is run; so does its record, which goes back to the process that
asked for it, and into a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..results.records import CURVES, Result
from ..results.settings import plain

POINTS = 200  # of a curve: as many as a plot shows
BY_CLIENT = ("reward", "regret", "paid")


@dataclass(frozen=True)
class Cell:
    """One run, described."""

    world: Mapping[str, Any]  # a [world] table of a config
    algorithm: Mapping[str, Any]  # an [[algorithm]] table; a label names it in messages only
    seed: int
    steps: int | None = None  # None: all of a recorded world
    folder: Path = field(default_factory=Path.cwd)  # paths in the tables start here
    point: Mapping[str, Any] = field(default_factory=dict)  # what names it: columns of a table
    by_client: bool = False  # keep the figures of each client, too

    @property
    def name(self) -> str:
        """For messages: "paid, beta 0.7, seed 3"."""
        return ", ".join([*filter(None, [named(self.point)]), f"seed {self.seed}"])


@dataclass(frozen=True)
class Task:
    """A cell as it is sent to the process that runs it, with the fingerprint it must have there."""

    cell: Cell
    steps: int
    world_id: str
    fingerprint: str
    full: bool = False  # send back the whole result, not only a record


@dataclass(frozen=True)
class Failure:
    """Why a cell has no record, in one line."""

    text: str


@dataclass(frozen=True)
class Record:
    """What is kept of a run."""

    point: Mapping[str, Any]
    seed: int
    fingerprint: str
    figures: Mapping[str, float]  # final values: steps, regret, reward, communication, ...
    curve: Mapping[str, list[float]]  # "step" and the four metrics at up to POINTS steps
    setting: str = ""  # what the run has in common with other seeds of the same
    clients: Mapping[str, list[float]] = field(default_factory=dict)  # if asked for: BY_CLIENT
    result: Result | None = None  # all of it, if that was asked for

    @classmethod
    def of(
        cls, result: Result, cell: Cell, fingerprint: str, setting: str = "", *, full: bool = False
    ) -> Record:
        figures = {key: value for key, value in result.summary().items() if value is not None}
        steps = result.regret.size
        at = np.unique(np.linspace(0, steps - 1, min(POINTS, steps)).round().astype(np.int64))
        curve = {"step": at + 1.0} | {name: getattr(result, name)[at] for name in CURVES}
        return cls(
            point=plain(cell.point, "point"),
            seed=cell.seed,
            fingerprint=fingerprint,
            figures={key: float(value) for key, value in figures.items()},
            curve={name: [float(x) for x in values] for name, values in curve.items()},
            setting=setting,
            clients=_by_client(result) if cell.by_client else {},
            result=result if full else None,
        )

    def to_json(self) -> str:
        """One line, without the whole result. JSON has no NaN and no infinity: they are written as
        text (see `plain`)."""
        kept = {name: value for name, value in vars(self).items() if name != "result"}
        return json.dumps(plain(kept, "record"), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Record:
        """The same record, bit for bit; a ValueError, TypeError or KeyError if it is none."""
        given = json.loads(line)
        return cls(
            point=dict(given["point"]),
            seed=int(given["seed"]),
            fingerprint=str(given["fingerprint"]),
            figures={key: float(value) for key, value in given["figures"].items()},
            curve=_columns(given["curve"]),
            setting=str(given["setting"]),
            clients=_columns(given.get("clients", {})),
        )

    def answers(self, cell: Cell) -> bool:
        """Whether it has all that the cell asks for."""
        return bool(self.clients) or not cell.by_client


def _by_client(result: Result) -> dict[str, list[float]]:
    return {name: getattr(result.clients, name).tolist() for name in BY_CLIENT}


def _columns(given: Mapping[str, Any]) -> dict[str, list[float]]:
    return {name: [float(x) for x in values] for name, values in given.items()}


def named(point: Mapping[str, Any]) -> str:
    """A point in words: "paid, beta 0.7, costs 10"; what it does not have is left out."""
    words = [
        str(value) if key == "algorithm" else f"{key} {shown(value)}"
        for key, value in point.items()
        if value is not None
    ]
    return ", ".join(words)


def shown(value: Any, *, limit: int | None = 60) -> str:
    """A value of a point in a table."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and set(value) == {"kind"}:
        return str(value["kind"])
    text = json.dumps(plain(value, "value"), ensure_ascii=False)
    return text if limit is None or len(text) <= limit else f"{text[: limit - 3]}..."
