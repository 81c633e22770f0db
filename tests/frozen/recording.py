"""Runs to be frozen, and all that is kept of one."""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import incfed
from frozen.worlds import EIGHT

POINTS = 200  # of a curve
CURVES = ("regret", "reward", "communication", "payment", "packed", "matched")
OF_ROUNDS = ("step", "trigger", "pending", "idle", "communication", "ratio", "gap")
OF_PARTICIPANTS = ("participants", "payments", "costs", "asked")
OF_CLIENTS = ("steps", "matched", "reward", "regret", "shared", "paid")


class Run(NamedTuple):
    """A run to be frozen."""

    algorithm: incfed.Algorithm
    world: Callable[[], incfed.World] = EIGHT
    steps: int = 400
    seed: int = 0
    drive: Callable[[Run], dict[str, Any]] = lambda run: simulated(run)

    def record(self) -> dict[str, Any]:
        return self.drive(self)


def simulated(run: Run) -> dict[str, Any]:
    """The record of a simulation."""
    result = incfed.simulate(run.world(), run.algorithm, steps=run.steps, seed=run.seed)
    return recorded(result)


def in_pieces(run: Run) -> dict[str, Any]:
    """The record of a simulation that is advanced piece by piece, and looked at in between."""
    simulation = incfed.Simulation(run.world(), run.algorithm, seed=run.seed)
    lengths = []
    while simulation.steps < run.steps:
        simulation.advance(min(37, run.steps - simulation.steps))
        lengths.append(len(simulation.result().rounds))
    return {"rounds so far": lengths, **recorded(simulation.result())}


def stepwise(run: Run) -> dict[str, Any]:
    """The record of a federation whose members are driven through the steps of a trace. Every
    hundred steps one of them changes what sharing costs it, and calls for a round."""
    world = run.world()
    assert isinstance(world, incfed.Trace)
    federation = incfed.Federation(world.count, world.dim, run.algorithm, seed=run.seed)
    for t in range(run.steps):
        member = federation[int(world.clients[t])]
        arms = world.items[world.arms[t]]
        k = member.choose(arms)
        member.learn(arms[k], world.rewards[t, k])
        if t % 100 == 99:
            member.cost = 0.75 * member.cost
            federation.communicate()
    members = []
    for one in federation:
        reward, width = one.predict(arms)
        known = {"theta": one.theta, "reward": reward, "width": width}
        members.append({**known, "steps": one.steps, "paid": one.paid, "cost": one.cost})
    return {"members": members, "spent": federation.spent, **recorded(federation.result())}


def learner(run: Run) -> dict[str, Any]:
    """What one learner without a server picks, and what it predicts of all arms. It is saved and
    loaded on the way, and learns some steps at once."""
    world, rules = run.world(), run.algorithm
    assert isinstance(world, incfed.Trace)
    names = ("ridge", "noise", "delta", "exploration", "width", "width_scale")
    one = incfed.LinUCB(world.dim, **{name: getattr(rules, name) for name in names})
    picks, predictions, widths = [], [], []
    for t in range(run.steps):
        arms = world.items[world.arms[t]]
        k = one.choose(arms)
        picks.append(k)
        one.learn(arms[k], world.rewards[t, k])
        if t % 20 == 0:
            found = one.predict(arms)
            predictions.append(found.reward)
            widths.append(found.width)
        if t == run.steps // 2:
            one.learn(arms, world.rewards[t])
            with TemporaryDirectory() as folder:
                one = incfed.LinUCB.load(one.save(f"{folder}/learner"))
    return {"picks": picks, "rewards": predictions, "widths": widths, "theta": one.theta}


def recorded(result: incfed.Result) -> dict[str, Any]:
    """All figures of a result."""
    rounds = {name: getattr(result.rounds, name) for name in OF_ROUNDS}
    for name in OF_PARTICIPANTS:
        rounds[name] = [getattr(round, name) for round in result.rounds]
    some = np.unique(np.linspace(0, result.regret.size - 1, POINTS + 1).astype(np.int64))
    return {
        "rounds": rounds,
        "curves": {name: getattr(result, name)[some] for name in CURVES},
        "clients": {name: getattr(result.clients, name) for name in OF_CLIENTS},
        "final": result.summary(),
    }
