"""A coordinator compiles everything that rounds need before the first one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import incfed
from incfed.mechanisms.registry import BUILT_IN
from incfed.protocol.messages import Delivery, Signal
from incfed.protocol.packing import pack_rows
from incfed.rules.limits import safe_limits
from incfed.service.coordinator import handlers
from incfed.service.coordinator.warm_up import warm_up
from support.federation import Federation, made

CLIENTS, DIM = 6, 5
PRICES = ([0.0, 1.0, 20.0, 0.5, 0.1, 300.0], 30.0)
MECHANISMS = (
    incfed.PayEveryone(),
    incfed.PaymentFree(),
    incfed.PaymentEfficient(beta=0.999),
    incfed.PaymentEfficient(beta=0.999, order="ascending"),
    incfed.PaymentEfficient(beta=0.999, iterative=False),
    incfed.BudgetFeasible(per_round=30.0),
    incfed.CostAware(beta=0.999),
    incfed.Exact(beta=0.999, nodes=50),
    incfed.PostedPrice(price=1.0),
    incfed.ShapleySplit(pot=50.0, samples=3),
    incfed.Truthful(cover=0.999, reserve=50.0),
)


def kernels() -> set[Any]:
    return {
        kernel
        for name, module in list(sys.modules.items())
        if name.startswith("incfed.")
        for kernel in vars(module).values()
        if isinstance(kernel, Dispatcher)
    }


def forget_compiled() -> None:
    """As in a new process. What is compiled is loaded again when it is needed."""
    for kernel in kernels():
        kernel._reset_overloads()


def compiled() -> dict[str, list[Any]]:
    return {f"{one.__module__}.{one.__name__}": list(one.overloads) for one in kernels()}


def serve(here: Federation, **changes: Any) -> None:
    """The same federation with other settings, by a process that has just started."""
    here.settings = replace(here.settings, **changes)
    here.coordinator = here.another()
    forget_compiled()
    warm_up(here.settings)


def some_rounds(here: Federation) -> float:
    """Of clients that send each message together: at these prices, the last with one that fails.
    What was paid."""
    chance, everybody = np.random.default_rng(0), range(CLIENTS)
    handle, states = here.coordinator.handle, here.coordinator.all_states
    for prices in PRICES:
        rows = [0.3 * chance.standard_normal((int(n), DIM)) for n in chance.integers(1, 9, CLIENTS)]
        asked = np.broadcast_to(prices, CLIENTS).tolist()
        state = here.coordinator.open_round(0)
        assert state.round is not None
        number, epoch = state.round.number, state.epoch
        sent = [made(number, epoch, x, cost) for x, cost in zip(rows, asked, strict=True)]
        handle([(k, handlers.upload, sent[k]) for k in everybody])
        failing = 1 if prices is PRICES[-1] else None
        while (seen := states(everybody)) and seen[0].round and seen[0].round.stage == "offered":
            offered = [k for k in everybody if (one := seen[k].round) and one.offer]
            handle(
                [
                    (k, handlers.delivery, Delivery(number, rows[k].sum(axis=0)))
                    for k in offered
                    if k != failing
                ]
            )
            if failing in offered:
                here.wait(here.settings.answer_time + 1.0)
    return sum(sum(event["payments"].values()) for event in here.of("closed")[-len(PRICES) :])


def test_rounds_compile_nothing(tmp_path: Path) -> None:
    here = Federation(
        tmp_path / "l.db", CLIENTS, dim=DIM, mechanism=MECHANISMS[0], threshold=1e-9,
        limits=replace(safe_limits(None), price_rise=None), round_interval=0.0, barred_time=0.0,
        answer_time=4.0,
    )  # fmt: skip
    for mechanism in MECHANISMS:
        serve(here, mechanism=mechanism)
        ready = compiled()
        paid = some_rounds(here)
        assert (paid > 0.0) == (mechanism != incfed.PaymentFree()), mechanism
        assert compiled() == ready, mechanism
    assert {type(one).__name__ for one in MECHANISMS} == set(BUILT_IN)
    here.store.close()


@pytest.mark.parametrize("kind", ["rows", "growth"])
def test_signals_compile_nothing(kind: str, tmp_path: Path) -> None:
    here = Federation(
        tmp_path / "l.db", 2, dim=DIM, mechanism=incfed.PaymentFree(), round_interval=0.0,
        trigger=incfed.Patient(0.5, kind),
    )  # fmt: skip
    serve(here)
    ready = compiled()
    for learned in (1, 2):
        for client in range(2):
            dV = pack_rows(np.eye(learned, DIM)) if kind == "rows" else None
            said = Signal(0, learned, learned, 1.0, 0.0, dV=dV)
            here.coordinator.signal(client, said)
    seen = here.coordinator.state(0).round
    assert seen is not None
    assert compiled() == ready
    here.store.close()
