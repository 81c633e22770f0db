"""Several algorithms on the same events, over several seeds or bootstrapped logs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from .. import errors
from ..algorithms.base import Algorithm
from ..environments.base import World
from ..environments.bootstrap import Bootstrap
from ..results.comparison import Comparison
from ..results.records import Result
from ..support.terminal import Bar, Terminal
from ..values import Whole
from .simulator import run_length, simulate

BOOTSTRAP = 20  # bootstrapped logs


def compare(
    world: World,
    algorithms: Mapping[str, Algorithm],
    steps: int | None = None,
    *,
    seeds: int = 5,
    bootstrap: int = BOOTSTRAP,
    resample: str = "events",
) -> Comparison:
    """Run every algorithm in `world` with seeds 0 to `seeds` - 1, and compare the results.

    `algorithms` are by label: {"alone": Independent(), "paid": IncFedUCB(...)}. Differences are
    taken to the first. All algorithms see the same clients, arms and noise. Without `steps`, all
    steps of a recorded world. On a terminal, a bar shows the time left.

    A log (or trace) has one order, which seeds do not change: it is run once, with seed 0, and
    intervals come from `bootstrap` bootstrapped logs (0: none), whose events seeds 1, 2, ... draw
    with replacement. With `resample` "clients", clients are drawn with replacement too: the
    intervals are then for other clients.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
    >>> both = {"alone": incfed.Independent(), "paid": paid}
    >>> comparison = incfed.compare(world, both, steps=200, seeds=3)
    >>> print(f"{comparison.difference('paid').mean:.1f}")  # regret
    -5.6
    """
    if not isinstance(algorithms, Mapping) or not algorithms:
        raise errors.refuse("algorithms", algorithms, 'by label, such as {"alone": Independent()}')
    seeds = Whole(1, 10**6).of("seeds", seeds)
    bootstrap = Whole(0, 10**6).of("bootstrap", bootstrap)
    length = run_length(world, steps)
    if world.chance:
        scenes = [(world, seed) for seed in range(seeds)]
    else:
        drawn = Bootstrap(world, length, resample, repeats=True)
        scenes = [(world, 0), *((drawn, seed) for seed in range(1, bootstrap + 1))]
    results: dict[str, list[Result]] = {label: [] for label in algorithms}
    with Terminal().progress(len(scenes) * len(algorithms)) as bar:
        total, begun = len(scenes) * len(algorithms) * length, 0
        for scene, seed in scenes:
            for label, algorithm in algorithms.items():
                move = partial(_move, bar, total, begun)
                one = simulate(scene, algorithm, steps=length, seed=seed, progress=move)
                results[label].append(one)
                begun += length
    return Comparison(results)


def _move(bar: Bar, total: int, begun: int, done: int) -> None:
    bar.update(begun + done, total)
