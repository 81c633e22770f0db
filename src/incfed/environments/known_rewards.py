"""The rewards that a recorded world knows, as observations to fit a model to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..types import Floats, Ints

MOST_WEIGHT = 5.0  # times the mean: the most that an unlikely pick counts


class KnownRewards(NamedTuple):
    """Rewards of a log that are known, one for each arm of which they are."""

    clients: Ints  # [n]
    events: Ints  # [n]  the step that it belongs to
    x: Floats  # [n, d]
    rewards: Floats  # [n]
    weights: Floats  # [n]

    def of(self, which: np.ndarray) -> KnownRewards:
        """Some of them."""
        return KnownRewards(*(column[which] for column in self))

    @property
    def unweighted(self) -> KnownRewards:
        """The same, where each counts as much."""
        return self._replace(weights=np.ones(len(self.weights)))

    @property
    def binary(self) -> bool:
        """Whether all rewards are 0 or 1."""
        return bool(np.isin(self.rewards, (0.0, 1.0)).all())

    @property
    def mean(self) -> float:
        """The mean reward."""
        return float(np.average(self.rewards, weights=self.weights))


def inverse_weights(propensities: Floats) -> Floats:
    """Weights that make up for unequal chances to be picked: inverse propensities, at most 5 times
    their mean, and in all as many as equally weighted picks would be worth."""
    weights = 1.0 / np.maximum(propensities, 1e-12)  # the inverse of less could overflow
    weights = np.minimum(weights / weights.mean(), MOST_WEIGHT)
    return np.asarray(weights * (weights.sum() / (weights @ weights)))
