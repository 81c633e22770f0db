"""The reference of all settings of config files, with default and meaning, read from the code: the
constructors that the tables are passed to, their docstrings and the comments beside their fields;
and the commented configs that `incfed init` writes."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from incfed.algorithms import Algorithm
from incfed.algorithms.registry import ALGORITHMS
from incfed.experiments.config import (
    CUT,
    RUN_KEYS,
    WORLDS,
    Recipe,
    check_outline,
)
from incfed.ledger.settings import Settings
from incfed.mechanisms.registry import MECHANISMS
from incfed.planning.case import LEAVE, SHARE
from incfed.planning.costs import DISTRIBUTIONS
from incfed.planning.space import CHOICES, KEYS, read_space
from incfed.planning.template import FIXED
from incfed.protocol.strategy import BEHAVIOURS, COSTS
from incfed.protocol.triggers import TRIGGERS
from incfed.rules import rule
from incfed.rules.limits import Limits, safe_limits
from incfed.rules.privacy import Privacy
from incfed.service.coordinator.config import ServerConfig

from .docstrings import meanings

REQUIRED = "required"
CUT_DEFAULTS = dict.fromkeys(CUT, "not set") | {
    "part": "[0.0, 1.0]",
    "turn": "false",
    "resample": '"events"',
    "repeats": "false",
    "orders": "1",
}


class Setting(NamedTuple):
    name: str
    default: str
    meaning: str


LABEL = Setting("label", "the kind", "its name in tables and plots; each has another")


class Table(NamedTuple):
    """One table of a config, or one kind of it."""

    title: str
    about: str
    settings: Sequence[Setting]


def tables() -> dict[str, list[Table]]:
    """All tables, by part of the page."""
    return {
        "`incfed run` and `incfed sweep`": [
            Table(
                "`[run]`",
                "How long, how often, and where to.",
                _template("experiments", "run", _run_defaults()),
            ),
            *_kinds(WORLDS, '`[world]`, kind `"{}"`'),
            Table(
                "`[world]`, every recorded kind",
                "",
                _template("experiments", "world", CUT_DEFAULTS),
            ),
            Table("`[[algorithm]]`, every kind", _about(Algorithm), [LABEL, *of(Algorithm)]),
            *_algorithms(),
        ],
        "`incfed plan`": [
            Table(
                "`[run]` of a plan",
                "",
                _template("planning", "run", {"steps": _run_defaults()["steps"]}),
            ),
            Table("`costs`", "A number, a list with one for each client, or one of", _costs()),
            Table(
                "Beside `costs`",
                "Before the first table.",
                _template("planning", "", {"value_per_reward": "not set", "leave": _shown(LEAVE)}),
            ),
            Table("`[algorithm]` of a plan", "What is not searched, as in a run.", _fixed()),
            Table(
                "`[search]`",
                "A range to search, or one value.",
                _template("planning", "search", _search_defaults()),
            ),
        ],
        "`incfed serve`: federation.toml": [
            Table("`[federation]`", _about(Settings), _federation()),
            Table("`[server]`", _about(ServerConfig), of(ServerConfig)),
        ],
        "Tables inside these": [
            *_kinds(MECHANISMS, '`mechanism`, kind `"{}"`'),
            *_kinds(TRIGGERS, '`trigger`, kind `"{}"`'),
            Table("`limits`", _about(Limits), _limits()),
            Table("`privacy`", _about(Privacy), of(Privacy)),
            *_kinds(COSTS, '`costs`, kind `"{}"`'),
            *_kinds(BEHAVIOURS, '`reports`, kind `"{}"`'),
        ],
    }


def settings_page() -> str:
    lines = [HEAD]
    for part, found in tables().items():
        lines += [f"## {part}", ""]
        for table in found:
            lines += [f"### {table.title}", "", *([table.about, ""] if table.about else [])]
            if table.settings:
                lines += ["| key | default | meaning |", "|---|---|---|"]
                lines += [
                    f"| `{one.name}` | {_code(one.default)} | {_cell(one.meaning)} |"
                    for one in table.settings
                ]
            lines += ["" if table.settings else "No keys of its own.", ""]
    return "\n".join(lines)


HEAD = """# Settings

