"""Policies to be tried, and federations that follow them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import incfed
from reference.mechanisms import FloatArray

PAID = incfed.PayEveryone()
WORLD = incfed.Synthetic(clients=6, dim=5, arms=4, pool=30)
CURVES = ("regret", "reward", "communication", "packed", "payment", "matched")
Make = Callable[..., incfed.Algorithm]
ALGORITHMS: dict[str, Make] = {
    "IncFedUCB": lambda **more: incfed.IncFedUCB(incfed.PaymentEfficient(0.7), 0.8, 10.0, **more),
    "Independent": incfed.Independent,
    "Centralized": incfed.Centralized,
    "DisLinUCB": lambda **more: incfed.DisLinUCB(0.8, **more),
    "AsyncLinUCB": lambda **more: incfed.AsyncLinUCB(1.5, 2.0, costs=1.0, **more),
    "FedLinUCB": lambda **more: incfed.FedLinUCB(0.5, costs=0.1, **more),
}


class Paper(incfed.Policy):
    """Eq. 2."""

    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        scores = model.predict(arms) + model.alpha * model.widths(arms)
        return int(np.argmax(scores >= scores.max() - 1e-9))


class Greedy(incfed.Policy):
    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return int(model.predict(arms).argmax())


@dataclass
class Softmax(incfed.Policy):
    scale: float = 3.0

    def choose(
        self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        weights: FloatArray = np.exp(self.scale * np.clip(model.predict(arms), -9.0, 9.0))
        return np.asarray(weights / weights.sum())


class First(incfed.Policy):
    def choose(self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator) -> int:
        return 0


class Weighted(First):
    """Weights that depend on how often a client has observed."""

    def __init__(self, highest: float = 1.0) -> None:
        self.highest, self.count = highest, 0

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        self.count += 1
        return self.highest / (1 + self.count % 3), 0.5 * y


class Asking(Softmax):
    """Notes what it sees; every copy in the same list."""

    seen: list[dict[str, Any]]

    def __init__(self, weight: Callable[[int], float] | None = None) -> None:
        super().__init__(scale=5.0)
        self.weight, self.count = weight, 0
        type(self).seen = []

    def choose(
        self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        self.count += 1
        self.seen.append(
            {
                "count": self.count, "steps": model.steps, "dim": model.dim, "ridge": model.ridge,
                "logdet": model.logdet, "alpha": model.alpha, "V": model.V, "b": model.b,
                "theta": model.theta, "predict": model.predict(arms), "widths": model.widths(arms),
                "random": rng.random(),
            }
        )  # fmt: skip
        return super().choose(model, arms, rng)

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        return (1.0 if self.weight is None else self.weight(model.steps)), y


def same(one: incfed.Result, two: incfed.Result) -> None:
    """To 1e-9, and the same rounds."""
    for name in CURVES:
        found, expected = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)
    for name in ("step", "trigger", "participants"):
        np.testing.assert_array_equal(getattr(one.rounds, name), getattr(two.rounds, name), name)


def seen_alike(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> None:
    assert len(one) == len(two)
    for here, there in zip(one, two, strict=True):
        for name, value in here.items():
            np.testing.assert_allclose(value, there[name], rtol=1e-9, atol=1e-9, err_msg=name)


def trace(clients: int = 6, steps: int = 300) -> incfed.Trace:
    chance = np.random.default_rng(7)
    theta = chance.standard_normal(4)
    arms = chance.standard_normal((steps, 5, 4))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ (theta / np.linalg.norm(theta)) + 0.1 * chance.standard_normal((steps, 1))
    return incfed.Trace(chance.integers(0, clients, steps), arms, rewards, count=clients)


def drive(
    world: incfed.Trace, algorithm: incfed.Algorithm, kept: Path | None = None
) -> incfed.Federation:
    """`kept`: saved there, and loaded again, in the middle."""
    federation = incfed.Federation(world.count, world.dim, algorithm)
    for t, who in enumerate(world.clients.tolist()):
        if kept is not None and t == len(world.clients) // 2:
            federation.save(kept)
            federation = incfed.Federation.load(kept, algorithm=algorithm)
        arms = world.items[world.arms[t]]
        k = federation[who].choose(arms)
        federation[who].learn(arms[k], world.rewards[t, k])
    return federation


SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "clocks as printed": {"clocks": "participants"},
    "one for one": {"download": "one-for-one"},
    "batches, one for one": {"share_from": 3, "download": "one-for-one"},
    "away": {"availability": 0.6},
    "little trust": {"trust": 3.0},
    "trust of each": {"trust": [0.0, 1.0, 4.0, 9.0, math.inf, 2.0]},
    "trust that is found": {"trust": "auto"},
    "a budget and cents": {"budget": 100.0, "money_digits": 2, "costs": 7.003},
    "strategic": {"reports": incfed.BestResponse()},
    "holding back": {"reports": incfed.Withholding(steps=3)},
    "other numbers": {"ridge": 0.7, "noise": 0.3, "delta": 0.5},
    "news": {"threshold": None, "trigger": incfed.News(2.0)},
    "patient": {"threshold": None, "trigger": incfed.Patient(1.0)},
    "patient, of growth": {"threshold": None, "trigger": incfed.Patient(1.0, "growth")},
    "a ratio": {"threshold": None, "trigger": incfed.GrowthRatio(1.8)},
}


class Kept(Asking):
    """One whose attributes can be saved."""

    def observe(self, model: incfed.ClientModel, x: FloatArray, y: float) -> tuple[float, float]:
        return 1 / (1 + model.steps % 4), y


class Fixed(incfed.Policy):
    def __init__(self, *chances: float) -> None:
        self.chances = chances

    def choose(
        self, model: incfed.ClientModel, arms: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        return np.array(self.chances)
