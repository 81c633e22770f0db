"""A mechanism of one's own: a class with one method, checked on hundreds of rounds."""

from dataclasses import dataclass

import numpy as np

import incfed


@dataclass(frozen=True)
class Lottery(incfed.Mechanism):
    """Those who share for data, and `winners` others, drawn by the number of the round."""

    winners: int = 3

    def decide(self, round: incfed.Round) -> incfed.Decision:
        S = round.stable_set()  # data covers their cost
        chance = np.random.default_rng(round.number)  # the same round, the same decision
        others = chance.permutation(np.flatnonzero(~S))
        S[others[: self.winners]] = True
        return round.settle(S)  # each is paid what data does not cover


print(incfed.check_mechanism(Lottery()), "rounds tried, no rule broken")
world = incfed.Synthetic(clients=20, dim=10, arms=10)
for mechanism in (Lottery(winners=1), Lottery(winners=5), incfed.PayEveryone()):
    algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    result = incfed.simulate(world, algorithm, steps=2000)
    print(f"{mechanism}: regret {result.regret[-1]:.1f}, {result.payment[-1]:,.0f} paid")
