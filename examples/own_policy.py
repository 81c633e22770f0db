"""A policy of one's own: Thompson sampling, with the probability of each choice."""

from dataclasses import dataclass

import numpy as np

import incfed


@dataclass
class Thompson(incfed.Policy):
    """Draws parameters around the estimate; an arm is as likely as it is the best under them."""

    noise: float = 0.1
    draws: int = 200

    def choose(
        self, model: incfed.ClientModel, arms: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        precision = model.V + model.ridge * np.eye(model.dim)
        L = np.linalg.inv(np.linalg.cholesky(precision))
        thetas = model.theta + self.noise * rng.standard_normal((self.draws, model.dim)) @ L
        best = (thetas @ arms.T).argmax(axis=1)
        return np.bincount(best, minlength=len(arms)) / self.draws


print("steps tried:", incfed.check_policy(Thompson()))

world = incfed.Synthetic(clients=10, dim=5, arms=8)
paid = incfed.PaymentEfficient(beta=0.7)
algorithms = {
    "UCB": incfed.IncFedUCB(paid, threshold=1.0, costs=10.0),
    "Thompson": incfed.IncFedUCB(paid, threshold=1.0, costs=10.0, policy=Thompson()),
}
comparison = incfed.compare(world, algorithms, steps=1000, seeds=3)
for label, results in comparison.runs.items():
    regret = sum(one.regret[-1] for one in results) / len(results)
    print(f"{label}: regret {regret:.1f}")

result = comparison.runs["Thompson"][0]
print("propensities of the first choices:", result.to_polars()["propensity"][:4].to_list())
