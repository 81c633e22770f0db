"""Public names of a package that are imported on first use.

The package writes each name once, under `if TYPE_CHECKING:` and in the form that exports a name:
`from .room import name as name`. Editors and type checkers find it there. On first use these
imports are read from the package's source, and the one that is needed is carried out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package."""
    module = sys.modules[package]

    @cache
    def homes() -> dict[str, str]:
        import ast

        assert module.__spec__ is not None
        source = module.__spec__.loader.get_source(package)  # type: ignore[union-attr]
        if source is None:
            raise ImportError(f"{package} needs its source files, which are not installed")
        return {
            name.name: f"{package}.{node.module}"
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.ImportFrom)
            for name in node.names
            if name.asname == name.name
        }

    def get(name: str) -> Any:
        if name == "__all__":
            return names()
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(__import__(homes()[name], fromlist=[name]), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted(homes())

    return get, names
