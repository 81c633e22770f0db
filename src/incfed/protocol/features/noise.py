"""Noise on what clients upload, for privacy (docs/privacy.md).

Which noise a batch gets depends on the seed, the client and the number of the batch alone: other
settings leave it as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from ...mechanisms.base import Decision
from ...rules.privacy import Noise, Privacy, noise_stream
from ...types import Floats
from ..open_round import Closed, OpenRound
from .base import Feature
from .sums import uploaded_sums, with_sums

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class Noisy(NamedTuple):
    """What a client uploaded, and has not shared."""

    steps: int
    noise: Noise
    V: Floats
    b: Floats


class NoisyUploads(Feature):
    """The noise of the clients' batches."""

    def __init__(self, run: SynchronousRun, privacy: Privacy) -> None:
        self._run, self._privacy = run, privacy
        self._uploaded: dict[int, Noisy] = {}  # by client
        self._batches = [0] * run.count  # so far

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        privacy = run.server.rules.privacy
        return None if privacy is None else cls(run, privacy)

    def check(self, items: Floats, rewards: Floats) -> None:
        self._privacy.check(items, rewards)

    def called(self, opened: OpenRound) -> OpenRound:
        steps = opened.uploads.steps
        sums = uploaded_sums(opened.uploads)
        sent = [
            self._noisy(client, n, V, b)
            for client, n, V, b in zip(opened.clients, steps.tolist(), *sums, strict=True)
        ]
        return with_sums(self._run, opened, [one.V for one in sent], [one.b for one in sent], steps)

    def closed(self, opened: OpenRound, decision: Decision, closed: Closed) -> Closed:
        for client in closed.participants.tolist():
            del self._uploaded[client]
        return closed

    def _noisy(self, client: int, steps: int, V: Floats, b: Floats) -> Noisy:
        """Steps that were sent before keep the noise that they had."""
        before = self._uploaded.get(client)
        if before is not None and steps == before.steps:
            return before
        chance = noise_stream(self._run.seed, client, self._batches[client])
        self._batches[client] += 1
        noise = self._privacy.noise(self._run.dim, chance.standard_normal)
        if before is not None:
            noise = noise.plus(before.noise)
        sent = self._privacy.plausible(V + noise.V, b + noise.b, steps)
        self._uploaded[client] = Noisy(steps, noise, *sent)
        return self._uploaded[client]
