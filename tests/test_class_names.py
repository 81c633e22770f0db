"""One name, one meaning: every class of the package has a name of its own."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import incfed

PACKAGE = Path(incfed.__file__).parent


def test_no_two_classes_have_the_same_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(file.relative_to(PACKAGE)))
    assert len(homes) > 300
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
