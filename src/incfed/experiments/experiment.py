"""An experiment: one world, some algorithms, some seeds; every pair of the last two is a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._version import __version__
from ..algorithms.base import Algorithm
from ..environments.base import World
from ..results.settings import plain
from ..support.files import fingerprint, slugs

INDEX = "experiment.json"  # marks a folder as one that `incfed run` made
OURS = (
    "runs",
    "plots",
    "report.html",
    "summary.md",
    "summary.json",
    "cells.parquet",
    "curves.parquet",
)


@dataclass(frozen=True)
class Recipe:
    """The tables of a config, and where they came from: small, so that each worker process gets
    this and builds the experiment for itself, whatever the size of its world."""

    tables: Mapping[str, Any]
    folder: Path = field(default_factory=Path.cwd)  # paths in the tables start here
    name: str = "config"  # for messages


@dataclass(frozen=True)
class Part:
    """A world or an algorithm, with what its own settings may not tell.

    `sources` are the user's files it came from (by SHA-256), `table` is how it was asked for.
    """

    value: Any
    sources: Mapping[str, str]
    table: Mapping[str, Any]

    def identity(self) -> dict[str, Any]:
        """All that the numbers depend on."""
        own = {"files": sorted(self.sources.values()), "table": plain(self.table, "table")}
        return {"settings": plain(self.value.settings()), **(own if self.sources else {})}


@dataclass(frozen=True)
class Job:
    """One run: where it goes, and a fingerprint by which it is recognised when it is there."""

    index: int
    label: str
    seed: int
    folder: Path
    fingerprint: str


@dataclass(frozen=True)
class Experiment:
    """Checked and complete; `config.read` makes one from a file, `config.build` from tables."""

    recipe: Recipe
    scene: Part
    entries: Mapping[str, Part]  # by label
    steps: int
    seeds: tuple[int, ...]
    output: Path

    @property
    def world(self) -> World:
        world: World = self.scene.value
        return world

    @property
    def algorithms(self) -> dict[str, Algorithm]:
        return {label: part.value for label, part in self.entries.items()}

    def jobs(self) -> list[Job]:
        """Seed by seed, so that an interrupted experiment can compare what it has."""
        folders = slugs(list(self.entries))
        scene = self.scene.identity()
        parts = {label: part.identity() for label, part in self.entries.items()}
        pairs = [(label, seed) for seed in self.seeds for label in self.entries]
        return [
            Job(
                index=index,
                label=label,
                seed=seed,
                folder=self.output / "runs" / folders[label] / f"seed-{seed}",
                fingerprint=fingerprint(
                    [__version__, label, seed, self.steps, scene, parts[label]]
                ),
            )
            for index, (label, seed) in enumerate(pairs)
        ]
