"""Commented configs: settings with their defaults and what they mean, read from the rules."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from importlib import resources
from typing import Any

from ..support.toml import toml
from .rule import meanings

WIDTH, COLUMN = 100, 30


def commented(kind: type, values: Mapping[str, Any], chosen: Collection[str] = ()) -> Iterator[str]:
    """A line for each setting with its meaning, commented out if it need not be chosen."""
    said = meanings(kind)
    examples = {field.name: field.metadata["example"] for field in fields(kind)}
    for name, value in values.items():
        if value == () and examples[name] is not None:  # an example says more than []
            value = None
        meaning = _in_a_config(said[name], value)
        mark = "" if name in chosen else "#"
        line = f"{mark}{name} = {toml(examples[name] if value is None else value)}"
        if len(whole := f"{line:<{COLUMN}}  # {meaning}") <= WIDTH:
            yield whole
        else:
            yield from textwrap.wrap(meaning, WIDTH, initial_indent="# ", subsequent_indent="# ")
            yield line


def template(room: str, kinds: Collection[type], **groups: Collection[str]) -> str:
    """The template.toml of a room. Where it says {name}, it gets the settings of the group of that
    name, which are of these rules."""
    root = resources.files(__package__.partition(".")[0])
    text = root.joinpath(room, "template.toml").read_text("utf-8")
    for group, wanted in groups.items():
        lines: list[str] = []
        for kind in kinds:
            values = {field.name: field.default for field in fields(kind) if field.name in wanted}
            lines += commented(kind, values)
        text = text.replace(f"{{{group}}}", "\n".join(lines))
    return text


def _in_a_config(meaning: str, value: Any) -> str:
    """As said of a config, which has no None: it leaves a setting out, or has the word for it."""
    if value is not None:  # what it means to leave it out is what the line shows
        meaning = re.sub(r"; None: [^;]*", "", meaning)
    if ". " not in meaning:
        meaning = meaning.rstrip(".")
    meaning = meaning.replace("None, in a config ", "").replace("None", "left out")
    return f"{meaning} (not set; an example)" if value is None else meaning
