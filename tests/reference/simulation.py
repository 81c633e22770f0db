"""Algorithm 1 (Inc-FedUCB) written out as printed: the yardstick of the fast simulator.

Slow on purpose only in that it is literal: every client holds its V_i, b_i, dV_i, db_i, the server
its V_g, b_g and, for each client, what that client has yet to download. Inverses and
log-determinants are computed afresh each time they are needed. Imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reference.mechanisms import TOLERANCE, FloatArray, decide, logdet
from reference.privacy import plausible

IntArray = npt.NDArray[np.int64]

__all__ = ["Round", "Run", "decide", "logdet", "run"]


@dataclass(frozen=True)
class Round:
    """One communication round; the matrices (as they stand after it) only with keep=True."""

    step: int  # 0-based
    trigger: int  # the client that fired
    participants: IntArray  # ids of those that shared something, ascending
    payments: FloatArray  # one for each of them
    pending: int  # how many had something to share
    idle: int  # how many had nothing
    communication: float  # scalars moved
    ratio: float  # det V_g(S) / det V_g(everyone)
    V_g: FloatArray | None = None  # [d, d]
    V_i: FloatArray | None = None  # [N, d, d]
    dV_i: FloatArray | None = None  # [N, d, d]


@dataclass(frozen=True)
class Run:
    """A whole run; all but the choices cumulative."""

    choices: IntArray
    regret: FloatArray  # NaN without expected rewards
    reward: FloatArray
    communication: FloatArray
    payment: FloatArray
    rounds: list[Round]
    matched: IntArray  # steps that were not skipped


@dataclass(frozen=True)
class Model:
    """What a client chooses with."""

    inverse: FloatArray
    theta: FloatArray
    logdet: float


def model(V: FloatArray, b: FloatArray, ridge: float) -> Model:
    """Ridge regression on (V, b)."""
    inverse: FloatArray = np.linalg.inv(V + ridge * np.eye(len(b))).astype(np.float64, copy=False)
    return Model(inverse, inverse @ b, float(logdet(V, ridge)))


def choose(
    arms: FloatArray, now: Model, ridge: float, noise: float, delta: float, fixed: float | None
) -> int:
    """Eq. 2: the lowest index whose score is within the tolerance of the best (reading 15)."""
    information = now.logdet - arms.shape[1] * np.log(ridge)  # log det V(lambda) / det lambda I
    alpha = noise * np.sqrt(max(0.0, information + 2.0 * np.log(1.0 / delta))) + np.sqrt(ridge)
    if fixed is not None:
        alpha = fixed
    width = np.sqrt(np.maximum(0.0, np.einsum("kd,kd->k", arms @ now.inverse, arms)))
    scores = arms @ now.theta + alpha * width
    return int(np.flatnonzero(scores >= scores.max() - TOLERANCE)[0])


@dataclass(frozen=True)
class Blur:
    """The noise (on dV, on db) of a client's n-th batch, and the bounds of arms and rewards."""

    noise: Callable[[int, int], tuple[FloatArray, FloatArray]]
    arm_norm: float
    reward_bound: float


