"""From a cell to its run. Worlds are kept for the next cell: loading one may take long.

The parent builds every cell once to check it and to take its fingerprint; whoever runs the cell
builds it again, from the same tables, and must come to the same fingerprint. So a file that differs
between two machines, or that changed meanwhile, is a fault and never a different number.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from .._version import __version__
from ..algorithms.base import Algorithm
from ..environments.base import World
from ..environments.remembered import Remembered
from ..mechanisms.base import MechanismError
from ..results.settings import plain
from ..simulation import simulate
from ..support import places
from ..support.files import fingerprint
from ..support.inputs import InputError, integer
from ..support.plugins import explain
from . import kinds
from .cells import Cell, Record, named
from .config import build_algorithm, check_steps
from .experiment import Part
from .workers import Fault

ROOM = 4  # worlds kept in memory
OTHER = (
    "would not be the same run: a file that the config names is not as it was when the sweep "
    "started, or not the same on the machine that ran it"
)


@dataclass(frozen=True)
class Made:
    """A cell, ready to run."""

    world: World
    algorithm: Algorithm
    steps: int
    files: tuple[str, ...]  # the user's own
    scene: str  # by which its world is recognised
    setting: str  # what it is, whatever the seed
    fingerprint: str


@dataclass(frozen=True)
class Work:
    """A cell on its way to whoever runs it, and what it must turn out to be."""

    cell: Cell
    steps: int
    scene: str
    fingerprint: str


class Workshop:
    """Builds cells, in any thread."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._worlds: OrderedDict[str, tuple[Part, str]] = OrderedDict()
        self._lock = Lock()
        self._last: tuple[tuple[str, int], Remembered] | None = None  # by world and seed

    def make(self, cell: Cell, *, scene: str | None = None) -> Made:
        """The cell, or an InputError that says of which point and place; a world that is kept is
        used if it is the one that `scene` says."""
        with self._lock, places.at(named(cell.point) or "cell"):
            world, found = self._world(cell, scene)
            steps = check_steps(cell.steps, world.value)
            table = {key: value for key, value in cell.algorithm.items() if key != "label"}
            label = cell.algorithm.get("label")
            place = "algorithm" if label is None else f"algorithm[{label!r}]"
            part = build_algorithm(table, place, world.value, steps, cell.folder)
            seed = integer("seed", cell.seed, low=0)
        setting = fingerprint([__version__, steps, found, part.identity()])
        return Made(
            world=world.value,
            algorithm=part.value,
            steps=steps,
            files=(*world.sources, *part.sources),
            scene=found,
            setting=setting,
            fingerprint=fingerprint([setting, seed]),
        )

    def _world(self, cell: Cell, scene: str | None) -> tuple[Part, str]:
        key = json.dumps([str(cell.folder), plain(cell.world, "world")], sort_keys=True)
        kept = self._worlds.pop(key, None)
        if kept is None or scene not in (None, kept[1]):
            example = '[world] with kind = "Synthetic"'
            table = places.table("world", cell.world, example)
            built = kinds.build(kinds.WORLDS, table, "world", Path(cell.folder))
            part = Part(built.value, built.sources, table)
            with places.at("world"):
                kept = part, fingerprint(part.identity())
        self._worlds[key] = kept
        while len(self._worlds) > self._room:
            self._worlds.popitem(last=False)
        return kept

    def do(self, work: Work, watch: Callable[[int], None]) -> Record | Fault:
        """Run a cell. This is the skill of every worker, here and elsewhere."""
        files: tuple[str, ...] = ()
        try:
            made = self.make(work.cell, scene=work.scene)
            if made.fingerprint != work.fingerprint:
                return Fault(OTHER)
            files = made.files
            seed = work.cell.seed
            world = self._remembered(made, seed)
            result = simulate(world, made.algorithm, steps=made.steps, seed=seed, progress=watch)
            return Record.of(result, work.cell, work.fingerprint, made.setting)
        except (InputError, MechanismError) as error:
            return Fault(str(error))
        except (Exception, SystemExit) as error:  # whatever a user's own class raises
            return Fault(explain(error, list(files)))

    def _remembered(self, made: Made, seed: int) -> World:
        """The world of a cell; if its steps are slow to draw they are kept for the next cell, which
        is likely to be another setting with the same seed."""
        if not made.world.slow or not Remembered.fits(made.world, made.steps):
            return made.world
        last, key = self._last, (made.scene, seed)
        if last is None or last[0] != key:
            last = self._last = key, Remembered(made.world)
        return last[1]

    def __reduce__(self) -> tuple[Any, ...]:
        """To a worker goes an empty one."""
        return Workshop, (self._room,)
