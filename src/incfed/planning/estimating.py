"""`incfed.estimate`: an answer before any search: one simulation, and bounds from the proofs.

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

from ..algorithms import IncFedUCB, thresholds
from ..environments import Synthetic
from ..mechanisms import PaymentEfficient
from ..results.numbers import human
from ..simulation import simulate
from ..support import inputs

ROWS = ("rounds", "communication", "payment", "regret")


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


@dataclass(frozen=True)
class Estimate:
    """Bounds beside one run; a bound is what no run exceeds, not what to expect."""

    clients: int
    steps: int
    dim: int
    beta: float
    cost: float
    threshold: float
    ridge: float
    bounds: Bounds
    simulated: dict[str, float]  # final figures of one run in the paper's synthetic world

    def rows(self) -> list[tuple[str, str, str]]:
        """Quantity, bound and simulated value as text."""
        first, second = self.bounds.regret
        said = {
            "rounds": human(self.bounds.rounds),
            "communication": human(self.bounds.communication),
            "payment": human(self.bounds.payment),
            "regret": f"c1 × {human(first)} + c2 × {human(second)}",
        }
        return [(name, said[name], human(self.simulated[name])) for name in ROWS]

    def notes(self) -> list[str]:
        """How the figures are meant."""
        first, second = self.bounds.regret
        larger = "trigger (D_c)" if second > first else "learning itself (and 1/beta)"
        theorem = (
            "The theorem's regret, d sqrt(T) log T at its own D_c, covers this beta."
            if self.bounds.covered
            else f"The theorem's regret needs beta >= {self.bounds.least_beta:.4g} "
            "(e^(-1/N)): this beta is not covered."
        )
        vacuous = (
            " The one on rounds says no more than one a step: the theorem is for longer runs."
            if self.bounds.rounds >= self.steps
            else ""
        )
        return [
            "Bounds hold for every run and are no forecast; the simulation is a forecast from a "
            f"single run (seed 0) of the paper's synthetic world.{vacuous}",
            "Of regret only the shape is known, its constants c1 and c2 are not; its larger term "
            f"here is that of the {larger}. {theorem}",
        ]

    def __str__(self) -> str:
        head = ("", "bound", "simulated")
        widths = [max(len(row[k]) for row in [head, *self.rows()]) for k in range(3)]
        lines = [
            f"{row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}".rstrip()
            for row in [head, *self.rows()]
        ]
        return "\n".join([*lines, *self.notes()])


def estimate(
    *,
    clients: int = 50,
    steps: int = 5000,
    dim: int = 25,
    beta: float = 1.0,
    cost: float = 10.0,
    threshold: float | None = None,
    ridge: float = 0.1,
) -> Estimate:
    """What N, T, d, beta and the cost of sharing lead to: bounds from the proofs, and one run.

    `threshold` is D_c; left out, it is the theorem's own (for beta = 0, which that does not know:
    that of the paper's Table 1).
    """
    beta = inputs.number("beta", beta, low=0.0, high=1.0)
    inputs.number("cost", cost, low=0.0, high=1e15)
    world = Synthetic(clients=clients, dim=dim)
    size = {"steps": inputs.integer("steps", steps, low=2, high=10**7), "clients": clients}
    if threshold is None:
        threshold = (
            thresholds.theory(**size, dim=dim, beta=beta, ridge=ridge)
            if beta
            else thresholds.high(**size, dim=dim)
        )
    inputs.number("threshold", threshold, low=0.0)
    found = bounds(
        clients=clients,
        steps=steps,
        dim=dim,
        beta=beta,
        cost=cost,
        threshold=threshold,
        ridge=ridge,
    )
    algorithm = IncFedUCB(
        PaymentEfficient(beta), threshold=threshold, costs=float(cost), ridge=ridge
    )
    result = simulate(world, algorithm, steps=steps).summary()
    simulated = {name: float(result[name]) for name in ROWS}
    assert all(map(math.isfinite, simulated.values()))
    return Estimate(
        clients=clients, steps=steps, dim=dim, beta=beta, cost=float(cost),
        threshold=threshold, ridge=ridge, bounds=found, simulated=simulated,
    )  # fmt: skip


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
