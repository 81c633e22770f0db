"""Compare mechanisms on the same clients, arms and noise, and write a page."""

import incfed


def sharing(mechanism: incfed.Mechanism) -> incfed.Algorithm:
    return incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)


comparison = incfed.compare(
    incfed.Synthetic(clients=20, dim=10, arms=10),
    {
        "everyone": sharing(incfed.PayEveryone()),
        "beta 0.5": sharing(incfed.PaymentEfficient(beta=0.5)),
        "for data": sharing(incfed.PaymentFree()),
        "alone": incfed.Independent(),
    },
    steps=2000,
    seeds=3,
)
print(comparison)  # means and spreads, and differences to the first with intervals
less = comparison.difference("beta 0.5", "payment")
print(f"\nbeta 0.5 pays {-less.mean:,.0f} less than paying everyone")
print("written:", comparison.report("comparison.html").name)
