"""The README and the docs: where they are, and their fenced blocks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Block(NamedTuple):
    language: str
    code: str
    line: int
    output: str  # the ```text block right after it


def blocks(page: str, *languages: str) -> list[Block]:
    """The fenced blocks of a page in these languages, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"(?ms)^```(\w*)\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", text):
        line = text[: match.start()].count("\n") + 2
        found.append(Block(match[1], match[2], line, match[3] or ""))
    return [block for block in found if block.language in languages]
