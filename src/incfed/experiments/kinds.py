"""The worlds and algorithms that a config can name; mechanisms are in `mechanisms.registry`."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import algorithms, environments
from ..environments.trace import Trace
from ..support import kinds, places
from ..support.inputs import InputError, refuse
from ..support.kinds import Built, Kinds, public

CUT = ("part", "turn")  # keys that every table of a recorded world may have


def build(among: Kinds, table: Mapping[str, Any], place: str, folder: Path) -> Built:
    """The object that `table` describes; of a recorded world perhaps a part, see `World.part`."""
    cut = {key: table[key] for key in CUT if key in table} if among is WORLDS else {}
    rest = {key: value for key, value in table.items() if key not in cut}
    with warnings.catch_warnings():  # the world's notes say it once for all
        warnings.simplefilter("ignore", environments.BadRows)
        built = kinds.build(among, rest, place, folder)
    if not cut:
        return built
    with places.at(place, CUT):
        shares = cut.get("part", [0.0, 1.0])
        if not isinstance(shares, list) or len(shares) != 2:
            raise refuse("part", shares, "two shares of the steps, such as [0.5, 1.0]")
        return Built(built.value.part(*shares, turn=cut.get("turn", False)), built.sources)


def _trace(file: Path) -> Trace:
    """A Trace from its .npz file: no config can hold the arrays."""
    if not isinstance(file, Path):
        raise InputError(f"file: got {file!r}, must be the path of an .npz file")
    if file.is_file() and not zipfile.is_zipfile(file):
        raise InputError(f"file: got '{file}', must be a readable .npz file")
    try:
        return Trace.load(file)
    except InputError as error:
        said = str(error)
        what = said.removeprefix("path: ") if said.startswith("path: ") else f"{file}: {said}"
        raise InputError(f"file: {what}") from None


WORLDS = Kinds(
    environments.World,
    public(environments, environments.World) | {"Trace": _trace},
    paths={"ReplayLog": ("items",)},
)
ALGORITHMS = Kinds(algorithms.Algorithm, public(algorithms, algorithms.Algorithm))
