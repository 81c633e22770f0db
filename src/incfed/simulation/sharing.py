"""The uploads of clients, where they are not simply all that is pending.

A client shares from `share_from` new steps on: with fewer, it uploads what it uploaded before, or
nothing. With privacy its uploads are noisy. Which noise a batch gets depends on the seed, the
client and the batch alone: other settings leave it as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import errors
from ..kernels.pending import Pending
from ..kernels.store import BASE, OWN, PENDING, Store, make_room, put_back
from ..protocol.server import Uploads
from ..rules.privacy import Noise, Privacy
from ..types import Floats, Ints, Mask

SLACK = 1.0 + 1e-9  # scaling a vector to the limit may round it up
_STREAM = 2**31 + 2  # spawn key: its own


class UploadedSteps(NamedTuple):
    """Pending data of a client that was uploaded, as it is and as it was sent."""

    steps: int
    V: Floats
    b: Floats
    noise: Noise | None
    sent_V: Floats
    sent_b: Floats


class Sharing:
    """The batches of N clients in one run."""

    def __init__(
        self, share_from: int, privacy: Privacy | None, count: int, dim: int, seed: int
    ) -> None:
        self.privacy = privacy
        self._share_from, self._dim, self._seed = share_from, dim, seed
        self.steps = np.zeros(count, np.int64)  # pending steps that were uploaded
        self._uploaded: dict[int, UploadedSteps] = {}  # by client
        self._batches = np.zeros(count, np.int64)  # so far
        self._held: dict[int, tuple[int, Floats, Floats]] = {}  # not in the present uploads

    def calls(self, client: int, store: Store) -> bool:
        """Has it enough new steps to call for a round?"""
        return bool(store.table[client, PENDING] - self.steps[client] >= self._share_from)

    def ready(self, clients: Ints, store: Store) -> Mask:
        """Who has something to upload."""
        uploaded = self.steps[clients]
        return np.asarray((uploaded > 0) | (store.table[clients, PENDING] >= self._share_from))

    def upload(self, uploads: Uploads, store: Store, ridge: float) -> Uploads:
        """Line 10, of clients that are ready."""
        clients = uploads.clients
        self._held.clear()
        for j, client in enumerate(clients.tolist()):
            steps = int(store.table[client, PENDING])
            V, b = _matrix(uploads.pending, j), store.pairs[store.table[client, OWN], 1]
            if self.calls(client, store):
                self._uploaded[client] = self._prepared(client, steps, V.copy(), b.copy())
                self.steps[client] = steps
            elif new := steps - int(self.steps[client]):
                uploaded = self._uploaded[client]
                self._held[client] = new, V - uploaded.V, b - uploaded.b
        sent = np.array([self._uploaded[client].sent_V for client in clients.tolist()])
        grams = sent.reshape(-1, self._dim, self._dim)
        V = store.blocks[store.table[clients, BASE], 1] + grams
        return uploads._replace(logdets=_logdets(V, ridge), pending=_dense(grams))

    def ranks(self, clients: Ints) -> Ints:
        """The ranks of what these clients have uploaded, as it is packed."""
        return packed_ranks(self.steps[clients], self._dim, self.privacy)

    def deliver(self, sharing: Ints) -> Floats:
        """Line 12."""
        sent = [self._uploaded[client].sent_b for client in sharing.tolist()]
        return np.array(sent).reshape(-1, self._dim)

    def conclude(self, sharing: Ints, store: Store) -> Store:
        """After the round: what was shared is forgotten; who held steps back still has them."""
        for client in sharing.tolist():
            del self._uploaded[client]
            self.steps[client] = 0
            if client in self._held:
                store = make_room(store, 1, 1)
                put_back(*store, client, *self._held[client])
        return store

    def _prepared(self, client: int, steps: int, V: Floats, b: Floats) -> UploadedSteps:
        if self.privacy is None:
            return UploadedSteps(steps, V, b, None, V, b)
        noise, uploaded = self._draw(client), self._uploaded.get(client)
        if uploaded is not None and uploaded.noise is not None:
            noise = noise.plus(uploaded.noise)
        sent = self.privacy.plausible(V + noise.V, b + noise.b, steps)
        return UploadedSteps(steps, V, b, noise, *sent)

    def _draw(self, client: int) -> Noise:
        assert self.privacy is not None
        chance = noise_stream(self._seed, client, int(self._batches[client]))
        self._batches[client] += 1
        return self.privacy.noise(self._dim, chance.standard_normal)


def noise_stream(seed: int, client: int, batch: int) -> np.random.Generator:
    """The random numbers for the noise of a client's n-th batch."""
    key = (_STREAM, client, batch)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def packed_ranks(steps: Ints, dim: int, privacy: Privacy | None) -> Ints:
    """The ranks of sums over so many steps, as they are packed: noise goes in every direction."""
    return steps if privacy is None else np.where(steps > 0, dim, 0)


def check_bounds(privacy: Privacy, items: Floats, rewards: Floats) -> None:
    """InputError if an arm or a reward exceeds the bounds that the noise is made for."""
    longest = float(np.sqrt(np.einsum("md,md->m", items, items).max(initial=0.0)))
    largest = float(np.abs(rewards).max(initial=0.0, where=~np.isnan(rewards)))
    if longest > privacy.arm_norm * SLACK:
        allowed = f"at least the length of the longest arm, {longest:.10g}"
        raise errors.refuse("privacy.arm_norm", privacy.arm_norm, allowed)
    if largest > privacy.reward_bound * SLACK:
        allowed = f"at least the largest reward, {largest:.10g}"
        raise errors.refuse("privacy.reward_bound", privacy.reward_bound, allowed)


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
