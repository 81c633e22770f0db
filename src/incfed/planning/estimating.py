"""`incfed.estimate`: a quick answer from one simulation, and bounds from the proofs.

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
from typing import Any

from ..algorithms import IncFedUCB, thresholds
from ..environments import Synthetic
from ..mechanisms import PaymentEfficient
from ..results.numbers import human
from ..simulation import simulate
from ..values import Number, Whole

ROWS = ("rounds", "communication", "payment", "regret")


@dataclass(frozen=True)
class Bounds:
    """Upper bounds that hold for every run; `regret` are the two terms of its shape, without their
    unknown constants."""

    rounds: int
    communication: float
    payment: float
    regret: tuple[float, float]
    least_beta: float  # for which the theorem states its regret
    covered: bool  # beta is as large


@dataclass(frozen=True)
class Estimate:
    """Bounds and one run. No run exceeds a bound; that does not make it a forecast.

    >>> found = incfed.estimate(clients=5, steps=200, dim=3, cost=1.0)
    >>> found.simulated["regret"] > 0
    True
    """

    clients: int
    steps: int
    dim: int
    beta: float
    cost: float
    threshold: float
    ridge: float
    bounds: Bounds
    simulated: dict[str, float]  # final figures of one run in the paper's synthetic world

    def telling(self) -> dict[str, float]:
        """The bounds that say something: below a round in every step, and below every step paid
        for, which nobody needs a theorem for. There is none for regret.

        >>> found.telling()
        {'rounds': 179, 'communication': 21480.0}
        """
        most, everything = self.bounds, self.cost * self.steps
        found = {"rounds": most.rounds, "communication": most.communication}
        found = found if most.rounds < self.steps else {}
        return found | ({"payment": most.payment} if most.payment < everything else {})

    def rows(self) -> list[tuple[str, str, str]]:
        """Quantity, simulated value, and bound as text; empty where it says nothing.

        >>> [name for name, simulated, bound in found.rows()]
        ['rounds', 'communication', 'payment', 'regret']
        """
        most = {name: human(bound) for name, bound in self.telling().items()}
        return [(name, human(self.simulated[name]), most.get(name, "")) for name in ROWS]

    def notes(self) -> list[str]:
        """What the figures mean, and what the proofs say.

        >>> print(found.notes()[0])
        Simulated: a single run (seed 0) of the paper's synthetic world. At most: what no run
        exceeds, by the proof of Theorem 2. It is no forecast. For the payment it is no better
        than every step paid for.
        """
        telling = self.telling()
        run = "Simulated: a single run (seed 0) of the paper's synthetic world."
        said = "At most: what no run exceeds, by the proof of Theorem 2. It is no forecast."
        if not telling:
            said = (
                "The proofs say nothing about a run of this length: their bounds are no better "
                "than a round in every step, and every step paid for."
            )
        elif "payment" not in telling:
            said += " For the payment it is no better than every step paid for."
        first, second = self.bounds.regret
        larger = "the trigger (D_c)" if second > first else "learning itself (and 1/beta)"
        regret = (
            "For regret the proofs have no figure, only how it grows; what grows most here is the "
            f"part of {larger}."
        )
        if not self.bounds.covered:
            regret += (
                f" The theorem is for beta >= {self.bounds.least_beta:.4g} (e^(-1/N)): it does not "
                "cover this beta."
            )
        return [f"{run} {said}", regret]

    def __str__(self) -> str:
        rows = [("", "simulated", "at most"), *self.rows()]
        if not self.telling():
            rows = [(name, value, "") for name, value, _ in rows]
        first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [f"{a:{first}}  {b:>{second}}  {c:>{third}}".rstrip() for a, b, c in rows]
        return "\n".join([*lines, *self.notes()])


def estimate(
    *,
    clients: int = 50,
    steps: int = 5000,
    dim: int = 25,
    beta: float = 1.0,
    cost: float = 10.0,
    threshold: float | str | None = None,
    ridge: float = 0.1,
) -> Estimate:
    """What N, T, d, beta and the cost of sharing lead to: bounds from the proofs, and one run.

    `threshold` is D_c, a number or the name of a formula; by default that of the theorem (for
    beta = 0, which the theorem does not cover: that of the paper's Table 1).

    >>> found = incfed.estimate(clients=5, steps=200, dim=3, beta=0.7, cost=10.0)
    >>> [name for name, bound, simulated in found.rows()]
    ['rounds', 'communication', 'payment', 'regret']
    """
    beta = float(Number(0.0, 1.0).of("beta", beta))
    cost = float(Number(0.0, 1e15).of("cost", cost))
    world = Synthetic(clients=clients, dim=dim)
    steps = Whole(2, 10**7).of("steps", steps)
    size = {"steps": steps, "clients": clients, "dim": dim}
    if threshold is None and beta:
        threshold = thresholds.theory(**size, beta=beta, ridge=ridge)
    elif threshold is None:
        threshold = thresholds.high(**size)
    elif isinstance(threshold, str):
        threshold = thresholds.named(threshold, **size, beta=beta, ridge=ridge)
    Number(0.0).of("threshold", threshold)
    algorithm = IncFedUCB(PaymentEfficient(beta), threshold=threshold, costs=cost, ridge=ridge)
    result = simulate(world, algorithm, steps=steps).summary()
    simulated = {name: float(result[name]) for name in ROWS}
    assert all(map(math.isfinite, simulated.values()))
    known: dict[str, Any] = {
        **size, "beta": beta, "cost": cost, "threshold": threshold, "ridge": ridge
    }  # fmt: skip
    return Estimate(**known, bounds=bounds(**known), simulated=simulated)


def bounds(
    *, clients: int, steps: int, dim: int, beta: float, cost: float, threshold: float, ridge: float
) -> Bounds:
    """The bounds above, for valid settings."""
    most = rounds_bound(steps=steps, dim=dim, beta=beta, threshold=threshold, ridge=ridge)
    log = math.log(steps)
    first = dim * math.sqrt(steps / beta) * log if beta else math.inf
    return Bounds(
        rounds=most,
        communication=2.0 * clients * (dim**2 + dim) * most,
        payment=cost * min(most * clients, steps),
        regret=(first, clients * dim**1.5 * log**1.5 * math.sqrt(threshold)),
        least_beta=math.exp(-1 / clients),
        covered=beta >= math.exp(-1 / clients),
    )


def rounds_bound(*, steps: int, dim: int, beta: float, threshold: float, ridge: float) -> int:
    """P, as above."""
    if not beta or not threshold:
        return steps
    growth, best = math.ceil(dim * math.log1p(steps / (ridge * dim))), steps
    for many in range(1, steps):  # epochs longer than alpha = T / many, the best alpha for so many
        if many >= best:
            break
        gain = threshold * many / steps + math.log(beta)
        if gain > 0:
            best = min(best, many + math.ceil(growth / gain))
    return best
