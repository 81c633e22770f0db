"""Several algorithms on the same events, over several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..algorithms.base import Algorithm
from ..environments.base import World
from ..results.comparison import Comparison
from ..results.records import Result
from ..support import inputs
from ..support.terminal import Bar, Terminal
from .simulator import run_length, simulate


def compare(
    world: World,
    algorithms: Mapping[str, Algorithm],
    steps: int | None = None,
    *,
    seeds: int = 5,
) -> Comparison:
    """Run every algorithm in `world` with seeds 0 to `seeds` - 1, and compare the results.

    `algorithms` are by label: {"alone": Independent(), "paid": IncFedUCB(...)}. Differences are
    taken to the first. All algorithms see the same clients, arms and noise. Without `steps`, all
    steps of a recorded world. On a terminal, a bar shows the time left.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
    >>> both = {"alone": incfed.Independent(), "paid": paid}
    >>> comparison = incfed.compare(world, both, steps=200, seeds=3)
    >>> print(f"{comparison.difference('paid').mean:.1f}")  # regret
    -5.6
    """
    if not isinstance(algorithms, Mapping) or not algorithms:
        raise inputs.refuse("algorithms", algorithms, 'by label, such as {"alone": Independent()}')
    seeds = inputs.integer("seeds", seeds, low=1, high=10**6)
    length = run_length(world, steps)
    results: dict[str, list[Result]] = {label: [] for label in algorithms}
    with Terminal().progress(seeds * len(algorithms)) as bar:
        total, begun = seeds * len(algorithms) * length, 0
        for seed in range(seeds):
            for label, algorithm in algorithms.items():
                move = partial(_move, bar, total, begun)
                one = simulate(world, algorithm, steps=length, seed=seed, progress=move)
                results[label].append(one)
                begun += length
    return Comparison(results)


def _move(bar: Bar, total: int, begun: int, done: int) -> None:
    bar.update(begun + done, total)
