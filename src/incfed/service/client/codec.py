"""Arrays and statistics in JSON: little-endian float64 in base64, so that no digit is lost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.factor import Floats
from ...protocol.floats import from_text, to_text
from ...protocol.packing import FACTOR, TRIANGLE, Packed
from ...support import inputs


def read_floats(name: str, text: object, count: int | None = None) -> Floats:
    """`count` finite numbers (None: however many)."""
    allowed = f"{'' if count is None else f'{count} '}finite float64 numbers in base64"
    if not isinstance(text, str):
        raise inputs.refuse(name, type(text).__name__, allowed)
    try:
        numbers = from_text(text)
    except ValueError:
        raise inputs.refuse(name, inputs.counted(len(text), "character"), allowed) from None
    if count is not None and len(numbers) != count:
        raise inputs.refuse(name, inputs.counted(len(numbers), "number"), allowed)
    if not np.isfinite(numbers).all():
        raise inputs.refuse(name, "a number that is not finite", allowed)
    return numbers


def write_packed(packed: Packed) -> dict[str, Any]:
    return {"form": packed.form, "numbers": to_text(packed.numbers)}


def read_packed(name: str, said: object, dim: int) -> Packed:
    if not isinstance(said, dict):
        raise inputs.refuse(name, said, "an object with form and numbers")
    form = inputs.choice(f"{name}.form", said.get("form"), (TRIANGLE, FACTOR))
    if form == TRIANGLE:
        numbers = read_floats(f"{name}.numbers", said.get("numbers"), dim * (dim + 1) // 2)
    else:
        numbers = read_floats(f"{name}.numbers", said.get("numbers"))
        if len(numbers) % dim or len(numbers) > dim * dim:
            allowed = f"at most {inputs.counted(dim, 'row')} of {inputs.counted(dim, 'number')}"
            raise inputs.refuse(f"{name}.numbers", inputs.counted(len(numbers), "number"), allowed)
    return Packed(form, dim, numbers)
