"""The reference of the command line: every command with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from incfed.cli.commands import app

HEAD = """# Command line

Every command of `incfed` and its options, as `incfed COMMAND --help` shows them. Exit codes: 0, all
went well; 1, something failed that the command names; 2, the input was refused before any work;
130, stopped by Ctrl-C.
"""


def walk(command: Any = None, name: str = "incfed") -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its full name."""
    command = get_command(app) if command is None else command
    if hasattr(command, "commands"):
        for key, one in command.commands.items():
            yield from walk(one, f"{name} {key}")
    elif not command.hidden:
        yield name, command


def commands_page() -> str:
    return "\n".join([HEAD, *(_section(name, command) for name, command in walk())])


def shown(command: Any) -> list[Any]:
    """Its arguments and options; not those that are only understood for the sake of old scripts."""
    return [one for one in command.params if not getattr(one, "hidden", False)]


def _section(name: str, command: Any) -> str:
    known = shown(command)
    arguments = [one for one in known if one.param_type_name == "argument"]
    options = [one for one in known if one.param_type_name == "option"]
    usage = " ".join([name, *(_usage(one) for one in arguments), "[OPTIONS]"])
    lines = [f"## {name}\n", f"```text\n{usage}\n```\n", _plain(command.help), ""]
    rows = [f"| `{_usage(one)}` | {_cell(one.help)} | {_default(one)} |" for one in arguments]
    rows += [f"| {_names(one)} | {_cell(one.help)} | {_default(one)} |" for one in options]
    if rows:
        lines += ["| | | default |", "|---|---|---|", *rows, ""]
    if command.epilog:
        lines += ["```text", *_examples(command.epilog), "```", ""]
    return "\n".join(lines)


def _usage(argument: Any) -> str:
    word = (argument.metavar or argument.name.upper()).strip("{}").upper().removesuffix("...")
    word += "..." if argument.nargs == -1 else ""
    return word if argument.required else f"[{word}]"


def _names(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return ", ".join(f"`{name}{value}`" for name in option.opts)


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    if value is None or value == () or getattr(parameter, "is_flag", False):
        return ""
    return f"`{value}`"


def _plain(text: str | None) -> str:
    """Without the marks of the terminal."""
    return re.sub(r"(?<!\\)\[/?(?:bold|dim|italic)\]", "", text or "").replace("\\[", "[")


def _cell(text: str | None) -> str:
    return " ".join(_plain(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _examples(epilog: str) -> list[str]:
    return [line for line in _plain(epilog).splitlines() if line.strip()]
