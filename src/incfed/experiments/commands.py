"""Which command a config file is for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..support import toml


def read_tables(path: Path, hint: str, commands: Sequence[str]) -> dict[str, Any]:
    """The tables of a config for one of these commands; a config for another one is answered with
    that. `hint` says what to do if the file is missing."""
    tables = toml.read(path, hint)
    other = _command(tables)
    if other and other not in commands:
        file = shlex.quote(str(path))
        raise InputError(f"{path}: is a config for another command: incfed {other} {file}")
    return tables


def _command(tables: Mapping[str, Any]) -> str:
    """The command that this config is for, if that can be told."""
    if "federation" in tables:
        return "serve --config"
    if "sweep" in tables:
        return "sweep"
    if isinstance(tables.get("algorithm"), list):
        return "run"
    return "plan" if "costs" in tables or "search" in tables else ""
