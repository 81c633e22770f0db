"""What an object of the user's own keeps in its attributes, as JSON can hold it."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from .plugins import Plugin

_ALLOWED = "a number, a text or an array: anything else is not saved"


def attributes(plugin: Plugin) -> dict[str, Any]:
    """Those of an object, by name; InputError if one is not a number, a text or an array."""
    return {name: _written(plugin, name) for name in _names(plugin) if hasattr(plugin, name)}


def put_back(plugin: Plugin, saved: Mapping[str, Any]) -> None:
    """Give it the attributes that were saved, and no others."""
    for name in _names(plugin):
        if hasattr(plugin, name) and name not in saved:
            object.__delattr__(plugin, name)
    for name, value in saved.items():
        object.__setattr__(plugin, name, _read(value))  # a dataclass may be frozen


def _names(plugin: Plugin) -> list[str]:
    slots = (vars(one).get("__slots__", ()) for one in type(plugin).__mro__)
    each = [name for found in slots for name in ([found] if isinstance(found, str) else found)]
    names = {*vars(plugin), *each} if hasattr(plugin, "__dict__") else {*each}
    return sorted(names - {"__dict__", "__weakref__"})


def _written(plugin: Plugin, name: str) -> Any:
    value = getattr(plugin, name)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUS":
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:  # JSON has not all of them
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        data = base64.b64encode(value.tobytes()).decode("ascii")
        return {"dtype": value.dtype.str, "data": data}
    place = f"{type(plugin).__name__}.{name}"
    raise InputError(f"got {value!r:.120}, must be {_ALLOWED}", place)


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    data = np.frombuffer(base64.b64decode(value["data"]), value["dtype"])
    if "shape" not in value:
        return data[0]
    return data.reshape(value["shape"]).copy()
