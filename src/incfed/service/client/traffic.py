"""What went back and forth: as the paper counts it, and as the wire does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Traffic(NamedTuple):
    """Since this Client was made."""

    scalars_up: int  # of the paper: d^2 for an upload, d for db
    scalars_down: int  # d^2 + d for a download
    bytes_sent: int  # HTTP heads and bodies; TLS and TCP come on top
    bytes_received: int
    requests: int


@dataclass
class Wire:
    """Counts, over all connections of a client."""

    sent: int = 0
    received: int = 0
    requests: int = 0


class Meter:
    """Scalars as in the simulator: each message once, however often it was sent; dV as a full
    matrix; and d for those who took part with nothing to share."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._counted: set[tuple[str, int]] = set()
        self.up = self.down = 0

    def sent(self, kind: str, round: int) -> None:
        if (kind, round) not in self._counted:
            self._counted.add((kind, round))
            self.up += {"upload": self._dim**2, "delivery": self._dim}.get(kind, 0)

    def downloaded(self, idle: int | None) -> None:
        """`idle`: the round that is over, and was told that there is nothing."""
        if idle is not None and ("upload", idle) in self._counted:
            self.up += self._dim
        self._counted.clear()
        self.down += self._dim**2 + self._dim
