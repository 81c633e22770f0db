"""From a cell to its run. Worlds stay in memory for the next cell: loading one may take long.

The parent builds every cell once to check it and to take its fingerprint; the process that runs the
cell builds it again, from the same tables, and must come to the same fingerprint. So a file that
differs between two machines, or that changed meanwhile, is a failure and never a different number.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from .. import errors
from .._version import __version__
from ..algorithms.base import Algorithm
from ..environments.base import World
from ..environments.remembered import Remembered
from ..errors import InputError
from ..mechanisms.base import MechanismError
from ..results.settings import plain
from ..simulation import simulate
from ..support.files import fingerprint
from ..support.plugins import explain
from ..values import Whole
from .cells import Cell, Failure, Record, Task, named
from .config import Component, build_algorithm, build_world, check_steps

WORLDS = 4  # kept in memory
CHANGED = (
    "would not be the same run: a file that the config names is not as it was at the start, or not "
    "the same on the machine that ran it"
)


@dataclass(frozen=True)
class BuiltCell:
    """A cell, ready to run."""

    world: World
    algorithm: Algorithm
    steps: int
    files: tuple[str, ...]  # the user's own
    world_id: str
    setting: str  # what it is, whatever the seed
    fingerprint: str


class CellRunner:
    """Builds and runs cells, in any thread."""

    def __init__(self) -> None:
        self._worlds: OrderedDict[str, tuple[Component, str]] = OrderedDict()
        self._lock = Lock()
        self._last: tuple[tuple[str, int], Remembered] | None = None  # by world and seed

    def build(self, cell: Cell, *, world_id: str | None = None) -> BuiltCell:
        """The cell, or an InputError that says of which point and place; a world in memory is used
        if its id is `world_id`, or if that is not given."""
        with self._lock, errors.at(named(cell.point) or "cell"):
            world, found = self.world(cell.world, cell.folder, world_id)
            steps = check_steps(cell.steps, world.value)
            table = {key: value for key, value in cell.algorithm.items() if key != "label"}
            label = cell.algorithm.get("label")
            place = "algorithm" if label is None else f"algorithm[{label!r}]"
            algorithm = build_algorithm(table, place, world.value, steps, cell.folder)
            seed = Whole(0).of("seed", cell.seed)
        setting = fingerprint([__version__, steps, found, algorithm.identity])
        return BuiltCell(
            world=world.value,
            algorithm=algorithm.value,
            steps=steps,
            files=(*world.sources, *algorithm.sources),
            world_id=found,
            setting=setting,
            fingerprint=fingerprint([setting, seed]),
        )

    def world(
        self, table: Mapping[str, Any], folder: Path, world_id: str | None = None
    ) -> tuple[Component, str]:
        """The world of a [world] table, and its id."""
        key = json.dumps([str(folder), plain(table, "world")], sort_keys=True)
        kept = self._worlds.pop(key, None)
        if kept is None or world_id not in (None, kept[1]):
            world = build_world(table, folder)
            with errors.at("world"):
                kept = world, fingerprint(world.identity)
        self._worlds[key] = kept
        while len(self._worlds) > WORLDS:
            self._worlds.popitem(last=False)
        return kept

    def run(self, task: Task, progress: Callable[[int], None]) -> Record | Failure:
        """Run a cell; `progress` is told the steps done."""
        files: tuple[str, ...] = ()
        cell = task.cell
        try:
            built = self.build(cell, world_id=task.world_id)
            if built.fingerprint != task.fingerprint:
                return Failure(CHANGED)
            files = built.files
            world = self._remembered(built, cell.seed)
            result = simulate(
                world, built.algorithm, steps=built.steps, seed=cell.seed, progress=progress
            )
            return Record.of(result, cell, task.fingerprint, built.setting, full=task.full)
        except (InputError, MechanismError) as error:
            return Failure(str(error))
        except (Exception, SystemExit) as error:  # whatever a user's own class raises
            return Failure(explain(error, list(files)))

    def _remembered(self, built: BuiltCell, seed: int) -> World:
        """The world of a cell; if its steps are slow to draw they are kept for the next cell, which
        is likely to be another setting with the same seed."""
        if not built.world.slow or not Remembered.fits(built.world, built.steps):
            return built.world
        last, key = self._last, (built.world_id, seed)
        if last is None or last[0] != key:
            last = self._last = key, Remembered(built.world)
        return last[1]
