"""Traffic: what a client sends and receives, in bytes and in the paper's scalars."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Traffic:
    """How much was sent and received since this Client was created."""

    scalars_up: int = 0  # as in the paper: d^2 for an upload, d for db
    scalars_down: int = 0  # d^2 + d for a download
    bytes_sent: int = 0  # HTTP headers and bodies, without TLS and TCP
    bytes_received: int = 0
    requests: int = 0


class ScalarCounter:
    """Counts as the simulator does: each message once, however often it was sent; dV as a full
    matrix; d for a client that took part with nothing to share; and what is streamed of a step, 1
    for its growth or d for its row."""

    def __init__(self, dim: int, traffic: Traffic, streamed: int) -> None:
        self._dim, self._traffic = dim, traffic
        self._streamed = streamed  # steps so far
        self._counted: set[tuple[str, int]] = set()

    def sent(self, kind: str, round: int, scores: int) -> None:
        """`scores`: scalars that go with every b."""
        if (kind, round) not in self._counted:
            self._counted.add((kind, round))
            scalars = {"upload": self._dim**2, "delivery": self._dim + scores}
            self._traffic.scalars_up += scalars.get(kind, 0)

    def signalled(self, learned: int, rows: bool) -> None:
        new = max(0, learned - self._streamed)
        self._traffic.scalars_up += new * (self._dim if rows else 1)
        self._streamed += new

    def downloaded(self, empty_round: int | None, model: bool, scores: int) -> None:
        """`empty_round`: the round that is over now, if this client's upload to it was empty."""
        if empty_round is not None and ("upload", empty_round) in self._counted:
            self._traffic.scalars_up += self._dim + scores
        self._counted.clear()
        if model:
            self._traffic.scalars_down += self._dim**2 + self._dim + scores
