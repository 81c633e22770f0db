"""Goldens: what the code gave when behaviour was frozen, as plain JSON values, compressed.

A golden holds inputs and figures, never a file of a format that may change.
"""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "golden"
RELATIVE = 1e-9  # between processors only the last digits of a figure differ
TINY = 1e-12  # what rounding leaves of a zero, also relative to the largest figure of a list
DIGITS = 12  # kept of a figure: more than is compared


def load(kind: str) -> dict[str, Any]:
    """The golden of each case of this kind."""
    found: dict[str, Any] = json.loads(lzma.decompress((FOLDER / f"{kind}.json.xz").read_bytes()))
    return found


def save(kind: str, cases: Mapping[str, Any]) -> int:
    """Write the goldens of this kind; the size of the file."""
    text = json.dumps(_short(plain(cases)), indent=None, separators=(",", ":"), sort_keys=True)
    file = FOLDER / f"{kind}.json.xz"
    FOLDER.mkdir(exist_ok=True)
    file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    return file.stat().st_size


def plain(value: Any) -> Any:
    """`value` with lists for arrays and tuples, and Python's numbers for numpy's."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def _short(value: Any) -> Any:
    """Plain values, with so many digits as are kept."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def differences(
    found: Any, golden: Any, place: str = "", *, relative: float = RELATIVE
) -> list[str]:
    """Where `found` is not as frozen: figures to 1e-9 (`relative`) of themselves, or to what
    rounding leaves of the largest in their list; everything else exactly."""
    found = plain(found)
    if isinstance(golden, dict) and isinstance(found, dict):
        missing = [f"{place}.{key}: is missing" for key in golden.keys() - found.keys()]
        new = [f"{place}.{key}: is new" for key in found.keys() - golden.keys()]
        shared = [key for key in golden if key in found]
        pairs = ((found[key], golden[key], f"{place}.{key}") for key in shared)
        return missing + new + _all(pairs, relative)
    if isinstance(golden, list) and isinstance(found, list):
        if len(found) != len(golden):
            return [f"{place}: {len(found)} values, {len(golden)} in the golden"]
        if not (_figures(golden) and _figures(found)):
            both = enumerate(zip(found, golden, strict=True))
            return _all(((one, two, f"{place}[{i}]") for i, (one, two) in both), relative)
        scale = max((abs(one) for one in golden if math.isfinite(one)), default=0.0)
        wrong = [
            i
            for i, figure in enumerate(golden)
            if not _close(found[i], figure, max(relative * abs(figure), TINY * scale))
        ]
        return [f"{place}[{i}]: {found[i]!r}, golden {golden[i]!r}" for i in wrong]
    if _figures([found, golden]):
        close = _close(found, golden, relative * abs(golden))
    else:
        close = type(found) is type(golden) and found == golden
    return [] if close else [f"{place}: {found!r:.200}, golden {golden!r:.200}"]


def _all(pairs: Any, relative: float) -> list[str]:
    found = (differences(*pair, relative=relative) for pair in pairs)
    return [line for lines in found for line in lines]


def _figures(values: list[Any]) -> bool:
    """Numbers of which at least one is no whole number."""
    return any(type(one) is float for one in values) and all(
        type(one) in (int, float) for one in values
    )


def _close(found: float, golden: float, allowed: float) -> bool:
    if math.isfinite(found) and math.isfinite(golden):
        return abs(found - golden) <= max(allowed, TINY)
    return found == golden or (math.isnan(found) and math.isnan(golden))
