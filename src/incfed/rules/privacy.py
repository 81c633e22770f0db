"""Differential privacy: Gaussian noise on what a client shares (docs/privacy.md).

A client's steps are divided into *batches*: those that an upload has had before, and those that are
new in it. Each batch gets noise once, and keeps it: if a round does not take the upload, the next
upload has the same noisy sums again, and those of the steps since. So every step is in exactly one
noisy sum, and what a client ever sends is computed from those sums, the number of steps, its price
and its answers.

Adjacency: one step (x, y) is replaced by another one. With |x| <= L and |y| <= Y, the sums over a
batch of (x x' / L^2, x y / (L Y)) then move by at most 3 / sqrt(2): for unit vectors at an angle
with cosine c, and rewards of opposite signs, by sqrt(2 (1 - c^2) + 2 (1 + c)), which is largest at
c = 1/2; shorter vectors move less. Distances of symmetric matrices are Frobenius norms, in which an
entry off the diagonal counts twice: its noise has half the variance.

The noise is calibrated by the analytic Gaussian mechanism (Balle and Wang, ICML 2018), which is
exact: no smaller noise has the guarantee.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ..configured import Configured
from ..errors import known, refuse
from ..types import Floats
from ..values import Number, Whole
from .rule import read, rule, setting

SENSITIVITY = 3.0 / math.sqrt(2.0)  # of (sum x x' / L^2, sum x y / (L Y)), one step replaced
EPSILON = (0.01, 100.0)  # where the calibration keeps its digits
DELTA = (1e-15, 0.1)
SETTINGS = ("epsilon", "delta", "arm_norm", "reward_bound")
SLACK = 1.0 + 1e-9  # scaling a vector to the limit may round it up
_STREAM = 2**31 + 2  # spawn key: its own

Normals = Callable[[int], Floats]  # so many independent standard normal numbers


class Noise(NamedTuple):
    """The noise that is added to the sums over a batch, or over several."""

    V: Floats  # [d, d] symmetric
    b: Floats  # [d]

    @classmethod
    def none(cls, dim: int) -> Noise:
        return cls(np.zeros((dim, dim)), np.zeros(dim))

    def plus(self, other: Noise) -> Noise:
        return Noise(self.V + other.V, self.b + other.b)


@rule()
class Privacy(Configured):
    """(epsilon, delta)-differential privacy of each step in what a client shares.

    >>> noise = incfed.Privacy(epsilon=4)
    >>> round(noise.sigma, 2)
    2.29
    """

    _example: ClassVar[str] = "Privacy(epsilon=4)"

    epsilon: Annotated[float, Number(*EPSILON, as_float=True)] = setting(
        "how much one step may change the odds of what is sent; less is more private"
    )
    delta: Annotated[float, Number(*DELTA, as_float=True)] = setting(
        "the probability with which that may fail", default=1e-5
    )
    arm_norm: Annotated[float, Number(0.0, 1e100, above=True, as_float=True)] = setting(
        "no arm is longer (in a federation its own bounds apply)", default=1.0
    )
    reward_bound: Annotated[float, Number(0.0, 1e100, above=True, as_float=True)] = setting(
        "no reward is larger, up or down (in a federation its own bounds apply)", default=1.0
    )

    @cached_property
    def sigma(self) -> float:
        """The standard deviation of the noise, in units of L^2 on the diagonal of dV, and of L Y
        in db.

        >>> incfed.Privacy(epsilon=1).sigma > noise.sigma
        True
        """
        return SENSITIVITY * gaussian_scale(self.epsilon, self.delta)

    def noise(self, dim: int, normals: Normals) -> Noise:
        """For one batch.

        >>> import numpy as np
        >>> drawn = noise.noise(dim=2, normals=np.random.default_rng(0).standard_normal)
        >>> drawn.V.round(1), drawn.b.round(1)
        (array([[ 0.3, -0.2],
               [-0.2,  1.5]]), array([ 0.2, -1.2]))
        """
        upper = dim * (dim + 1) // 2
        drawn = self.sigma * normals(upper + dim)
        V = np.zeros((dim, dim))
        V[np.triu_indices(dim)] = drawn[:upper]
        V = (V + V.T) / np.where(np.eye(dim, dtype=np.bool_), 2.0, math.sqrt(2.0))
        return Noise(self.arm_norm**2 * V, self.arm_norm * self.reward_bound * drawn[upper:])

    def plausible(self, V: Floats, b: Floats, steps: int) -> tuple[Floats, Floats]:
        """Noisy sums over so many steps, as near as can be to what steps give: dV is positive
        semi-definite, of a trace of at most n L^2 and a rank of at most n, and db' dV^-1 db is at
        most n Y^2. It takes nothing from privacy, because it does not look at the steps; it takes
        away much of the noise; and what a coordinator checks then holds.

        >>> V, b = noise.plausible(drawn.V, drawn.b, steps=1)
        >>> int(np.linalg.matrix_rank(V))  # one step cannot give more
        1
        """
        values, vectors = np.linalg.eigh(V)  # ascending
        values[: max(0, len(values) - steps)] = 0.0
        total = min(float(np.trace(V)), steps * self.arm_norm**2)
        values = _of_sum(values, total)
        along = _within(vectors.T @ b, values, steps * self.reward_bound**2)
        return (vectors * values) @ vectors.T, vectors @ along

    def check(self, arms: Floats, rewards: Floats) -> None:
        """InputError if an arm [M, d] or a reward exceeds the bounds that the noise is made for.

        >>> noise.check(np.array([[0.6, 0.8]]), rewards=np.array([1.0]))
        """
        longest = float(np.sqrt(np.einsum("md,md->m", arms, arms).max(initial=0.0)))
        largest = float(np.abs(rewards).max(initial=0.0, where=~np.isnan(rewards)))
        if longest > self.arm_norm * SLACK:
            allowed = f"at least the length of the longest arm, {longest:.10g}"
            raise refuse("privacy.arm_norm", self.arm_norm, allowed)
        if largest > self.reward_bound * SLACK:
            allowed = f"at least the largest reward, {largest:.10g}"
            raise refuse("privacy.reward_bound", self.reward_bound, allowed)

    def epsilon_of(self, events: int) -> float:
        """The epsilon, at the same delta, of somebody who is in so many steps of one client.

        >>> incfed.Privacy(epsilon=1).epsilon_of(1) < incfed.Privacy(epsilon=1).epsilon_of(10)
        True
        """
        Whole(1).of("events", events)
        scale = gaussian_scale(self.epsilon, self.delta) / events
        low, high = 0.0, 1.0
        while gaussian_delta(high, scale) > self.delta:
            low, high = high, 2.0 * high
        return _bisect(lambda epsilon: gaussian_delta(epsilon, scale) > self.delta, low, high)

    def within(self, other: Privacy) -> bool:
        """Is it at least as strict?

        >>> incfed.Privacy(epsilon=1).within(noise), noise.within(incfed.Privacy(epsilon=1))
        (True, False)
        """
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def settings(self) -> dict[str, Any]:
        """The settings that a result records.

        >>> noise.settings()
        {'epsilon': 4.0, 'delta': 1e-05, 'arm_norm': 1.0, 'reward_bound': 1.0}
        """
        return asdict(self)


def gaussian_delta(epsilon: float, scale: float) -> float:
    """The smallest delta of Gaussian noise with this standard deviation, in units of the
    sensitivity (Balle and Wang 2018, Theorem 8)."""
    half, shift = 0.5 / scale, epsilon * scale
    return _cdf(half - shift) - _scaled_cdf(epsilon, -half - shift)


def gaussian_scale(epsilon: float, delta: float) -> float:
    """The smallest standard deviation with which Gaussian noise is (epsilon, delta)-private, in
    units of the sensitivity; rounded up."""
    high = 1.0
    while gaussian_delta(epsilon, high) > delta:
        high *= 2.0
    return _bisect(lambda scale: gaussian_delta(epsilon, scale) > delta, 0.0, high)


def noise_stream(seed: int, client: int, batch: int) -> np.random.Generator:
    """The random numbers of a simulation for the noise of a client's n-th batch."""
    key = (_STREAM, client, batch)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def secret_normals(count: int) -> Floats:
    """Standard normal numbers that nobody can guess: Box and Muller's, from the random bytes of the
    operating system."""
    words = np.frombuffer(os.urandom(16 * count), np.uint64).reshape(2, count) >> np.uint64(11)
    first, second = (words + 0.5) * 2.0**-53
    return np.asarray(np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * math.pi * second))


