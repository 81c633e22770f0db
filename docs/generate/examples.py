"""The page of examples: every script, and every notebook with its outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples"
HEAD = """# Examples

Short scripts and notebooks, one idea each, from the folder `examples`. All are run as tests.
"""


def examples_page() -> str:
    parts = [HEAD, *(_script(path) for path in sorted(FOLDER.glob("*.py"), key=_order))]
    parts += [
        _notebook(path) for path in sorted((FOLDER / "notebooks").glob("*.ipynb"), key=_order)
    ]
    return "\n".join(parts)


def _order(path: Path) -> int:
    """As the README of the folder lists them."""
    return (FOLDER / "README.md").read_text(encoding="utf-8").index(f"[{path.name}]")


def _script(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(source)) or ""
    code = source.split('"""\n', 2)[-1].strip()
    return f"## {path.name}\n\n{about}\n\n```python\n{code}\n```\n"


def _notebook(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = [f"## {path.name}\n"]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":  # its heading is a part of this page
            parts.append(source.replace("# ", "### ", 1) if source.startswith("# ") else source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [_output(one) for one in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _output(one: dict[str, Any]) -> str:
    if "text" in one:
        return f"```text\n{''.join(one['text']).rstrip()}\n```"
    data = one["data"]
    if "text/html" in data:  # as a notebook shows it; a blank line would end it
        return "".join(data["text/html"]).strip().replace("\n\n", "\n")
    if "image/png" in data:
        return f"![A figure](data:image/png;base64,{''.join(data['image/png']).strip()})"
    return f"```text\n{''.join(data['text/plain'])}\n```"
