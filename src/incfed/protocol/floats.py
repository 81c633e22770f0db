"""Arrays on disk (float64, little-endian) and in JSON (the same in base64), without loss."""

from __future__ import annotations

import base64

import numpy as np

from ..types import Floats


def to_bytes(numbers: Floats) -> bytes:
    return np.ascontiguousarray(numbers, "<f8").tobytes()


def from_bytes(data: bytes) -> Floats:
    """ValueError if the data does not consist of whole float64 numbers."""
    return np.frombuffer(data, "<f8").astype(np.float64)


def to_text(numbers: Floats) -> str:
    return base64.b64encode(to_bytes(numbers)).decode("ascii")


def from_text(text: str) -> Floats:
    """ValueError if the text is not valid. The caller checks the numbers, which may be NaN."""
    return from_bytes(base64.b64decode(text, validate=True))
