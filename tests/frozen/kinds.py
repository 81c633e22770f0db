"""All kinds of frozen behaviour; each has cases, functions that give plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from frozen import config_verdicts, figures, runs, traces, value_verdicts

KINDS: dict[str, Mapping[str, Callable[[], Any]]] = {
    "figures": figures.CASES,
    "runs": runs.CASES,
    "traces": traces.CASES,
    "verdicts": {**config_verdicts.CASES, **value_verdicts.CASES},
}
