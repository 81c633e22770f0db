"""A recommendation log as a world: what would have been sold, had clients shared?"""

import numpy as np
import polars as pl

import incfed

# A log of 6,000 visits: three books to choose from, one of them shown at random, sold or not.
chance = np.random.default_rng(0)
books = chance.standard_normal((40, 3)) / 2
slates = np.array([chance.permutation(40)[:3] for _ in range(6000)])
shown = slates[np.arange(6000), chance.integers(0, 3, 6000)]
sold = chance.random(6000) < 0.3 + 0.25 * np.clip(books[shown] @ [1.0, -1.0, 0.5], -1, 1)
pl.DataFrame(
    {
        "client": [f"shop {n}" for n in chance.integers(0, 12, 6000)],
        "candidates": ["|".join(map(str, slate)) for slate in slates],
        "chosen": shown,
        "reward": sold.astype(int),
    }
).write_csv("visits.csv")
columns = {f"taste {n}": books[:, n] for n in range(3)}
pl.DataFrame({"item": np.arange(40), **columns}).write_csv("books.csv")

log = incfed.ReplayLog("visits.csv", mode="replay", items="books.csv")
print(f"{log.count} clients, {log.length:,} events; sold in the log: {sold.mean():.3f} of them")
paid = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=0.5, costs=1.0)
for name, algorithm in {"alone": incfed.Independent(), "together": paid}.items():
    result = incfed.simulate(log, algorithm)
    each = result.reward[-1] / result.matched[-1]  # only events where both picked the same count
    print(f"{name}: {each:.3f} sold in {result.matched[-1]:,.0f} matched events")
