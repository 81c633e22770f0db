"""The list of every file of the package, from the first paragraph of each file."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/incfed"
UNNAMED = ("__init__.py", "migrations")  # a list of exports, and one file a schema

HEAD = """# Every file

The rooms of the package from the top to the ground floor, and in each of them what a file is about.
[Architecture](architecture.md) says how they work together.
"""


def rooms() -> list[str]:
    """The rooms, the command line first; "" for what stands beside them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [*(layer for layer in layers if (PACKAGE / layer).is_dir()), ""]


def described(room: str) -> dict[str, str]:
    """What each file of a room is about, by its path in the package."""
    folder = PACKAGE / room
    paths = sorted(folder.rglob("*.py") if room else folder.glob("*.py"))
    named = [path for path in paths if not set(UNNAMED) & set(path.relative_to(folder).parts)]
    return {path.relative_to(PACKAGE).as_posix(): _about(path) for path in named}


def files_page() -> str:
    return "\n".join([HEAD, *map(_section, rooms())])


def _section(room: str) -> str:
    title = f"## `{room}/`" if room else "## Beside the rooms"
    rows = [f"| `{name}` | {about} |" for name, about in described(room).items()]
    return "\n".join([f"{title}\n", "| file | |", "|---|---|", *rows, ""])


def _about(path: Path) -> str:
    """The first paragraph of its docstring, in one line."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split()).replace("|", r"\|")
