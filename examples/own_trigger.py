"""A trigger of one's own: each client calls for a round by itself, and waits longer each time."""

from dataclasses import dataclass

import incfed


@dataclass
class Rarer(incfed.Trigger):
    """Whenever it has called, a client waits for `factor` times as much news."""

    news: float = 0.1
    factor: float = 1.5

    def calls(self, client: incfed.ActingClient) -> bool:
        if client.growth < self.news:
            return False
        self.news *= self.factor  # of this client only: each has its own copy
        return True


world = incfed.Synthetic(clients=20, dim=10, arms=10)
algorithms = {
    str(trigger): incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), trigger=trigger, costs=10.0)
    for trigger in (incfed.Threshold(1.0), Rarer(), Rarer(factor=2.0))
}
comparison = incfed.compare(world, algorithms, steps=2000, seeds=3)
for label, results in comparison.runs.items():
    regret = sum(one.regret[-1] for one in results) / len(results)
    paid = sum(one.payment[-1] for one in results) / len(results)
    print(f"{label}: regret {regret:.1f}, {paid:,.0f} paid")
