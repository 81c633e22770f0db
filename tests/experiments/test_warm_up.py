"""The kernels are compiled before the workers need them."""

from __future__ import annotations

import ctypes
import signal
import sys

import pytest
from numba.core.dispatcher import Dispatcher

import incfed
from incfed.experiments import warm_up as module
from incfed.experiments.warm_up import warm_up


def compiled() -> dict[str, int]:
    """How many versions there are of each kernel."""
    return {
        f"{name}.{key}": len(value.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("incfed.")
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }


MECHANISMS = (
    incfed.PayEveryone(),
    incfed.PaymentFree(),
    incfed.PaymentEfficient(beta=0.9),
    incfed.PaymentEfficient(beta=0.4, order="ascending"),
    incfed.PaymentEfficient(beta=0.4, iterative=False),
    incfed.PaymentEfficient(beta=0.4, iterative=False, payment_free=False),
    incfed.BudgetFeasible(per_round=30.0, total=1000.0),
    incfed.CostAware(beta=0.4),
    incfed.Exact(beta=0.4, nodes=50),
    incfed.PostedPrice(price=1.0),
    incfed.ShapleySplit(pot=50.0, samples=3),
    incfed.Truthful(cover=0.4, reserve=50.0),
)


@pytest.mark.parametrize("reads", ["fresh", "stale"])
def test_nothing_is_left_to_compile(reads: str) -> None:
    world = incfed.Synthetic(clients=12, dim=7, arms=5, pool=50, activity=1.0)
    algorithms = [
        *(
            incfed.IncFedUCB(mechanism, threshold=0.1, costs=costs, reads=reads)
            for mechanism in MECHANISMS
            for costs in (0.5, 20.0)
        ),
        incfed.IncFedUCB(incfed.PaymentFree(), trigger=incfed.News(1.0), costs=1.0, reads=reads),
        incfed.IncFedUCB(
            incfed.PaymentFree(),
            trigger=incfed.Patient(1.0, "growth"),
            costs=1.0,
            reads=reads,
            download="one-for-one",
            width="mixture",
        ),
        *([incfed.AsyncLinUCB(costs=1.0), incfed.FedLinUCB(costs=1.0)] if reads == "fresh" else []),
        incfed.Centralized(reads=reads),
        incfed.Independent(reads=reads),
    ]
    warm_up(algorithms)
    before = compiled()
    assert any(before.values())
    for algorithm in algorithms:
        incfed.simulate(world, algorithm, steps=900)
    assert compiled() == before


def test_ctrl_c_is_not_lost_in_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its callbacks cannot raise: Python would print the error and go on."""

    def press(*arguments: object, **more: object) -> None:
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()

    monkeypatch.setattr(module, "simulate", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            warm_up([incfed.Centralized()])
    finally:
        signal.signal(signal.SIGINT, before)
