"""A world of one's own: who acts, which arms it sees, and what each would pay."""

from typing import Any

import numpy as np

import incfed


class Season(incfed.World):
    """Two shops that sell 30 goods; in the second half of a year the taste changes."""

    count, dim, arms_per_step = 2, 4, 5

    def open(self, seed: np.random.SeedSequence) -> incfed.Stream:
        return SeasonStream(np.random.default_rng(seed))

    def settings(self) -> dict[str, Any]:
        return {"kind": "Season"}


class SeasonStream(incfed.Stream):
    def __init__(self, chance: np.random.Generator) -> None:
        self.chance, self.day = chance, 0
        self.items = chance.standard_normal((30, 4)) / 2
        self.tastes = chance.standard_normal((2, 4)) / 2  # of summer and of winter

    def take(self, n: int) -> incfed.Events:
        clients, arms = np.empty(n, np.int64), np.empty((n, 5), np.int64)
        expected, noise = np.empty((n, 5)), np.empty((n, 1))
        for k in range(n):  # step by step: the same, however it is divided into calls
            clients[k] = self.chance.integers(2)
            arms[k] = self.chance.permutation(30)[:5]
            expected[k] = self.items[arms[k]] @ self.tastes[self.day % 365 // 183]
            noise[k] = 0.1 * self.chance.standard_normal()
            self.day += 1
        return incfed.Events(clients, arms, expected + noise, expected)


print(incfed.check_world(Season()), "steps tried, no rule broken")
for name, algorithm in {"alone": incfed.Independent(), "shared": incfed.DisLinUCB(0.5)}.items():
    result = incfed.simulate(Season(), algorithm, steps=730)
    half = result.regret[182]
    print(f"{name}: regret {half:.1f} in the first summer, {result.regret[-1]:.1f} in two years")
