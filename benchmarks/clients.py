"""Many clients: time per step and memory where rounds are equally rare (each N in a process)."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import incfed

STEPS, ROUNDS = 200_000, 20


def measure() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for count in (50, 1_000, 10_000, 100_000):
        answer = subprocess.run(
            [sys.executable, __file__, str(count)], capture_output=True, text=True, check=True
        )
        results[str(count)] = figures = json.loads(answer.stdout)
        figures["of_smallest"] = figures["step_us"] / results["50"]["step_us"]
        print(
            f"  N = {count:>7,}: {figures['step_us']:.2f} us a step "
            f"({figures['of_smallest']:.2f} of N = 50), {figures['rounds']} rounds, "
            f"peak {figures['peak_mib']:,.0f} MiB (before the run {figures['before_mib']:,.0f})"
        )
    return results


def one(count: int) -> dict[str, float]:
    world = incfed.Synthetic(clients=count)

    def run(threshold: float, steps: int = STEPS) -> tuple[incfed.Result, float]:
        mechanism = incfed.PayEveryone()
        algorithm = incfed.IncFedUCB(mechanism=mechanism, threshold=threshold, costs=10.0)
        start = time.perf_counter()
        return incfed.simulate(world, algorithm, steps=steps), time.perf_counter() - start

    run(1.0, steps=100)  # compile
    before = peak()
    low, high = 1e-3, 1e6  # D_c is searched so that every N has about as many rounds
    for _ in range(16):
        threshold = (low * high) ** 0.5
        if len(run(threshold)[0].rounds) > ROUNDS:
            low = threshold
        else:
            high = threshold
    runs = [run(high) for _ in range(3)]
    return {
        "threshold": high,
        "rounds": len(runs[0][0].rounds),
        "step_us": 1e6 * min(took for _, took in runs) / STEPS,
        "before_mib": before,
        "peak_mib": peak(),
    }


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(one(int(sys.argv[1]))))
