"""A commented federation.toml: every setting with its default and meaning, read from the code."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from ...ledger.settings import Settings
from ...rules.limits import NONE, Limits, safe_limits
from ...rules.rule import meanings, served
from ...support.toml import toml
from .config import ServerConfig

HEAD = """\
# A federation to serve. Set what is not commented out; the other lines show the defaults. Times are
# in seconds, money is in the unit of the clients' costs.
#     incfed client enrol NAME --config federation.toml    # once for each client: prints its token
#     incfed serve --config federation.toml
"""
# What everybody has to choose; the values are those of a small example.
CHOSEN: Mapping[str, Any] = {
    "name": "federation",
    "dim": 25,
    "mechanism": {"kind": "PaymentEfficient", "beta": 0.7},
    "threshold": 0.5,
    "budget": 10_000.0,
    "arm_norm": 1.0,
    "reward_bound": 1.0,
}
WIDTH, COLUMN = 100, 30


def federation_template() -> str:
    """The text of the file."""
    settings = {**_defaults(Settings), **CHOSEN}
    limits = {**_defaults(Limits), **safe_limits(CHOSEN["budget"]).settings()}
    ordered = {name: settings[name] for name in [*CHOSEN, *settings] if name != "limits"}
    return "\n".join(
        [
            HEAD,
            "[federation]",
            *_lines(Settings, ordered),
            "",
            f'[federation.limits]  # "{NONE}": no limit. Money: shares of the budget above',
            *_lines(Limits, limits),
            "",
            "[server]",
            *_lines(ServerConfig, _defaults(ServerConfig)),
            "",
        ]
    )


def _defaults(kind: type) -> dict[str, Any]:
    return {field.name: field.default for field in fields(kind) if field.name in served(kind)}


def _lines(kind: type, values: Mapping[str, Any]) -> Iterator[str]:
    """A line for each setting with its meaning, commented out if it need not be chosen."""
    said = meanings(kind)
    examples = {field.name: field.metadata["example"] for field in fields(kind)}
    for name, value in values.items():
        meaning = _in_a_config(said[name], value)
        mark = "" if kind is Settings and name in CHOSEN else "#"
        line = f"{mark}{name} = {toml(examples[name] if value is None else value)}"
        if len(whole := f"{line:<{COLUMN}}  # {meaning}") <= WIDTH:
            yield whole
        else:
            yield from textwrap.wrap(meaning, WIDTH, initial_indent="# ", subsequent_indent="# ")
            yield line


def _in_a_config(meaning: str, value: Any) -> str:
    """As said of a config, which has no None: it leaves a setting out, or has the word for it."""
    if value is not None:  # what it means to leave it out is what the line shows
        meaning = re.sub(r"; None: [^;]*", "", meaning)
    if ". " not in meaning:
        meaning = meaning.rstrip(".")
    meaning = meaning.replace("None, in a config ", "").replace("None", "left out")
    return f"{meaning} (not set; an example)" if value is None else meaning
