"""Does it pay, over a whole run, to report more than one's true cost? A client that does is bought
less often, and has more data when it is. One client at a time lies, in every round; every fifth of
50 clients is tried, with several factors. Beside `Truthful`: ways to make hoarding worthless.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import incfed
from incfed.kernels.auction import Auction, run_auction
from incfed.kernels.coalition import log_value
from incfed.kernels.pending import Pending
from incfed.results import utilities
from incfed.types import Floats
from speedup import SHAPE, STEPS

N = SHAPE["clients"]
UNIFORM = np.random.default_rng(0).uniform(20.0, 180.0, N)
# Median 100, two clients of three within a factor of 2 of it: a few cost far more than the rest.
LOGNORMAL = [100.0 * 2.0 ** np.random.default_rng(draw).standard_normal(N) for draw in range(3)]
LIARS = range(0, N, 5)
FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 8.0)


@dataclass(frozen=True)
class Capped(incfed.Mechanism):
    """Truthful, but pending data counts up to `most` nats only: beyond, it is scaled down for the
    auction. That depends on data, not on reports, so that in a round no lie pays either."""

    cover: float
    reserve: float
    most: float = math.inf

    def decide(self, round: incfed.Round) -> incfed.Decision:
        return auction(round, self.cover, np.full(len(round), self.reserve), self._scaled(round))

    def _scaled(self, round: incfed.Round) -> Pending:
        U, data = round._shared[1], round.pending
        rows, grams = data.rows.copy(), data.grams.copy()
        for j in np.flatnonzero(round.contributions(round.nobody) > self.most):
            part = slice(data.start[j], data.start[j + 1])
            X = data.rows[part] @ U.T
            dense = data.dense[j]
            M = U @ data.grams[dense] @ U.T if dense >= 0 else X @ X.T
            scale = self._scale(np.maximum(0.0, np.linalg.eigvalsh(M)))
            if dense >= 0:
                grams[dense] *= scale
            else:
                rows[part] *= math.sqrt(scale)
        return Pending.of(rows, data.start, grams, data.dense)

    def _scale(self, eigenvalues: Floats) -> float:
        """The s for which log det(I + s M) is `most`."""
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2.0
            over = np.log1p(middle * eigenvalues).sum() > self.most
            low, high = (low, middle) if over else (middle, high)
        return low


@dataclass(frozen=True)
class ReservePerNat(incfed.Mechanism):
    """Truthful with a reserve for each client: a price per nat of what it brings, fixed ahead."""

    cover: float
    price: float

    def decide(self, round: incfed.Round) -> incfed.Decision:
        reserves = self.price * round.contributions(round.nobody)
        return auction(round, self.cover, reserves, round.pending)


@dataclass(frozen=True)
class PricePerNat(incfed.Mechanism):
    """A posted price per nat of what a client alone would bring, fixed in advance and due whatever
    others share; whoever asks at most that takes part."""

    price: float

    def decide(self, round: incfed.Round) -> incfed.Decision:
        offers = self.price * round.contributions(round.nobody)
        S = round.costs <= offers
        return incfed.Decision(S, np.where(S, offers, 0.0))


def auction(
    round: incfed.Round, cover: float, reserves: Floats, pending: Pending
) -> incfed.Decision:
    V, U, logdet = round._shared
    eligible = round.costs <= reserves
    target = log_value(V, round._ridge, pending, eligible) + math.log(cover) - 1e-9
    S, payments = round.nobody, np.zeros(len(round))
    bids = Auction.of(V, U, round._ridge, pending, round.costs, eligible)
    run_auction(*bids, logdet, target, float(reserves.max(initial=0.0)), S, payments)
    return incfed.Decision(S, np.where(S, np.minimum(payments, reserves), 0.0))


RESERVES: dict[str, Callable[[Floats], float]] = {
    "1.1 times the highest": lambda costs: 1.1 * float(costs.max()),
    "at 9 of 10 costs": lambda costs: float(np.quantile(costs, 0.9)),
}
TOPS = [RESERVES["1.1 times the highest"](costs) for costs in LOGNORMAL]
KINDS: dict[str, tuple[incfed.Mechanism, Floats]] = {
    "PaymentEfficient": (incfed.PaymentEfficient(0.7), UNIFORM),
    "Truthful, reserve 1000": (incfed.Truthful(cover=0.7, reserve=1000.0), UNIFORM),
    "Truthful, reserve 200": (incfed.Truthful(cover=0.7, reserve=200.0), UNIFORM),
    **{
        f"Truthful, cover {cover}, reserve 200": (incfed.Truthful(cover, 200.0), UNIFORM)
        for cover in (0.1, 0.3, 0.85)
    },
    "data counts up to 0.05 nats": (Capped(cover=0.7, reserve=1000.0, most=0.05), UNIFORM),
    "1000 per nat at most": (ReservePerNat(cover=0.7, price=1000.0), UNIFORM),
    "a price of 1000 per nat": (PricePerNat(1000.0), UNIFORM),
    "a price of 2000 per nat": (PricePerNat(2000.0), UNIFORM),
    "PostedPrice, 180": (incfed.PostedPrice(180.0), UNIFORM),
    **{
        f"lognormal {draw}, reserve {name}": (incfed.Truthful(0.7, reserve(costs)), costs)
        for draw, costs in enumerate(LOGNORMAL)
        for name, reserve in RESERVES.items()
    },
    **{
        f"lognormal 0, cover {cover}": (incfed.Truthful(cover, TOPS[0]), LOGNORMAL[0])
        for cover in (0.3, 0.85, 1.0)
    },
    "lognormal 2, cover 0.3": (incfed.Truthful(0.3, TOPS[2]), LOGNORMAL[2]),
    "lognormal 0, PostedPrice": (incfed.PostedPrice(float(LOGNORMAL[0].max())), LOGNORMAL[0]),
}


def measure() -> dict[str, Any]:
    return {name: _one(name, *kind) for name, kind in KINDS.items()}


def _one(name: str, mechanism: incfed.Mechanism, costs: Floats) -> dict[str, Any]:
    honest = _run(mechanism, costs)
    truth = utilities(honest).utility[LIARS]
    gains = np.array([
        [utilities(_run(mechanism, costs, client, factor)).utility[client] for factor in FACTORS]
        for client in LIARS
    ]) - truth[:, None]  # fmt: skip
    found = {
        "payment": float(honest.payment[-1]),
        "regret": float(honest.regret[-1]),
        "honest_utility": float(truth.mean()),
        "mean_gain": dict(zip(map(str, FACTORS), gains.mean(axis=0).tolist(), strict=True)),
        "best_lie_gains": float(np.maximum(0.0, gains.max(axis=1)).mean()),
    }
    each = ", ".join(f"x{f:g} {gain:+,.0f}" for f, gain in zip(FACTORS, gains.mean(0), strict=True))
    print(
        f"  {name:38} paid {found['payment']:>9,.0f}, regret {found['regret']:.1f}, honest "
        f"{found['honest_utility']:>6,.0f}; lies: {each}; the best {found['best_lie_gains']:+,.0f}"
    )
    return found


def _run(
    mechanism: incfed.Mechanism, costs: Floats, liar: int | None = None, factor: float = 1.0
) -> incfed.Result:
    threshold = incfed.thresholds.high(steps=STEPS, **SHAPE)
    lies = () if liar is None else (incfed.Shading(factor, clients=[liar]),)
    algorithm = incfed.IncFedUCB(mechanism, threshold, costs.tolist(), reports=lies)
    return incfed.simulate(incfed.Synthetic(**SHAPE), algorithm, steps=STEPS)
