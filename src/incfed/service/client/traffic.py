"""How much was sent and received: scalars as the paper counts them, and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Traffic(NamedTuple):
    """Since this Client was created."""

    scalars_up: int  # as in the paper: d^2 for an upload, d for db
    scalars_down: int  # d^2 + d for a download
    bytes_sent: int  # HTTP headers and bodies, without TLS and TCP
    bytes_received: int
    requests: int


@dataclass
class ByteCounter:
    """Over all connections of a client."""

    sent: int = 0
    received: int = 0
    requests: int = 0


class ScalarCounter:
    """Counts as the simulator does: each message once, however often it was sent; dV as a full
    matrix; and d for a client that took part with nothing to share."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._counted: set[tuple[str, int]] = set()
        self.up = self.down = 0

    def sent(self, kind: str, round: int) -> None:
        if (kind, round) not in self._counted:
            self._counted.add((kind, round))
            self.up += {"upload": self._dim**2, "delivery": self._dim}.get(kind, 0)

    def downloaded(self, empty_round: int | None) -> None:
        """`empty_round`: the round that is over now, if this client's upload to it was empty."""
        if empty_round is not None and ("upload", empty_round) in self._counted:
            self.up += self._dim
        self._counted.clear()
        self.down += self._dim**2 + self._dim
