"""The choice of an arm (Eq. 2): the largest optimistic estimate, ties to the lowest index.

A model is a factor U and t = U b. In the coordinates z = U x the estimate x'theta is z't and
||x||^2 in V^-1 is ||z||^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..types import Floats, Ints
from .compiling import compiled, inlined, inner, inner_sum
from .factor import ZERO, copy, dot, unwhiten
from .store import DENSE, OLD, OLD_BLOCK, OWN, PRIOR, SERVER, TAIL, VERSION, Store

TIE = 1e-9  # scores closer than this are tied, so that rounding does not decide
SLACK = 1e-8  # upper bounds are increased by this, far more than rounding errors


class Rules(NamedTuple):
    """The settings of Alg. 1 that a client needs."""

    ridge: float
    noise: float
    surprise: float  # 2 log(1/delta)
    exploration: float  # NaN: a formula
    mixture: bool  # the formula: the method of mixtures, else Eq. 2
    threshold: float  # of the trigger: the growth of log det V_i that calls for a round
    clocked: bool  # ... multiplied by the client's steps since the last round, as in Alg. 1
    limit: int  # pending steps stored as vectors
    scale: float = 1.0  # of the formula


class Bench(NamedTuple):
    """Scratch buffers for K arms of M items in d dimensions, and a cache for the items."""

    width: Floats  # [K]     ||x||^2 in V^-1, of each candidate
    score: Floats  # [K]     x'theta + alpha ||x||, of each arm; -inf: not needed
    line: Floats  # [K]
    upper: Floats  # [K]     upper bound of the score of each arm; -inf: the score is known
    p: Floats  # [d]
    v: Floats  # [d]
    R: Floats  # [d, d]
    own: Floats  # [K, d]    z of the arms
    places: Ints  # [K]      0, 1, 2, ...
    runners: Ints  # [K]     candidates: arms that may be the best,
    entries: Ints  # [K]     and where their z is: a row of `shared` or of `own`
    missing: Ints  # [K]
    # Under the shared factor z of an item is the same for all clients: it is computed once per
    # version, and only if the item may be the best in a step. If items do not recur, these are
    # empty, and `own` is computed for every arm.
    shared: Floats  # [M, d]  z
    known: Floats  # [M]      ||z||, in the current or an earlier version
    when: Ints  # [M]         the version


def bench(dim: int, arms: int, items: int) -> Bench:
    """`items`: the number of items to cache, 0 if none is shown twice."""
    return Bench(
        width=np.zeros(arms),
        score=np.zeros(arms),
        line=np.zeros(arms),
        upper=np.zeros(arms),
        p=np.zeros(dim),
        v=np.zeros(dim),
        R=np.zeros((dim, dim)),
        own=np.zeros((arms, dim)),
        places=np.arange(arms),
        runners=np.zeros(arms, np.int64),
        entries=np.zeros(arms, np.int64),
        missing=np.zeros(arms, np.int64),
        shared=np.zeros((items, dim)),
        known=np.full(items, np.inf),
        when=np.full(items, -1),
    )


@inlined
def choose(
    store: Store, client: int, items: Floats, ids: Ints, rules: Rules, stale: bool | None, b: Bench
) -> int:
    """Eq. 2 for one client, which must be up to date; leaves z of the chosen arm in b.p."""
    row = store.table[client]
    pair, block, tail = row[OWN], row[DENSE], row[TAIL]  # if it has none: the server's
    logdet = store.logdet[client if row[OWN] else SERVER, 0]
    if stale is not None:  # as after its own last step; before the first step, the empty prior
        pair, block, tail, logdet = PRIOR, PRIOR, ZERO, store.logdet[SERVER, 1]
        if row[OLD]:
            pair, block, logdet = row[OLD], row[OLD_BLOCK], store.logdet[client, 1]
    d = items.shape[1]
    alpha = confidence(logdet, d, rules)
    U, t = store.blocks[block, 0], store.pairs[pair, 0]
    recurring = b.when.shape[0] > 0 and block == 0
    z = b.shared if recurring else b.own
    n = most_hopeful(items, ids, U, t, alpha, b) if recurring else everyone(ids, b)
    best = -np.inf
    while n:
        wanted, into = ids, b.places
        if recurring:
            m = outdated_items(store.table[SERVER, VERSION], n, b)
            wanted, into = b.missing[:m], b.missing
        whiten_arms(items, wanted, U, z, into)
        estimate(z, t, n, recurring, b)
        pair = tail
        while pair:
            narrow(z, store.pairs[pair, 1], n, b)
            pair = store.before[pair]
        best = add_confidence(alpha, n, best, b)
        n = rivals(ids, best, b) if recurring else ZERO
    k = lowest(b.score, best)
    copy(z[ids[k] if recurring else k], b.p)
    return k


@compiled
def choose_dense(
    items: Floats, ids: Ints, places: Ints, U: Floats, t: Floats, alpha: float, z: Floats,
    score: Floats,
) -> int:  # fmt: skip
    """Eq. 2 for some of the items under the model (U, t); `places` is 0, 1, 2, ...; z and score:
    scratch."""
    d = items.shape[1]
    whiten_arms(items, ids, U, z, places)
    best = -np.inf
    for k in range(ids.shape[0]):
        score[k] = dot(z[k], t, d) + alpha * np.sqrt(dot(z[k], z[k], d))
        best = max(best, score[k])
    return lowest(score, best)


@compiled
def measure(
    arms: Floats, ids: Ints, U: Floats, t: Floats, pairs: Floats, before: Ints, tail: int,
    z: Floats, line: Floats, reward: Floats, width: Floats,
) -> None:  # fmt: skip
    """reward = x'theta and width = ||x|| in V^-1 of each of these arms, under the model (U, t) and
    the pending steps of the chain; `ids` is 0, 1, 2, ...; z and line: scratch."""
    whiten_arms(arms, ids, U, z, ids)
    along(z, ids, t, reward)
    for k in range(ids.shape[0]):
        width[k] = dot(z[k], z[k], t.shape[0])
    pair = tail
    while pair:
        along(z, ids, pairs[pair, 1], line)
        for k in range(ids.shape[0]):
            width[k] -= line[k] * line[k]
        pair = before[pair]
    for k in range(ids.shape[0]):
        width[k] = np.sqrt(max(0.0, width[k]))


@compiled
def confidence(logdet: float, dim: int, rules: Rules) -> float:
    """alpha: of Eq. 2, or by the method of mixtures (docs/protocols.md), scaled; or a constant."""
    if not np.isnan(rules.exploration):
        return rules.exploration
    growth = max(0.0, logdet - dim * np.log(rules.ridge))  # log det V(lambda) / det(lambda I)
    if rules.mixture:
        alpha = np.sqrt(rules.noise**2 * (growth + rules.surprise) + rules.ridge)
    else:
        alpha = rules.noise * np.sqrt(growth + rules.surprise) + np.sqrt(rules.ridge)
    return float(rules.scale * alpha)


@inlined
def everyone(ids: Ints, b: Bench) -> int:
    """Make all arms candidates."""
    for k in range(ids.shape[0]):
        b.runners[k] = k
        b.entries[k] = k
    return int(ids.shape[0])


@inlined
def most_hopeful(items: Floats, ids: Ints, U: Floats, t: Floats, alpha: float, b: Bench) -> int:
    """b.upper: an upper bound of the score of each arm, without its z. The largest is the first
    candidate.

    V only grows, so ||z|| from an earlier version is an upper bound of the current one.
    """
    unwhiten(U, t, b.v)
    along(items, ids, b.v, b.upper)
    top = ZERO
    for k in range(ids.shape[0]):
        most = b.upper[k] + alpha * b.known[ids[k]]
        b.upper[k] = most + SLACK * (1.0 + abs(most))
        b.score[k] = -np.inf
    for k in range(ids.shape[0]):
        top = k if b.upper[k] > b.upper[top] else top
    b.runners[0], b.entries[0] = top, ids[top]
    return ZERO + 1


@inlined
def rivals(ids: Ints, best: float, b: Bench) -> int:
    """Make all other arms that may tie with `best` candidates; returns how many."""
    n = ZERO
    for k in range(ids.shape[0]):
        if not b.upper[k] < best - TIE:
            b.runners[n] = k
            b.entries[n] = ids[k]
            n += 1
    return n


@inlined
def outdated_items(version: int, n: int, b: Bench) -> int:
    """b.missing: the candidates' items whose z is outdated; returns how many."""
    m = ZERO
    for k in range(n):
        item = b.entries[k]
        if b.when[item] != version:
            b.when[item] = version
            b.missing[m] = item
            m += 1
    return m


