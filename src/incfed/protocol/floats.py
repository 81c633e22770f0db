"""Numbers on disk and in JSON: float64, little-endian, and that in base64. No digit is lost."""

from __future__ import annotations

import base64

import numpy as np

from ..kernels.factor import Floats


def to_bytes(numbers: Floats) -> bytes:
    return np.ascontiguousarray(numbers, "<f8").tobytes()


def from_bytes(data: bytes) -> Floats:
    """ValueError where it is not whole numbers."""
    return np.frombuffer(data, "<f8").astype(np.float64)


def to_text(numbers: Floats) -> str:
    return base64.b64encode(to_bytes(numbers)).decode("ascii")


def from_text(text: str) -> Floats:
    """ValueError where it is none; what the numbers are (NaN, too) is the caller's to judge."""
    return from_bytes(base64.b64decode(text, validate=True))
