"""Read TOML files with clear errors, and write TOML files that users may edit."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from .files import write_text

SEAL = "# Written by incfed plan ({}). Once it is changed, it is never overwritten.\n"
PATTERN = re.compile(re.escape(SEAL).replace(r"\{\}", "([0-9a-f]{16})"))


def read(path: Path, hint: str = "") -> dict[str, Any]:
    """The tables of a file; `hint` says what to do if the file is missing."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"config file not found: {path}{f'. {hint}' if hint else ''}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or not TOML; says line and column
        raise InputError(f"{path}: not a TOML file: {error}") from None


def write_new(path: Path, name: str, text: str, *, force: bool = False) -> Path:
    """Write a config that calls itself `name` to `path` (a folder: to `name` in it); where it
    went."""
    target = path / name if path.is_dir() else path
    if target.exists() and not force:
        raise InputError(f"{target}: exists already; --force overwrites it")
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(f"{target}: cannot be written, must be a file in an existing folder")
    return write_text(target, text.replace(name, target.name))


def write_sealed(file: Path, text: str) -> None:
    """Write the text and a last line with its hash. An edited file is not overwritten."""
    check_sealed(file)
    write_text(file, text + SEAL.format(_hash(text)))


def check_sealed(file: Path) -> None:
    """Refuse to overwrite a file that was edited since `write_sealed` wrote it."""
    if not file.exists():
        return
    try:
        *lines, last = file.read_bytes().decode().splitlines(keepends=True) or [""]
    except (OSError, ValueError):
        lines, last = [], ""
    found = PATTERN.fullmatch(last)
    if found is None or found[1] != _hash("".join(lines)):
        raise InputError(
            f"{file}: was edited since a plan wrote it, and would be overwritten; move it away, or "
            "choose another folder"
        )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def toml(value: Any) -> str:
    """A value in TOML syntax."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{toml_key(k)} = {toml(v)}' for k, v in value.items())} }}"
    return repr(value)


def toml_key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else toml(key)