def run(
    clients: IntArray,
    arms: FloatArray,
    rewards: FloatArray,
    expected: FloatArray | None,
    count: int,
    mechanism: tuple[str, Mapping[str, Any]],
    threshold: float,
    costs: float | FloatArray,
    ridge: float,
    noise: float,
    delta: float,
    exploration: float | None = None,
    reads: str = "fresh",
    clocks: str = "all",
    keep: bool = False,
    share_from: int = 1,
    blur: Blur | None = None,
) -> Run:
    """Run Algorithm 1 over a trace: clients [T], arms [T, K, d], rewards and expected [T, K].

    A reward that is NaN is unknown: the step in which it is picked counts for nothing. A client
    calls for a round, and adds to what it uploads, when it has `share_from` steps that it has not
    uploaded before; with `blur` the steps that are new in an upload get noise, which they keep.
    """
    if reads not in ("fresh", "stale") or clocks not in ("all", "participants"):
        raise ValueError(f"reads: {reads!r}, clocks: {clocks!r}")
    steps, _, d = arms.shape
    cost = np.broadcast_to(np.asarray(costs, np.float64), (count,))
    kind, options = mechanism

    # Lines 1-2. `minus` is what the server has in store for each client: dV_-j, db_-j.
    V_g, b_g = np.zeros((d, d)), np.zeros(d)
    V_minus, b_minus = np.zeros((count, d, d)), np.zeros((count, d))
    V, b = np.zeros((count, d, d)), np.zeros((count, d))
    dV, db = np.zeros((count, d, d)), np.zeros((count, d))
    clock, unshared = np.zeros(count, np.int64), np.zeros(count, np.int64)  # in own steps
    remembered = [model(V[0], b[0], ridge)] * count  # for stale reads
    uploaded, batches = np.zeros(count, np.int64), np.zeros(count, np.int64)
    told_V, told_b = np.zeros((count, d, d)), np.zeros((count, d))  # what it uploaded,
    noise_V, noise_b = np.zeros((count, d, d)), np.zeros((count, d))  # and its noise

    choices = np.zeros(steps, np.int64)
    regret, reward = np.full(steps, np.nan), np.zeros(steps)
    matched = np.zeros(steps, np.int64)
    communication, payment = np.zeros(steps), np.zeros(steps)
    rounds: list[Round] = []

    for t in range(steps):
        i = int(clients[t])
        now = model(V[i], b[i], ridge) if reads == "fresh" else remembered[i]
        choices[t] = k = choose(arms[t], now, ridge, noise, delta, exploration)  # lines 5-6
        x, y = arms[t, k], rewards[t, k]
        skipped = bool(np.isnan(y))
        if expected is not None:
            regret[t] = 0.0 if skipped else expected[t].max() - expected[t, k]
        matched[t] = not skipped
        if skipped:
            continue
        reward[t] = y

        outer = np.outer(x, x)  # lines 7-8
        V[i] += outer
        b[i] += x * y
        dV[i] += outer
        db[i] += x * y
        clock[i] += 1
        unshared[i] += 1
        if reads == "stale":
            remembered[i] = model(V[i], b[i], ridge)

        # Line 9. V_i - dV_i is V_g. A gain of 1e-9 may be rounding alone (matters at D_c = 0 with
        # arms of zeros).
        gain = float(logdet(V[i], ridge) - logdet(V_g, ridge))
        if not (gain > 1e-9 and clock[i] * gain > threshold):
            continue
        new = unshared - uploaded
        if new[i] < share_from:
            continue

        # Enough new steps: all that is pending is uploaded; else what was uploaded before, if any.
        for j in np.flatnonzero(new >= share_from):
            told_V[j], told_b[j], uploaded[j] = dV[j], db[j], unshared[j]
            if blur is not None:
                more_V, more_b = blur.noise(int(j), int(batches[j]))
                noise_V[j] += more_V
                noise_b[j] += more_b
                batches[j] += 1
        pending = np.flatnonzero(uploaded)  # reading 8: the others count, and cost nothing
        idle = count - len(pending)
        sent_V, sent_b = told_V.copy(), told_b.copy()
        for j in pending if blur is not None else ():
            assert blur is not None
            sent_V[j], sent_b[j] = plausible(
                told_V[j] + noise_V[j], told_b[j] + noise_b[j],
                int(uploaded[j]), blur.arm_norm, blur.reward_bound,
            )  # fmt: skip
        V_seen = V - dV + sent_V  # V_i, as far as the server knows
        mask, money = decide(
            kind, V_g, sent_V[pending], V_seen[pending], cost[pending], ridge, **options
        )
        participants = pending[mask]
        gathered = logdet(V_g + sent_V[participants].sum(axis=0), ridge)
        ratio = float(np.exp(gathered - logdet(V_g + sent_V[pending].sum(axis=0), ridge)))
        for j in participants:  # lines 12-16
            V_g += sent_V[j]
            b_g += sent_b[j]
            others = np.arange(count) != j
            V_minus[others] += sent_V[j]
            b_minus[others] += sent_b[j]
            V[j] += sent_V[j] - told_V[j]  # its own steps come back with their noise
            b[j] += sent_b[j] - told_b[j]
            dV[j] -= told_V[j]
            db[j] -= told_b[j]
            unshared[j] -= uploaded[j]
            noise_V[j] = noise_b[j] = told_V[j] = told_b[j] = uploaded[j] = clock[j] = 0
        V += V_minus  # lines 17-20: everybody downloads
        b += b_minus
        V_minus[:] = 0.0
        b_minus[:] = 0.0
        if clocks == "all":  # reading 2; otherwise as printed, in the loop above
            clock[:] = 0

        talk = count * d * d + d * (len(participants) + idle) + count * (d * d + d)  # reading 11
        communication[t] = talk
        payment[t] = money.sum()
        kept = (V_g.copy(), V.copy(), dV.copy()) if keep else (None, None, None)
        rounds.append(
            Round(t, i, participants, money[mask], len(pending), idle, float(talk), ratio, *kept)
        )

    return Run(
        choices,
        np.cumsum(regret),
        np.cumsum(reward),
        np.cumsum(communication),
        np.cumsum(payment),
        rounds,
        np.cumsum(matched),
    )
