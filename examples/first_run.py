"""A first run: twenty clients learn together, and what that costs."""

import incfed

world = incfed.Synthetic(clients=20, dim=10, arms=10)  # the paper's world, in small
mechanism = incfed.PaymentEfficient(beta=0.5)  # who shares, and what each is paid
algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)

result = incfed.simulate(world, algorithm, steps=2000, seed=0)
alone = incfed.simulate(world, incfed.Independent(), steps=2000, seed=0)

print(f"alone:    regret {alone.regret[-1]:.0f}")
print(f"together: regret {result.regret[-1]:.0f}, {result.payment[-1]:,.0f} paid", end="")
print(f" in {len(result.rounds)} rounds, {result.communication[-1]:,.0f} numbers sent")
print(result.rounds[-1])
gains = result.gains(alone)
print(f"{gains.share:.0%} of the clients are better off than alone")
