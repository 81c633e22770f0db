"""The names of swept parameters for people to read: in words, with a unit or the paper's letter.
Files keep the short names of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .cells import shown
from .grid import SweepAxis

# By path without the label of an algorithm: a title, and what the numbers are.
KNOWN = {
    "run.steps": ("steps", ""),
    "world.clients": ("clients", ""),
    "world.dim": ("features", "of an arm"),
    "world.arms": ("arms", "to choose from in a step"),
    "world.pool": ("arms in all", ""),
    "world.noise": ("noise of rewards", "standard deviation"),
    "world.spread": ("spread of clients", "0: all alike"),
    "world.activity": ("inequality of activity", "0: all act equally often"),
    "algorithm.costs": ("cost of sharing", "money, for a client and round"),
    "algorithm.threshold": ("threshold D_c", ""),
    "algorithm.ridge": ("ridge λ", ""),
    "algorithm.noise": ("assumed noise σ", "standard deviation of a reward"),
    "algorithm.delta": ("confidence δ", "chance that a bound fails"),
    "algorithm.exploration": ("exploration α", ""),
    "algorithm.trust": ("trust in others", ""),
    "algorithm.budget": ("budget", "money, for all rounds"),
    "algorithm.availability": ("availability", "chance that a client answers"),
    "algorithm.upload": ("upload ratio", "growth of a determinant"),
    "algorithm.download": ("download", ""),
    "algorithm.growth": ("growth", "of a determinant"),
    "algorithm.mechanism.beta": ("wanted share β", "of the information of everyone"),
    "algorithm.mechanism.price": ("price", "money, for a client and round"),
    "algorithm.mechanism.per_round": ("budget of a round", "money"),
    "algorithm.mechanism.pot": ("pot of a round", "money"),
    "algorithm.mechanism.cover": ("wanted share", "of the information of everyone"),
    "algorithm.mechanism.reserve": ("reserve price", "money"),
    "algorithm.mechanism.kind": ("mechanism", ""),
    "algorithm.trigger.news": ("news", "that a round waits for"),
    "algorithm.trigger.kind": ("trigger", ""),
}


@dataclass(frozen=True)
class Parameter:
    """A parameter in words."""

    title: str
    unit: str = ""

    @property
    def heading(self) -> str:
        """At the head of a column."""
        return self.title[:1].upper() + self.title[1:]

    @property
    def axis(self) -> str:
        """Along an axis of a figure."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


Names = Mapping[str, Parameter]
"""By the column of a parameter."""


def names_of(axes: Sequence[SweepAxis]) -> dict[str, Parameter]:
    """The names of swept parameters; those of one algorithm only, where others have the same, with
    its label."""
    found = {axis.column: _known(axis) for axis in axes}
    twice = Counter(parameter.title for parameter in found.values())
    for axis in axes:
        one = found[axis.column]
        if twice[one.title] > 1:
            whose = axis.only or axis.section
            found[axis.column] = Parameter(f"{one.title} of {whose}", one.unit)
    return found


def name_of(column: str, names: Names) -> Parameter:
    """A column that no axis names (records of an earlier sweep) is called by its last key."""
    return names.get(column) or Parameter(_words(column.rpartition(".")[2]))


def in_words(point: Mapping[str, Any], names: Names) -> str:
    """A point as people say it: "paid, cost of sharing 10"; what it does not have is left out."""
    words = [
        str(value) if key == "algorithm" else f"{name_of(key, names).title} {value_in_words(value)}"
        for key, value in point.items()
        if value is not None
    ]
    return ", ".join(words)


def value_in_words(value: Any) -> str:
    """A value as people say it: "PaymentEfficient (beta 0.7)" of a table with a kind."""
    if isinstance(value, Mapping) and len(value) > 1 and "kind" in value:
        options = (
            f"{_words(key)} {shown(option)}" for key, option in value.items() if key != "kind"
        )
        return f"{value['kind']} ({', '.join(options)})"
    return shown(value)


def _known(axis: SweepAxis) -> Parameter:
    path = ".".join([axis.section, *axis.keys])
    return Parameter(*KNOWN[path]) if path in KNOWN else Parameter(_words(axis.keys[-1]))


def _words(key: str) -> str:
    return key.replace("_", " ")
