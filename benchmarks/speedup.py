"""Against the literal reference of the tests and a plain step, on the paper's setting."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

import incfed
import plain_step
from incfed.protocol import synchronous
from reference import simulation as reference
from timing import best_of, row

STEPS, SHAPE = 5000, {"clients": 50, "dim": 25}


def recorded(steps: int = STEPS, seed: int = 0, **shape: int) -> incfed.Trace:
    """A synthetic run written down, so that all contestants see the same arrays."""
    world = incfed.Synthetic(**(SHAPE | shape))
    stream = world.open(np.random.SeedSequence(seed))
    events = stream.take(steps)
    return incfed.Trace(
        events.clients, events.arms, events.rewards, events.expected, world.count, stream.items
    )


def measure() -> dict[str, Any]:
    trace = recorded()
    threshold = incfed.thresholds.high(steps=STEPS, **SHAPE)
    features = trace.items[trace.arms]
    contests = {
        "PayEveryone": (incfed.PayEveryone(), ("pay_everyone", {}), 40),
        "PaymentEfficient(0.3)": (
            incfed.PaymentEfficient(beta=0.3),
            ("payment_efficient", {"beta": 0.3}),
            80,
        ),
    }
    alone = incfed.Independent()
    results: dict[str, Any] = {}
    for name, (mechanism, literal, aim) in contests.items():
        algorithm = incfed.IncFedUCB(mechanism=mechanism, threshold=threshold, costs=10.0)
        seconds = best_of(
            5,
            reference=partial(
                reference.run, trace.clients, features, trace.rewards, trace.expected,
                trace.count, mechanism=literal, threshold=threshold, costs=10.0,
                ridge=0.1, noise=0.1, delta=0.1,
            ),
            ours=partial(incfed.simulate, trace, algorithm),
        )  # fmt: skip
        ours = seconds["ours"]
        ratio = seconds["reference"] / ours
        row(f"{name}: reference", 1e3 * seconds["reference"], "ms")
        row(f"{name}: incfed", 1e3 * ours, "ms", f"{ratio:.0f}x (aim {aim}x)")
        results[name] = {"reference_ms": 1e3 * seconds["reference"], "ms": 1e3 * ours,
                         "times_faster": ratio, "aim": aim}  # fmt: skip
    everyone = incfed.IncFedUCB(mechanism=incfed.PayEveryone(), threshold=threshold, costs=10.0)
    seconds = best_of(
        5,
        plain=lambda: plain_step.run(trace.clients, trace.arms, trace.items, trace.rewards, 0.1),
        steps=lambda: incfed.simulate(trace, alone),
        run=lambda: incfed.simulate(trace, everyone),
    )
    per_step = {name: 1e6 * took / STEPS for name, took in seconds.items()}
    per_step["loop"] = 1e6 * inside_the_loop(trace, everyone) / STEPS
    ratio = per_step["plain"] / per_step["steps"]
    row("a step, plain triple loop", per_step["plain"], "us")
    row("a step, incfed (Independent, whole run)", per_step["steps"], "us", f"{ratio:.1f}x")
    row("a step, PayEveryone with its rounds", per_step["run"], "us")
    alone_ratio, loop_ratio = (per_step["run"] / per_step[of] for of in ("steps", "loop"))
    row("  of a run without rounds", alone_ratio, "", "(aim 1.8)")
    row("  of the time in its own compiled loop", loop_ratio, "")
    results["step_us"] = per_step | {
        "plain_over_ours": ratio, "run_over_steps": alone_ratio, "run_over_loop": loop_ratio,
    }  # fmt: skip
    return results


def inside_the_loop(trace: incfed.Trace, algorithm: incfed.IncFedUCB) -> float:
    """Seconds that a run, at best, spends in the compiled loop of steps, its calls included."""
    best, inner = float("inf"), vars(synchronous)["advance"]
    for _ in range(50):
        spent = 0.0

        def timed(*arguments: object) -> tuple[int, int]:
            nonlocal spent
            start = time.perf_counter()
            answer: tuple[int, int] = inner(*arguments)
            spent += time.perf_counter() - start
            return answer

        vars(synchronous)["advance"] = timed
        try:
            incfed.simulate(trace, algorithm)
        finally:
            vars(synchronous)["advance"] = inner
        best = min(best, spent)
    return best
