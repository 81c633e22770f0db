"""The kernels are compiled before the workers need them."""

from __future__ import annotations

import sys
from pathlib import Path

from numba.core.dispatcher import Dispatcher

import incfed
from incfed.experiments.warm_up import warm_up
from test_experiments_samples import experiment


def compiled() -> dict[str, int]:
    """How many versions there are of each kernel."""
    return {
        f"{name}.{key}": len(value.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("incfed.")
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }


def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    warm_up(experiment(tmp_path).algorithms.values())
    before = compiled()
    assert any(before.values())
    world = incfed.Synthetic(clients=12, dim=7, arms=5, pool=50, activity=1.0)
    for mechanism in (
        incfed.PayEveryone(),
        incfed.PaymentFree(),
        incfed.PaymentEfficient(beta=0.9),
        incfed.PaymentEfficient(beta=0.4, order="ascending"),
        incfed.PaymentEfficient(beta=0.4, iterative=False, payment_free=False),
    ):
        for costs in (0.5, 20.0):
            incfed.simulate(
                world, incfed.IncFedUCB(mechanism, threshold=0.1, costs=costs), steps=900
            )
    incfed.simulate(world, incfed.Centralized(), steps=900)
    incfed.simulate(world, incfed.Independent(), steps=900)
    assert compiled() == before
