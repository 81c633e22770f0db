"""How much was sent and received: scalars as the paper counts them, and bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Traffic:
    """Since this Client was created."""

    scalars_up: int = 0  # as in the paper: d^2 for an upload, d for db
    scalars_down: int = 0  # d^2 + d for a download
    bytes_sent: int = 0  # HTTP headers and bodies, without TLS and TCP
    bytes_received: int = 0
    requests: int = 0


class ScalarCounter:
    """Counts as the simulator does: each message once, however often it was sent; dV as a full
    matrix; and d for a client that took part with nothing to share."""

    def __init__(self, dim: int, traffic: Traffic) -> None:
        self._dim, self._traffic = dim, traffic
        self._counted: set[tuple[str, int]] = set()

    def sent(self, kind: str, round: int) -> None:
        if (kind, round) not in self._counted:
            self._counted.add((kind, round))
            self._traffic.scalars_up += {"upload": self._dim**2, "delivery": self._dim}.get(kind, 0)

    def downloaded(self, empty_round: int | None) -> None:
        """`empty_round`: the round that is over now, if this client's upload to it was empty."""
        if empty_round is not None and ("upload", empty_round) in self._counted:
            self._traffic.scalars_up += self._dim
        self._counted.clear()
        self._traffic.scalars_down += self._dim**2 + self._dim
