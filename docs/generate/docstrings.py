"""Docstrings as pages show them: what each setting means as a list, and examples as code.

In a docstring a line "name: meaning" (or "name, other: meaning") begins what is said of a setting,
up to the next one or an empty line. An example begins with ">>>" and ends with an empty line.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe

NAME = r"(?:[a-z]\w*|D_c)"
MEANING = re.compile(rf"({NAME}(?:, {NAME})*): (.+)")


def meanings(docstring: str) -> dict[str, str]:
    """What a docstring says of each setting."""
    found: dict[str, str] = {}
    for paragraph in _paragraphs(docstring):
        for names, text in _entries(paragraph):
            found |= dict.fromkeys(names, text)
    return found


def page(docstring: str) -> str:
    """The docstring as Markdown."""
    parts = []
    for paragraph in _paragraphs(docstring):
        entries = _entries(paragraph)
        if paragraph.startswith(">>> "):
            parts.append(f"```pycon\n{paragraph}\n```")
        elif entries:
            lines = (f"- {_names(names)}: {text}" if names else text for names, text in entries)
            parts.append("\n".join(lines))
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _paragraphs(docstring: str) -> list[str]:
    return re.split(r"\n\s*\n", inspect.cleandoc(docstring))


def _entries(paragraph: str) -> list[tuple[list[str], str]]:
    """Names and meaning of each setting of a paragraph; none if it does not begin with one."""
    found: list[tuple[list[str], str]] = []
    for line in paragraph.splitlines():
        if match := MEANING.fullmatch(line):
            found.append((match[1].split(", "), match[2]))
        elif not found:
            return []
        else:
            names, text = found[-1]
            found[-1] = names, f"{text} {line.strip()}"
    return found


class Docstrings(griffe.Extension):
    """Rewrites what griffe has read, before a page is made of it."""

    def on_object(self, *, obj: griffe.Object, **more: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = page(_completed(obj) or obj.docstring.value)


def _completed(obj: griffe.Object) -> str | None:
    """The docstring of a class as Python has it: with what its settings mean."""
    if not obj.is_class:
        return None
    found: Any = importlib.import_module(obj.module.path)
    for name in obj.path.removeprefix(f"{obj.module.path}.").split("."):
        found = getattr(found, name, None)
    return getattr(found, "__doc__", None)