@inlined
def estimate(z: Floats, t: Floats, n: int, recurring: bool, b: Bench) -> None:
    """b.score = x'theta and b.width of the n candidates, under the model (U, t) of z = U x."""
    along(z, b.entries[:n], t, b.line)
    for k in range(n):
        own = z[b.entries[k]]
        b.width[k] = dot(own, own, t.shape[0])
        b.score[b.runners[k]] = b.line[k]
        if recurring:
            b.known[b.entries[k]] = np.sqrt(b.width[k])


@inlined
def narrow(z: Floats, c: Floats, n: int, b: Bench) -> None:
    """b.width -= (c'z)^2 for every candidate: the effect of one pending step."""
    along(z, b.entries[:n], c, b.line)
    for k in range(n):
        b.width[k] -= b.line[k] * b.line[k]


@inlined
def add_confidence(alpha: float, n: int, best: float, b: Bench) -> float:
    """b.score += alpha ||x|| in V^-1 for every candidate; returns the best score so far."""
    for k in range(n):
        arm = b.runners[k]
        b.score[arm] += alpha * np.sqrt(max(0.0, b.width[k]))
        b.upper[arm] = -np.inf
        best = max(best, b.score[arm])
    return best


@inner
def lowest(score: Floats, best: float) -> int:
    """The lowest index whose score is within TIE of the best."""
    for k in range(score.shape[0]):
        if score[k] >= best - TIE:
            return k
    return 0


