"""What the paper's proofs bound, with the constants that they have.

From the proof of Theorem 2, for arms of length 1 or less:

- Rounds. R = ceil(d ln(1 + T / (lambda d))) bounds the growth of log det V. For any alpha, at most
  ceil(T / alpha) epochs are longer than alpha steps, and a shorter one adds D_c / alpha + ln beta
  or more to log det: P <= ceil(T / alpha) + ceil(R / (D_c / alpha + ln beta)), and never more than
  T. The least over alpha is taken. (The theorem puts in its own D_c and gets O(N d log T).)
- Communication. A round sends at most N d^2 + N d up and N (d^2 + d) down: C <= 2 N (d^2 + d) P.
- Payment. Nobody gets more than its cost, and only for data that it has not shared yet:
  M <= cost * min(P N, T). (The theorem has (1 + cost) P N less what data covers.)
- Regret has a shape only: O(d sqrt(T / beta) ln T + N d^1.5 ln^1.5 T sqrt(D_c)), constants unknown;
  it is d sqrt(T) ln T for the theorem's D_c and beta >= e^(-1/N).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..support import inputs


@dataclass(frozen=True)
class Bounds:
    """Upper bounds that hold for every run; `regret` are the two terms of its shape, in a unit
    that nobody knows."""

    rounds: int
    communication: float
    payment: float
    regret: tuple[float, float]
    covered: bool  # beta is large enough for the theorem's regret
    least_beta: float  # for that


def bounds(
    *, clients: int, steps: int, dim: int, beta: float, cost: float, threshold: float, ridge: float
) -> Bounds:
    clients = inputs.integer("clients", clients, low=1)
    steps = inputs.integer("steps", steps, low=2)
    dim = inputs.integer("dim", dim, low=1)
    beta = inputs.number("beta", beta, low=0.0, high=1.0)
    cost = inputs.setting("cost", cost)
    threshold = inputs.number("threshold", threshold, low=0.0)
    ridge = inputs.setting("ridge", ridge)
    most = rounds_bound(steps=steps, dim=dim, beta=beta, threshold=threshold, ridge=ridge)
    log = math.log(steps)
    first = dim * math.sqrt(steps / beta) * log if beta else math.inf
    return Bounds(
        rounds=most,
        communication=2.0 * clients * (dim**2 + dim) * most,
        payment=cost * min(most * clients, steps),
        regret=(first, clients * dim**1.5 * log**1.5 * math.sqrt(threshold)),
        covered=beta >= math.exp(-1 / clients),
        least_beta=math.exp(-1 / clients),
    )


def rounds_bound(*, steps: int, dim: int, beta: float, threshold: float, ridge: float) -> int:
    """P, as above."""
    growth = math.ceil(dim * math.log1p(steps / (ridge * dim)))
    best = steps
    if not beta or not threshold:
        return best
    for many in range(1, steps):  # epochs longer than alpha = T / many, the best alpha for so many
        if many >= best:
            break
        gain = threshold * many / steps + math.log(beta)
        if gain > 0:
            best = min(best, many + math.ceil(growth / gain))
    return best
