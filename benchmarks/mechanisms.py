"""One decision of every mechanism beside one of PaymentEfficient, at N = 50 and d = 25: over the
rounds of a run, and over rounds in which all clients have data. And a run with strategic clients
beside one with honest ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import incfed
from incfed.mechanisms.rehearsal import make_round
from incfed.types import Floats
from speedup import SHAPE, STEPS
from timing import best_of, row

N, D = SHAPE["clients"], SHAPE["dim"]
PAPER = "PaymentEfficient"
KINDS: dict[str, incfed.Mechanism] = {
    PAPER: incfed.PaymentEfficient(0.7),
    "Truthful": incfed.Truthful(cover=0.7, reserve=1000.0),
    "CostAware": incfed.CostAware(0.7),
    "BudgetFeasible": incfed.BudgetFeasible(per_round=1000.0),
    "PostedPrice": incfed.PostedPrice(price=100.0),
    "ShapleySplit": incfed.ShapleySplit(pot=1000.0, samples=50),
}
Maker = Callable[[], incfed.Round]


class _Keep(incfed.Mechanism):
    """Decides as Truthful does, and keeps what is needed to open the rounds again."""

    def __init__(self) -> None:
        self.rounds: list[Maker] = []

    def decide(self, round: incfed.Round) -> incfed.Decision:
        V, factor, logdet = round._shared
        known = {"clients": round.clients, "costs": round.costs, "count": round.count, "V": V,
                 "factor": factor, "logdet": logdet, "ridge": round._ridge,
                 "pending": round.pending, "logdets": round.logdets}  # fmt: skip
        self.rounds.append(lambda: incfed.Round(**known))  # type: ignore[arg-type]
        return KINDS["Truthful"].decide(round)


def measure() -> dict[str, Any]:
    chance = np.random.default_rng(0)
    costs = chance.uniform(20.0, 180.0, N)
    keep = _Keep()
    threshold = incfed.thresholds.high(steps=STEPS, **SHAPE)
    algorithm = incfed.IncFedUCB(keep, threshold=threshold, costs=costs.tolist())
    incfed.simulate(incfed.Synthetic(**SHAPE), algorithm, steps=STEPS)
    results = {"run": _compare("rounds of a run", keep.rounds)}
    for most in (3, 40):
        rounds = [_made_up(chance, costs, most) for _ in range(20)]
        title = f"all {N} with 1 to {most} steps"
        results[f"steps_{most}"] = _compare(title, rounds)
    results["strategic"] = _strategic(threshold, costs.tolist())
    return results


def _strategic(threshold: float, costs: list[float]) -> dict[str, Any]:
    def run(*reports: incfed.BestResponse) -> Callable[[], object]:
        algorithm = incfed.IncFedUCB(KINDS[PAPER], threshold, costs, reports=reports)
        world = incfed.Synthetic(**SHAPE)
        return lambda: incfed.simulate(world, algorithm, steps=STEPS)

    # Up and down around the true costs: so the rounds of both runs are much alike.
    seconds = best_of(5, honest=run(), strategic=run(incfed.BestResponse(1e-6)))
    times = seconds["strategic"] / seconds["honest"]
    note = f"{times:.2f} of honest ones (aim: at most 1.3)"
    row(f"a run with {N} strategic clients", 1e3 * seconds["strategic"], "ms", note)
    return {name: 1e3 * took for name, took in seconds.items()} | {"times": times}


def _compare(title: str, rounds: list[Maker]) -> dict[str, Any]:
    def decide(mechanism: incfed.Mechanism) -> Callable[[], None]:
        def all_of_them() -> None:
            for open_again in rounds:  # anew: a round remembers what it was asked
                mechanism.decide(open_again())

        return all_of_them

    seconds = best_of(3, **{name: decide(one) for name, one in KINDS.items()})
    paper = seconds[PAPER]
    for name, took in seconds.items():
        aim = " (aim 20, at most 40)" if name == "Truthful" else ""
        each = 1e3 * took / len(rounds)
        row(f"{title}: {name}", each, "ms", f"{took / paper:.1f} of {PAPER}'s{aim}")
    return {
        name: {"ms": 1e3 * took / len(rounds), "of_paper": took / paper}
        for name, took in seconds.items()
    }


def _made_up(chance: np.random.Generator, costs: Floats, most: int) -> Maker:
    def steps(count: int) -> Floats:
        x = chance.standard_normal((count, D))
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    past = steps(1000)
    uploads = [steps(int(r)) for r in chance.integers(1, most + 1, N)]
    made = make_round(past.T @ past, uploads, costs, 0)
    V, factor, logdet = made._shared
    return lambda: incfed.Round(
        clients=made.clients, costs=costs, count=made.count, V=V, factor=factor, logdet=logdet,
        ridge=made._ridge, pending=made.pending, logdets=made.logdets,
    )  # fmt: skip
