"""A fixed pot, split by what each client's data is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import ranges
from ..kernels.coalition import WILLING
from ..types import Floats, Ints, Mask
from ..values import Whole
from .base import Decision, Mechanism, Round, ShapleyValues
from .choosing import ranking

MOST_SAMPLES = 10**6


@dataclass(frozen=True)
class ShapleySplit(Mechanism):
    """Splits `pot` in every round in proportion to Shapley values of log det V_g(S).

    Clients whose share and data do not cover their cost leave, the worst half of them at a time,
    and the pot is split again.

    pot: the money of a round.
    samples: the number of random orders that values are estimated from.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.ShapleySplit(pot=40.0, samples=20)
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.3, 800 paid
    """

    pot: ranges.Budget
    samples: Annotated[int, Whole(2, MOST_SAMPLES)] = 200

    def decide(self, round: Round) -> Decision:
        S, orders = round.everyone, self._orders(round)
        while S.any():
            shares = self._shares(round.shapley(S, orders).values, np.zeros(len(round)))
            short = round.costs - round.incentives(S) - shares
            underpaid = S & (short > WILLING * (1.0 + round.costs))
            if not underpaid.any():
                return Decision(S, shares)
            leaving = ranking(short, underpaid)
            S[leaving[: max(1, len(leaving) // 2)]] = False
        return Decision(S, np.zeros(len(round)))

    def amend(
        self, round: Round, decision: Decision, S: Mask, offered: Floats | None = None
    ) -> Floats:
        """The pot, split among S; whoever was offered more than its share keeps that.

        >>> mechanism.amend(round, mechanism.decide(round), two).round(2)
        array([20., 20.,  0.])
        """
        floors = np.zeros(len(round)) if offered is None else offered
        return self._shares(self.values(round, S).values, floors)

    def values(self, round: Round, S: Mask) -> ShapleyValues:
        """The Shapley value of each member of S as it is estimated, and its standard error.

        >>> mechanism.values(round, two).values.round(2)
        array([2.4, 2.4, 0. ])
        """
        return round.shapley(S, self._orders(round))

    def _shares(self, values: Floats, floors: Floats) -> Floats:
        """The pot in proportion to values, but to nobody less than its floor."""
        free = values > 0.0
        while free.any():
            open_values = np.where(free, values, 0.0)
            left = max(0.0, float(self.pot) - math.fsum(floors[~free].tolist()))
            shares = left * open_values / open_values.sum()
            below = free & (shares < floors)
            if not below.any():
                return np.where(free, shares, floors)
            free &= ~below
        return floors.copy()

    def _orders(self, round: Round) -> Ints:
        """[samples, n] random orders that depend on nothing but the round's number and clients, so
        that an audit draws the same. (The raw bits of PCG64 are the same in all versions of numpy,
        which is not promised of its shuffles.)"""
        seed = np.random.SeedSequence([round.number, *round.clients.tolist()])
        draws = np.random.PCG64(seed).random_raw(int(self.samples) * len(round))
        return np.argsort(draws.reshape(int(self.samples), -1), axis=1, kind="stable")
