"""All kinds of frozen behaviour; each has cases, functions that give plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from frozen import runs

KINDS: dict[str, Mapping[str, Callable[[], Any]]] = {"runs": runs.CASES}
