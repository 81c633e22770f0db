"""The commented configs that `incfed init` writes."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ..support.files import write_text
from ..support.inputs import InputError

NAME = "incfed.toml"


def write_template(
    path: Path, *, force: bool = False, room: str = "experiments", name: str = NAME
) -> Path:
    """Write the config to `path` (a folder: to `name` in it) and return where it went.

    It is the template.toml of a room, which is not imported for that.
    """
    target = path / name if path.is_dir() else path
    if target.exists() and not force:
        raise InputError(f"{target}: is there already; --force replaces it")
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(f"{target}: cannot be written, must be a file in an existing folder")
    text = resources.files("incfed").joinpath(room, "template.toml").read_text("utf-8")
    return write_text(target, text.replace(name, target.name))
