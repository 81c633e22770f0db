"""What clients upload, where that is not simply all that is pending.

A client shares from `share_from` steps on, and with privacy its uploads are noisy. Which noise a
batch gets depends on the seed, the client and the batch alone: other settings leave it as it is.
"""

from __future__ import annotations

import numpy as np

from ..kernels.factor import Floats, Ints
from ..kernels.pending import Mask, Pending
from ..kernels.store import BASE, OWN, PENDING, Store
from ..protocol.privacy import Noise, Privacy
from ..protocol.server import Uploads
from ..support import inputs

SLACK = 1.0 + 1e-9  # scaling a vector to the limit may round it up
_STREAM = 2**31 + 2  # spawn key: its own


class Sharing:
    """The batches of N clients in one run."""

    def __init__(
        self, share_from: int, privacy: Privacy | None, count: int, dim: int, seed: int
    ) -> None:
        self.privacy = privacy
        self._share_from, self._dim, self._seed = share_from, dim, seed
        self._told = np.zeros(count, np.int64)  # pending steps that an upload had before
        self._batches = np.zeros(count, np.int64)  # so far
        self._noise: dict[int, Noise] = {}  # of what was told and is still pending
        self._sent: dict[int, Floats] = {}  # db of the present round

    def calls(self, client: int, store: Store) -> bool:
        """Has it enough new steps to call for a round?"""
        return bool(store.table[client, PENDING] - self._told[client] >= self._share_from)

    def ready(self, clients: Ints, store: Store) -> Mask:
        """Who uploads: those with enough new steps, or none."""
        new = store.table[clients, PENDING] - self._told[clients]
        return np.asarray((new == 0) | (new >= self._share_from))

    def upload(self, uploads: Uploads, store: Store, ridge: float) -> Uploads:
        """Line 10, with noise."""
        clients = uploads.clients
        steps = store.table[clients, PENDING]
        if self.privacy is not None:
            grams = np.empty((len(clients), self._dim, self._dim))
            for j, client in enumerate(clients.tolist()):
                if steps[j] > self._told[client]:
                    self._noise[client] = self._noise_of(client).plus(self._draw(client))
                V, b = self._noise_of(client)
                V, b = V + _matrix(uploads.pending, j), b + store.pairs[store.table[client, OWN], 1]
                grams[j], self._sent[client] = self.privacy.plausible(V, b, int(steps[j]))
            uploads = uploads._replace(
                logdets=_logdets(store.blocks[store.table[clients, BASE], 1] + grams, ridge),
                pending=_dense(grams),
            )
        self._told[clients] = steps
        return uploads

    def deliver(self, sharing: Ints, db: Floats) -> Floats:
        """Line 12, with noise; what they uploaded is shared."""
        self._told[sharing] = 0
        if self.privacy is None:
            return db
        for client in sharing.tolist():
            del self._noise[client]
        return np.array([self._sent[client] for client in sharing.tolist()]).reshape(-1, self._dim)

    def ranks(self, ranks: Ints) -> Ints:
        """Of uploads of so many steps, as they are packed: noise goes in every direction."""
        return ranks if self.privacy is None else np.full_like(ranks, self._dim)

    def _noise_of(self, client: int) -> Noise:
        return self._noise.get(client) or Noise.none(self._dim)

    def _draw(self, client: int) -> Noise:
        assert self.privacy is not None
        key = (_STREAM, client, int(self._batches[client]))
        self._batches[client] += 1
        chance = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))
        return self.privacy.noise(self._dim, chance.standard_normal)


def check_bounds(privacy: Privacy, items: Floats, rewards: Floats) -> None:
    """InputError if an arm or a reward exceeds the bounds that the noise is made for."""
    longest = float(np.sqrt(np.einsum("md,md->m", items, items).max(initial=0.0)))
    largest = float(np.abs(rewards).max(initial=0.0, where=~np.isnan(rewards)))
    if longest > privacy.arm_norm * SLACK:
        allowed = f"at least the length of the longest arm, {longest:.10g}"
        raise inputs.refuse("privacy.arm_norm", privacy.arm_norm, allowed)
    if largest > privacy.reward_bound * SLACK:
        allowed = f"at least the largest reward, {largest:.10g}"
        raise inputs.refuse("privacy.reward_bound", privacy.reward_bound, allowed)


def _matrix(pending: Pending, j: int) -> Floats:
    if pending.dense[j] >= 0:
        return np.asarray(pending.grams[pending.dense[j]])
    rows = pending.rows[pending.start[j] : pending.start[j + 1]]
    return np.asarray(rows.T @ rows)


def _logdets(V: Floats, ridge: float) -> Floats:
    return np.asarray(np.linalg.slogdet(V + ridge * np.eye(V.shape[-1]))[1])


def _dense(grams: Floats) -> Pending:
    n, d = len(grams), grams.shape[-1]
    return Pending.of(np.empty((0, d)), np.zeros(n + 1, np.int64), grams, np.arange(n))
