"""The algorithms that configs name, and those that files have recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .. import algorithms
from ..mechanisms.registry import MECHANISMS
from ..protocol.triggers import TRIGGERS
from ..rules.limits import Limits
from ..rules.plugins import Kinds, public
from ..rules.privacy import Privacy
from ..rules.rule import read
from .base import Algorithm

ALGORITHMS = Kinds(Algorithm, public(algorithms, Algorithm))

_PARTS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "mechanism": MECHANISMS.recorded,
    "trigger": TRIGGERS.recorded,
    "limits": partial(read, Limits, place="limits"),
    "privacy": partial(read, Privacy, place="privacy"),
}


def recorded_algorithm(settings: Mapping[str, Any]) -> Algorithm:
    """The algorithm that `Algorithm.settings` described. InputError unless it is one of incfed's,
    made of parts that are incfed's: no code is loaded."""
    parts = {
        name: _PARTS[name](value) if name in _PARTS and isinstance(value, Mapping) else value
        for name, value in settings.items()
    }
    made: Algorithm = ALGORITHMS.recorded(parts)
    return made