def build_privacy(value: object, place: str, names: Sequence[str] = SETTINGS) -> Any:
    """As a config gives it: a table of these; anything else is refused later."""
    if not isinstance(value, Mapping):
        return value
    known(place, value, names)
    return read(Privacy, value, place)


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _scaled_cdf(epsilon: float, x: float) -> float:
    """e^epsilon Phi(x), which is at most 1 here although e^epsilon may be huge."""
    tail = _cdf(x)
    return math.exp(epsilon + math.log(tail)) if tail > 0.0 else 0.0


def _bisect(too_low: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest number between them that is not too low."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        low, high = (middle, high) if too_low(middle) else (low, middle)


def _of_sum(values: Floats, total: float) -> Floats:
    """The nearest non-negative numbers with a sum of at most this."""
    positive = np.maximum(values, 0.0)
    if positive.sum() <= total:
        return positive
    if total <= 0.0:
        return np.zeros(len(values))
    falling = np.sort(values)[::-1]
    cuts = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    cut = cuts[np.flatnonzero(falling > cuts)[-1]]
    return np.asarray(np.maximum(values - cut, 0.0))


def _within(along: Floats, values: Floats, most: float) -> Floats:
    """The nearest vector c to this one, in the same coordinates, with sum c^2 / values <= most."""
    inside = values > 0.0
    along, values = np.where(inside, along, 0.0), np.where(inside, values, 1.0)

    def shrunk(by: float) -> Floats:
        return np.asarray(along * values / (values + by))

    def too_long(by: float) -> bool:
        return float((shrunk(by) ** 2 / values).sum()) > most

    if not too_long(0.0):
        return along
    high = float(values.max())
    while too_long(high):
        high *= 2.0
    return shrunk(_bisect(too_long, 0.0, high))