@inner_sum
def whiten_arms(items: Floats, ids: Ints, U: Floats, out: Floats, places: Ints) -> None:
    """out[places[k]] = U x of arm k.

    Processes four arms and two rows of U at a time: eight running sums share six loads. The two
    rows are treated as equally long, because U is zero above its diagonal.
    """
    d, K = items.shape[1], ids.shape[0]
    for k in range(0, K, 4):
        k1, k2, k3 = min(k + 1, K - 1), min(k + 2, K - 1), min(k + 3, K - 1)
        a0, a1, a2, a3 = ids[k], ids[k1], ids[k2], ids[k3]
        z0, z1, z2, z3 = places[k], places[k1], places[k2], places[k3]
        for i in range(0, d, 2):
            other = min(i + 1, d - 1)
            s0 = s1 = s2 = s3 = r0 = r1 = r2 = r3 = 0.0
            for j in range(other + 1):
                u, v = U[i, j], U[other, j]
                x0, x1, x2, x3 = items[a0, j], items[a1, j], items[a2, j], items[a3, j]
                s0 += u * x0
                s1 += u * x1
                s2 += u * x2
                s3 += u * x3
                r0 += v * x0
                r1 += v * x1
                r2 += v * x2
                r3 += v * x3
            out[z0, i], out[z1, i], out[z2, i], out[z3, i] = s0, s1, s2, s3
            out[z0, other], out[z1, other], out[z2, other], out[z3, other] = r0, r1, r2, r3


@inner_sum
def along(z: Floats, rows: Ints, t: Floats, line: Floats) -> None:
    """line = z't for those rows of z, four at a time."""
    K, d = rows.shape[0], t.shape[0]
    for k in range(0, K - 3, 4):
        a0, a1, a2, a3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(d):
            s0 += t[j] * z[a0, j]
            s1 += t[j] * z[a1, j]
            s2 += t[j] * z[a2, j]
            s3 += t[j] * z[a3, j]
        line[k], line[k + 1], line[k + 2], line[k + 3] = s0, s1, s2, s3
    for k in range(K - K % 4, K):
        line[k] = dot(z[rows[k]], t, d)