Every key of every config file, with its default and what it means, as the code has them. An error
names the key, the value and what is allowed. Guides: [experiments](configuration.md),
[sweeps](sweeps.md), [planning](planning.md), [a real federation](service.md#settings).
"""


def of(make: Callable[..., Any]) -> list[Setting]:
    """The settings that a constructor takes."""
    said = said_of(make)
    return [
        Setting(name, _shown(parameter.default), said.get(name, ""))
        for name, parameter in inspect.signature(make).parameters.items()
    ]


def said_of(make: Callable[..., Any]) -> dict[str, str]:
    """What the code says of each of a constructor's settings. A class inherits from its bases."""
    found: dict[str, str] = {}
    for one in reversed(inspect.getmro(make)) if inspect.isclass(make) else [make]:
        if one.__module__.startswith("incfed"):
            found |= meanings(one.__doc__ or "") | _declared(one)
    return found


def _declared(one: Any) -> dict[str, str]:
    """What a rule says of its settings."""
    return rule.meanings(one) if inspect.isclass(one) and dataclasses.is_dataclass(one) else {}


def _kinds(kinds: Any, title: str) -> Iterator[Table]:
    for name, make in kinds.makers.items():
        yield Table(title.format(name), _about(make), of(make))


def _algorithms() -> Iterator[Table]:
    """Each with the keys that not every kind has."""
    common = {one.name for one in of(Algorithm)}
    for table in _kinds(ALGORITHMS, '`[[algorithm]]`, kind `"{}"`'):
        yield table._replace(settings=[one for one in table.settings if one.name not in common])


def _about(make: Callable[..., Any]) -> str:
    """The first paragraph of the docstring."""
    return " ".join((make.__doc__ or "").strip().partition("\n\n")[0].split())


def _federation() -> list[Setting]:
    found = [one for one in of(Settings) if one.name in rule.served(Settings)]
    said = {"budget": REQUIRED, "limits": "safe ones", "threshold": "required, unless `trigger` is"}
    return [one._replace(default=said.get(one.name, one.default)) for one in found]


def _limits() -> list[Setting]:
    """Of a federation, those that it does not name are safe; money depends on the budget."""
    plain = of(Limits)
    safe = dataclasses.asdict(safe_limits(1.0))
    found = []
    for one in plain:
        value = safe[one.name]
        money = one.name in ("per_round", "per_payment", "per_client")
        shown = f"{value:g} of the budget" if money else _shown(value)
        both = one.default if shown == one.default else f"{one.default}; served: {shown}"
        found.append(one._replace(default=both))
    return found


def _costs() -> list[Setting]:
    return [
        Setting(f'kind = "{kind}"', REQUIRED, f"with {' and '.join(f'`{n}`' for n in names)}")
        for kind, (names, _) in DISTRIBUTIONS.items()
    ]


def _fixed() -> list[Setting]:
    known = {one.name: one for one in of(ALGORITHMS.makers["IncFedUCB"])}
    return [known[name] for name in (*FIXED, "ridge")]


def _template(room: str, table: str, defaults: Mapping[str, str]) -> list[Setting]:
    """The settings of a table in the config that `incfed init` writes, set or commented out."""
    text = resources.files(f"incfed.{room}").joinpath("template.toml").read_text(encoding="utf-8")
    said: dict[str, str] = {}
    inside = ""
    for line in text.splitlines():
        bare = line.removeprefix("# ")
        if head := re.fullmatch(r"\[+(\w+)\]+", bare.strip()):
            inside = head[1]
        elif (match := re.fullmatch(r"(\w+) = (.+?)\s+# (.+)", bare)) and inside == table:
            said.setdefault(match[1], match[3])
    return [Setting(name, default, said.get(name, "")) for name, default in defaults.items()]


def _run_defaults() -> dict[str, str]:
    """What a config has that says nothing of it."""
    empty = check_outline(Recipe({"world": {}, "algorithm": [{"kind": "Independent"}]}))
    steps = "required; of a recorded world, all of it"
    known = {
        "steps": steps,
        "seeds": str(len(empty.seeds)),
        "bootstrap": str(empty.bootstrap),
        "resample": f'"{empty.resample}"',
        "output": f'"{empty.output.name}"',
    }
    return {name: known.get(name, "") for name in RUN_KEYS}


def _search_defaults() -> dict[str, str]:
    """What is searched if a config says nothing of it."""
    space = read_space({}, {}, usual=1.0)
    known: dict[str, Any] = {
        "mechanisms": list(space.candidates),
        "first": SHARE,
        "clients_may_lie": False,
        **{name: list(getattr(space, name)) for name in CHOICES},
        **{name: [one.low, one.high] for name, one in space.ranges.items()},
        "signal": space.signal,
    }
    shown = {name: _shown(known[name]) if name in known else "" for name in KEYS}
    shown["threshold"] += " times the paper's"
    shown["trust"] += " times the mean squared length of arms"
    return shown


def _shown(value: Any) -> str:
    """A default as a config would say it."""
    if value is inspect.Parameter.empty or value is dataclasses.MISSING:
        return REQUIRED
    if value is None:
        return "not set"
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, Path | Limits):
        return str(value)
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _code(default: str) -> str:
    words = default.startswith((REQUIRED, "not set", "safe")) or " " in default.strip('"')
    return default if words or not default else f"`{default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("None:", "not set:")


def missing() -> list[str]:
    """Settings of which the code says nothing."""
    found: Iterable[tuple[str, Setting]] = (
        (table.title, one) for part in tables().values() for table in part for one in table.settings
    )
    return [f"{title} {one.name}" for title, one in found if not one.meaning.strip()]
