"""What does a client gain by lying about its cost?

In a round of `Truthful`, nothing. Over many rounds little, if the reserve is near the highest cost:
who asks for more gets nothing.
"""

import incfed
from incfed.results import utilities

world = incfed.Synthetic(clients=20, dim=10, arms=10)
costs = [5.0 + n for n in range(20)]  # what sharing truly costs each client
LIAR = 12


def utility(mechanism: incfed.Mechanism, factor: float) -> float:
    """Payments less true costs, if the client reports `factor` times its cost."""
    lie = incfed.Shading(factor=factor, clients=[LIAR])
    algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=costs, reports=lie)
    return float(utilities(incfed.simulate(world, algorithm, steps=2000)).utility[LIAR])


for mechanism in (
    incfed.PayEveryone(),
    incfed.PaymentEfficient(beta=0.7),
    incfed.Truthful(cover=0.7, reserve=25.0),
):
    found = ", ".join(f"{utility(mechanism, x):,.0f} at {x:g} times" for x in (1.0, 1.2, 2.0))
    print(f"{type(mechanism).__name__}: {found} its cost")
