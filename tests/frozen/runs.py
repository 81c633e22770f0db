"""Simulated runs: what was decided in every round, the curves, and the figures of each client.

Together they have every algorithm, mechanism, trigger and setting, and many combinations: who is
there, who uploads, what is refused and who lags behind depend on each other in a round. Every
setting is given, so that no run depends on a default. `ties.py` finds runs in which a decision
hangs by the last digits of a number; those are left out, and listed in LEFT_OUT.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import incfed
from frozen import worlds
from frozen.recording import Run, in_pieces, learner, stepwise
from frozen.worlds import DIFFERENT, EIGHT, FIVE, SIXTEEN, SKEWED, WEIGHTED
from incfed import (
    AsyncLinUCB,
    BestResponse,
    BudgetFeasible,
    Centralized,
    Colluding,
    CostAware,
    DisLinUCB,
    DrawnCosts,
    DriftingCosts,
    Exact,
    FedLinUCB,
    GrowthRatio,
    IncFedUCB,
    Independent,
    Limits,
    News,
    Patient,
    PayEveryone,
    PaymentEfficient,
    PaymentFree,
    PostedPrice,
    Privacy,
    Refusing,
    Shading,
    ShapleySplit,
    Threshold,
    Truthful,
    Withholding,
)

# How clients learn, unless told otherwise.
LEARNING: dict[str, Any] = {
    "ridge": 0.1,
    "noise": 0.1,
    "delta": 0.1,
    "exploration": None,
    "reads": "fresh",
    "width": "paper",
    "width_scale": 1.0,
}
SHARING: dict[str, Any] = {
    "clocks": "all",
    "download": "everyone",
    "budget": math.inf,
    "availability": 1.0,
    "reports": (),
    "money_digits": None,
    "limits": None,
    "share_from": 1,
    "privacy": None,
    "trust": math.inf,
}
SOME = [1.0, 3.0, 9.0, 2.0, 14.0, 6.0, 4.0, 20.0]  # costs of 8 clients
MANY = [0.5 * (1 + (7 * i) % 16) for i in range(16)]
HALF = PaymentEfficient(beta=0.5)
NO_LIMITS: dict[str, Any] = {
    "per_round": None,
    "per_payment": None,
    "per_client": None,
    "reserve": None,
    "price_rise": None,
    "price_floor": 1.0,
    "price_spread": None,
    "steps_per_upload": None,
    "largest_share": None,
    "steps_spread": None,
    "least_sharers": 1,
    "least_steps": 1,
    "refuse_resale": False,
}
ONE = "one-for-one"
NOISE = Privacy(epsilon=20.0, delta=1e-5, arm_norm=1.0, reward_bound=2.0)


def learning(kind: Any, **changes: Any) -> Any:
    return kind(**{**LEARNING, **changes})


def sharing(mechanism: incfed.Mechanism = HALF, when: Any = 1.0, **changes: Any) -> IncFedUCB:
    """`when`: a threshold, or a trigger."""
    trigger = when if isinstance(when, incfed.Trigger) else None
    given = {"costs": SOME, **LEARNING, **SHARING, **changes}
    return IncFedUCB(
        mechanism, threshold=when if trigger is None else None, trigger=trigger, **given
    )


def limits(**changes: Any) -> Limits:
    return Limits(**{**NO_LIMITS, **changes})


def growth(news: float = 2.0, factor: float = 1.15) -> Patient:
    return Patient(news=news, signal="growth", factor=factor)


def rows(news: float = 2.0) -> Patient:
    return Patient(news=news, signal="rows", factor=1.15)


ALGORITHMS = {
    "alone": Run(learning(Independent)),
    "alone, mixture": Run(learning(Independent, width="mixture", width_scale=0.5), FIVE, seed=1),
    "alone, constant alpha": Run(learning(Independent, exploration=0.3, ridge=1.0), SKEWED, seed=2),
    "alone, stale": Run(learning(Independent, reads="stale", delta=0.01), WEIGHTED, seed=3),
    "pooled": Run(learning(Centralized), FIVE, seed=1),
    "pooled, stale": Run(learning(Centralized, reads="stale", exploration=0.2), SKEWED, seed=2),
    "altruistic": Run(learning(DisLinUCB, threshold=1.0, trust=math.inf), SIXTEEN, seed=3),
    "altruistic, high": Run(learning(DisLinUCB, threshold="high", trust=math.inf), SKEWED, 1200),
    "altruistic, trust auto": Run(
        learning(DisLinUCB, threshold=0.5, trust="auto"), DIFFERENT, 600, 1
    ),
    "asynchronous": Run(
        learning(AsyncLinUCB, upload=1.5, download=2.0, costs=SOME, trust=math.inf), EIGHT, 500
    ),
    "asynchronous, trust auto": Run(
        learning(AsyncLinUCB, upload=1.3, download=3.0, costs=2.0, trust="auto"), DIFFERENT, 600
    ),
    "asynchronous, trust 20, mixture": Run(
        learning(AsyncLinUCB, upload=1.2, download=1.5, costs=1.0, trust=20.0, width="mixture"),
        SKEWED,
        500,
        4,
    ),
    "exchanging": Run(learning(FedLinUCB, growth=0.5, costs=SOME, trust=math.inf), EIGHT, 500, 1),
    "exchanging, trust each": Run(
        learning(FedLinUCB, growth=0.3, costs=0.1, trust=[0.0, 5.0, 50.0, math.inf] * 2),
        DIFFERENT,
        500,
        2,
    ),
    "exchanging, trust auto": Run(
        learning(FedLinUCB, growth=0.8, costs=1.0, trust="auto"), DIFFERENT, 500, 3
    ),
}

MECHANISMS: dict[str, incfed.Mechanism] = {
    "nobody paid": PaymentFree(),
    "everyone paid": PayEveryone(),
    "beta 0.7": PaymentEfficient(
        beta=0.7, order="descending", payment_free=True, iterative=True, absorb=False
    ),
    "beta 0.3, ascending": PaymentEfficient(beta=0.3, order="ascending"),
    "beta 0.6, without payment-free": PaymentEfficient(beta=0.6, payment_free=False),
    "beta 0.6, not iterative": PaymentEfficient(beta=0.6, iterative=False),
    "beta 0.6, without both": PaymentEfficient(beta=0.6, payment_free=False, iterative=False),
    "beta 0.8, absorb": PaymentEfficient(beta=0.8, absorb=True),
    "cost aware": CostAware(beta=0.7),
    "exact": Exact(beta=0.6, nodes=200_000),
    "exact, few nodes": Exact(beta=0.8, nodes=12),
    "truthful": Truthful(cover=0.8, reserve=16.0),
    "posted price": PostedPrice(price=5.0),
    "per round": BudgetFeasible(per_round=12.0, total=None),
    "per round, total": BudgetFeasible(per_round=15.0, total=200.0),
    "pot": ShapleySplit(pot=25.0, samples=30),
}
BY_MECHANISM = {
    f"mechanism: {name}": Run(sharing(mechanism), EIGHT, 300, seed)
    for seed, (name, mechanism) in enumerate(MECHANISMS.items())
}
ONE_FOR_ONE = {  # some clients lag behind
    f"one for one: {name}": Run(sharing(MECHANISMS[name], download=ONE), SKEWED, 300, 20 + seed)
    for seed, name in enumerate(
        ["nobody paid", "beta 0.7", "cost aware", "exact", "truthful", "per round", "pot"]
    )
}

TRIGGERS = {
    "threshold, as a trigger": Run(sharing(when=Threshold(D_c=2.0), costs=MANY), SIXTEEN, 300, 1),
    "threshold high": Run(sharing(when="high", costs=MANY), SIXTEEN, 400, 2),
    "threshold low": Run(sharing(PaymentFree(), "low"), EIGHT, 200, 3),
    "threshold theory": Run(sharing(PaymentEfficient(beta=0.9), "theory"), EIGHT, 600, 4),
    "growth ratio": Run(sharing(when=GrowthRatio(gamma=1.5), costs=SOME[:5]), FIVE, 400, 5),
    "news": Run(sharing(when=News(above=2.0)), SKEWED, 500, 6),
    "patient": Run(sharing(PaymentFree(), rows()), EIGHT, 500, 7),
    "patient, by growth": Run(sharing(PaymentFree(), growth()), EIGHT, 500, 8),
    "patient, by growth, dear clients": Run(
        sharing(PaymentFree(), growth(1.0, 1.5), costs=[0.1, 0.2, 0.1, 0.3, 50.0, 0.1, 80.0, 0.2]),
        EIGHT,
        600,
        9,
    ),
    "patient, one for one": Run(sharing(when=rows(1.0), costs=1.0, download=ONE), SKEWED, 500, 10),
    "patient, by growth, one for one": Run(
        sharing(PaymentFree(), growth(1.0), costs=1.0, download=ONE), SKEWED, 500, 11
    ),
}

LEARNERS = {  # how rounds and ways to learn go together
    "stale": Run(sharing(reads="stale"), EIGHT, 400, 1),
    "stale, one for one": Run(sharing(reads="stale", download=ONE), SKEWED, 400, 2),
    "stale, trust 10": Run(sharing(reads="stale", trust=10.0), DIFFERENT, 400, 3),
    "stale, patient": Run(sharing(when=rows(), reads="stale"), EIGHT, 400, 4),
    "clocks of participants": Run(sharing(PaymentFree(), clocks="participants"), SKEWED, 400, 5),
    "clocks of participants, one for one": Run(
        sharing(clocks="participants", download=ONE), EIGHT, 400, 6
    ),
    "mixture": Run(sharing(width="mixture", delta=0.01, costs=SOME[:5]), FIVE, 400, 7),
    "width halved": Run(sharing(width_scale=0.5, noise=0.3), EIGHT, 400, 8),
    "constant alpha": Run(sharing(exploration=0.2, ridge=0.5), EIGHT, 400, 9),
    "trust 0": Run(sharing(trust=0.0), DIFFERENT, 300, 10),
    "trust 15": Run(sharing(trust=15.0), DIFFERENT, 400, 11),
    "trust each": Run(sharing(trust=[0.0, 1.0, 5.0, 20.0, 80.0, math.inf, 3.0, 10.0]), DIFFERENT),
    "trust auto": Run(sharing(trust="auto"), DIFFERENT, 800, 12),
    "trust auto, constant alpha": Run(sharing(trust="auto", exploration=0.3), DIFFERENT, 500, 13),
    "trust auto, patient": Run(sharing(PaymentFree(), rows(1.0), trust="auto"), DIFFERENT, 500, 14),
    "trust auto, one for one": Run(sharing(trust="auto", download=ONE), DIFFERENT, 500, 15),
    "share from 5": Run(sharing(share_from=5), SKEWED, 500, 16),
    "privacy": Run(sharing(privacy=NOISE), EIGHT, 400, 17),
    "privacy, share from 4": Run(sharing(privacy=NOISE, share_from=4), SKEWED, 500, 18),
    "privacy, one for one": Run(sharing(privacy=NOISE, download=ONE), SKEWED, 400, 19),
}

MONEY = {
    "budget": Run(sharing(PayEveryone(), budget=300.0), EIGHT, 400, 1),
    "budget, limits": Run(sharing(PayEveryone(), budget=300.0, limits=limits()), EIGHT, 400, 2),
    "cents": Run(sharing(money_digits=2), EIGHT, 400, 3),
    "whole units, budget": Run(sharing(money_digits=0, budget=250.0), EIGHT, 400, 4),
    "limit per round": Run(sharing(limits=limits(per_round=8.0)), EIGHT, 300, 5),
    "limit per payment": Run(sharing(PayEveryone(), limits=limits(per_payment=5.0)), EIGHT, 300, 6),
    "limit per client": Run(sharing(limits=limits(per_client=30.0)), EIGHT, 400, 7),
    "limit: reserve": Run(sharing(limits=limits(reserve=8.0)), EIGHT, 300, 8),
    "limit: price rise": Run(
        sharing(limits=limits(price_rise=1.2, price_floor=2.0), reports=BestResponse(step=0.3)),
        EIGHT,
        300,
        9,
    ),
    "limit: price spread": Run(
        sharing(
            PayEveryone(),
            costs=DrawnCosts(mean=5.0, spread=1.0),
            limits=limits(price_spread=1.5, price_floor=3.0),
        ),
        EIGHT,
        300,
        10,
    ),
    "limit: steps per upload": Run(
        sharing(PaymentFree(), 4.0, limits=limits(steps_per_upload=12)), SKEWED, 400, 11
    ),
    "limit: largest share": Run(sharing(limits=limits(largest_share=0.3)), SKEWED, 400, 12),
    "limit: steps spread": Run(sharing(limits=limits(steps_spread=2.0)), SKEWED, 400, 13),
    "limit: least sharers": Run(
        sharing(PaymentFree(), costs=4.0, limits=limits(least_sharers=4)), EIGHT, 400, 14
    ),
    "limit: least steps": Run(
        sharing(PaymentFree(), costs=4.0, limits=limits(least_steps=15)), EIGHT, 400, 15
    ),
    "limit: resale": Run(sharing(limits=limits(refuse_resale=True)), EIGHT, 200, 16),
    "limits, posted price": Run(  # who is not paid may share for data alone
        sharing(
            PostedPrice(price=4.0),
            costs=[0.1 * cost for cost in SOME],
            limits=limits(per_round=9.0, per_client=41.0),
        ),
        EIGHT,
        300,
        20,
    ),
    "limits, pot": Run(
        sharing(
            ShapleySplit(pot=10.0, samples=20),
            costs=[0.1 * cost for cost in SOME],
            limits=limits(per_payment=2.0),
        ),
        EIGHT,
        300,
        21,
    ),
    "limits, posted price, away": Run(
        sharing(
            PostedPrice(price=3.0),
            costs=[0.2 * cost for cost in SOME],
            availability=0.6,
            limits=limits(per_round=8.0),
            budget=61.0,
        ),
        EIGHT,
        300,
        22,
    ),
    "limits of all kinds": Run(
        sharing(
            limits=Limits(
                per_round=20.0,
                per_payment=12.0,
                per_client=80.0,
                reserve=15.0,
                price_rise=1.5,
                price_floor=2.0,
                price_spread=3.0,
                steps_per_upload=40,
                largest_share=0.5,
                steps_spread=5.0,
                least_sharers=2,
                least_steps=3,
                refuse_resale=True,
            ),
            budget=400.0,
            money_digits=2,
        ),
        SKEWED,
        500,
        17,
    ),
    "limits, patient": Run(
        sharing(
            when=rows(1.0),
            costs=2.0,
            limits=limits(least_sharers=3, least_steps=8, largest_share=0.6),
        ),
        SKEWED,
        500,
        18,
    ),
    "limits, by growth": Run(
        sharing(when=growth(1.0), costs=2.0, limits=limits(least_sharers=3, per_round=6.0)),
        SKEWED,
        500,
        19,
    ),
}

CONDUCT = {
    "shading": Run(sharing(reports=Shading(factor=3.0, clients=[2, 4])), EIGHT, 300, 1),
    "shading, truthful": Run(
        sharing(Truthful(cover=0.8, reserve=21.0), reports=Shading(factor=2.0)), EIGHT, 300, 2
    ),
    "best response": Run(sharing(PayEveryone(), reports=BestResponse(step=0.1)), EIGHT, 300, 3),
    "colluding": Run(sharing(reports=Colluding(factor=1.5, clients=[0, 1, 5])), EIGHT, 300, 4),
    "refusing": Run(sharing(reports=Refusing(clients=[3, 7])), EIGHT, 300, 5),
    "withholding": Run(sharing(reports=Withholding(steps=6)), SKEWED, 400, 6),
    "drawn costs": Run(sharing(costs=DrawnCosts(mean=8.0, spread=0.5)), EIGHT, 300, 7),
    "drifting costs": Run(sharing(costs=DriftingCosts(mean=SOME, spread=0.2)), EIGHT, 300, 8),
    "everybody acts another way": Run(
        sharing(
            costs=DriftingCosts(mean=SOME, spread=0.1),
            money_digits=1,
            reports=[
                Shading(factor=1.5, clients=[0]),
                BestResponse(step=0.2, clients=[1, 2]),
                Colluding(factor=1.2, clients=[3, 4]),
                Refusing(clients=[5]),
                Withholding(steps=4, clients=[6]),
            ],
        ),
        EIGHT,
        400,
        9,
    ),
    "drifting costs, patient": Run(
        sharing(
            PaymentFree(),
            rows(1.0),
            costs=DriftingCosts(mean=2.0, spread=0.3),
            reports=Shading(factor=1.3, clients=[1, 6]),
        ),
        EIGHT,
        500,
        10,
    ),
    "drawn costs, by growth": Run(
        sharing(PaymentFree(), growth(1.0), costs=DrawnCosts(mean=2.0, spread=0.4)), EIGHT, 500, 11
    ),
    "present 0.7": Run(sharing(availability=0.7), EIGHT, 300, 12),
    "present, each": Run(
        sharing(PayEveryone(), availability=[1.0, 0.2, 0.9, 0.5, 0.5, 0.8, 0.1, 1.0]),
        EIGHT,
        300,
        13,
    ),
    "present in spells": Run(sharing(availability=[40.0, 25.0]), EIGHT, 400, 14),
    "present 0.6, patient": Run(
        sharing(when=rows(1.0), costs=2.0, availability=0.6), EIGHT, 500, 15
    ),
    "present 0.6, by growth": Run(
        sharing(PaymentFree(), growth(1.0), costs=2.0, availability=0.6), EIGHT, 500, 16
    ),
    "present 0.6, nobody paid": Run(
        sharing(PaymentFree(), costs=3.0, availability=0.6), EIGHT, 400, 20
    ),
    "present 0.6, posted price": Run(
        sharing(PostedPrice(price=5.0), availability=0.6), EIGHT, 300, 21
    ),
    "present 0.5, budget, cheap": Run(
        sharing(PayEveryone(), GrowthRatio(gamma=3.0), costs=1.5, availability=0.5, budget=9.0),
        SIXTEEN,
        600,
        22,
    ),
    "present 0.5, budget, posted price": Run(
        sharing(PostedPrice(price=1.0), costs=0.5, availability=0.5, budget=25.0), EIGHT, 400, 23
    ),
    "present 0.4, budget, truthful": Run(  # decided again, others are added for data alone
        sharing(Truthful(cover=0.4, reserve=6.0), 20.0, costs=0.3, availability=0.4, budget=4.0),
        SIXTEEN,
        400,
        3,
    ),
    "present 0.7, budget, truthful": Run(
        sharing(Truthful(cover=0.4, reserve=6.0), 5.0, costs=1.0, availability=0.7, budget=7.0),
        SIXTEEN,
        400,
        1,
    ),
    "present 0.6, truthful": Run(
        sharing(Truthful(cover=0.9, reserve=21.0), availability=0.6), EIGHT, 300, 17
    ),
    "present 0.6, pot": Run(
        sharing(ShapleySplit(pot=30.0, samples=20), availability=0.6), EIGHT, 300, 18
    ),
    "present 0.6, budget": Run(
        sharing(PayEveryone(), availability=0.6, budget=200.0, money_digits=2), EIGHT, 400, 19
    ),
}

TOGETHER = {  # what a round does one after another: who is there, uploads, is refused, lags, leaves
    "away, strategic, limited, private": Run(
        sharing(
            availability=0.8,
            reports=[Withholding(steps=3, clients=[0, 1]), Refusing(clients=[5])],
            limits=limits(per_round=15.0, steps_per_upload=30, least_sharers=2),
            privacy=NOISE,
            money_digits=2,
            budget=500.0,
        ),
        SKEWED,
        500,
        1,
    ),
    "away, lagging, limited": Run(
        sharing(
            availability=[30.0, 10.0],
            download=ONE,
            limits=limits(per_client=60.0, largest_share=0.4),
            budget=300.0,
        ),
        SKEWED,
        500,
        2,
    ),
    "away, lagging, strategic, share from 3": Run(
        sharing(
            CostAware(beta=0.6),
            availability=0.75,
            download=ONE,
            share_from=3,
            reports=Shading(factor=2.0, clients=[1, 3]),
            costs=DrawnCosts(mean=6.0, spread=0.3),
        ),
        SKEWED,
        500,
        3,
    ),
    "trust auto, away, limited": Run(
        sharing(
            trust="auto",
            availability=0.7,
            budget=250.0,
            money_digits=0,
            limits=limits(per_payment=10.0, price_spread=2.0),
        ),
        DIFFERENT,
        500,
        4,
    ),
    "trust auto, lagging, away, strategic": Run(
        sharing(
            PayEveryone(),
            trust="auto",
            download=ONE,
            availability=0.8,
            clocks="participants",
            reports=BestResponse(step=0.2, clients=[0, 2, 4]),
        ),
        DIFFERENT,
        500,
        5,
    ),
    "patient, away, lagging, limited, drifting": Run(
        sharing(
            when=rows(0.5),
            costs=DriftingCosts(mean=1.0, spread=0.2),
            availability=0.7,
            download=ONE,
            limits=limits(least_sharers=2, per_round=5.0),
            budget=100.0,
            trust=30.0,
        ),
        DIFFERENT,
        500,
        6,
    ),
    "by growth, away in spells, lagging, limited": Run(
        sharing(
            PaymentFree(),
            growth(0.5),
            costs=1.0,
            availability=[50.0, 20.0],
            download=ONE,
            limits=limits(least_sharers=2, steps_spread=4.0),
        ),
        SKEWED,
        500,
        7,
    ),
    "private, share from 5, withholding, truthful": Run(
        sharing(
            Truthful(cover=0.7, reserve=21.0),
            privacy=NOISE,
            share_from=5,
            reports=Withholding(steps=8, clients=[0, 3]),
            limits=limits(least_steps=10),
        ),
        EIGHT,
        500,
        8,
    ),
    "private, lagging, away, exact": Run(
        sharing(
            Exact(beta=0.6, nodes=500),
            privacy=NOISE,
            download=ONE,
            availability=0.8,
            clocks="participants",
        ),
        EIGHT,
        400,
        9,
    ),
    "stale, away, limited, many": Run(
        sharing(
            PaymentEfficient(beta=0.4, order="ascending"),
            "high",
            costs=MANY,
            reads="stale",
            availability=0.9,
            width="mixture",
            limits=limits(per_round=20.0, reserve=6.2),
        ),
        SIXTEEN,
        500,
        10,
    ),
    "one by one, feasible, away, limited": Run(
        sharing(
            BudgetFeasible(per_round=21.0, total=150.0),
            availability=0.7,
            download=ONE,
            limits=limits(per_client=40.0, price_rise=1.1),
            reports=BestResponse(step=0.05, clients=[1, 4, 6]),
        ),
        EIGHT,
        400,
        11,
    ),
    "six with weights, posted price, cents, away": Run(
        sharing(
            PostedPrice(price=2.5),
            costs=SOME[:6],
            availability=0.8,
            money_digits=2,
            budget=120.0,
            limits=limits(),
        ),
        WEIGHTED,
        400,
        12,
    ),
}

SEVEN = SOME[:7]
RECORDED = {
    "trace": Run(sharing(costs=SEVEN), worlds.trace),
    "trace, patient": Run(sharing(PaymentFree(), rows(1.0), costs=1.0), worlds.trace),
    "catalogue": Run(sharing(costs=SOME[:5]), worlds.catalogue, 500),
    "catalogue, trust auto, lagging": Run(
        sharing(costs=SOME[:5], trust="auto", download=ONE), worlds.catalogue, 500
    ),
    "log": Run(sharing(costs=0.5), worlds.log, 900),
    "log, patient": Run(sharing(PaymentFree(), rows(1.0), costs=0.5), worlds.log, 900),
    "log, unseen is zero": Run(
        sharing(costs=0.5, exploration=0.2), partial(worlds.log, "zero"), 600
    ),
    "log with propensities": Run(
        learning(AsyncLinUCB, upload=1.3, download=1.5, costs=0.5, trust=math.inf),
        partial(worlds.log, propensities=True),
        900,
        3,
    ),
    "films": Run(sharing(costs=0.5, exploration=0.3), worlds.movielens, 200),
    "in pieces": Run(sharing(availability=0.8, budget=200.0), EIGHT, 300, 4, in_pieces),
    "federation": Run(sharing(costs=SEVEN), worlds.trace, drive=stepwise),
    "federation, patient": Run(
        sharing(PaymentFree(), rows(1.0), costs=1.0), worlds.trace, drive=stepwise
    ),
    "federation, by growth": Run(
        sharing(PaymentFree(), growth(1.0), costs=1.0), worlds.trace, drive=stepwise
    ),
    "federation, lagging, trust auto": Run(
        sharing(costs=SEVEN, download=ONE, trust="auto"), worlds.trace, drive=stepwise
    ),
    "federation, private, share from 3": Run(
        sharing(
            costs=SEVEN,
            share_from=3,
            privacy=Privacy(epsilon=20.0, delta=1e-5, arm_norm=4.0, reward_bound=4.0),
        ),
        worlds.trace,
        seed=5,
        drive=stepwise,
    ),
    "federation, limits, cents": Run(
        sharing(
            PayEveryone(),
            costs=SEVEN,
            money_digits=2,
            budget=200.0,
            trust=20.0,
            limits=limits(per_round=20.0, price_rise=1.5, steps_per_upload=15, least_sharers=2),
        ),
        worlds.trace,
        drive=stepwise,
    ),
    "federation, altruistic": Run(
        learning(DisLinUCB, threshold=0.5, trust=5.0, width="mixture"),
        worlds.trace,
        drive=stepwise,
    ),
    "one learner": Run(learning(Independent), worlds.trace, drive=learner),
    "one learner, mixture": Run(
        learning(Independent, width="mixture", width_scale=0.3, ridge=0.5),
        worlds.catalogue,
        500,
        drive=learner,
    ),
}

RUNS: dict[str, Run] = {
    **ALGORITHMS,
    **BY_MECHANISM,
    **ONE_FOR_ONE,
    **TRIGGERS,
    **LEARNERS,
    **MONEY,
    **CONDUCT,
    **TOGETHER,
    **RECORDED,
}
LEFT_OUT: dict[str, str] = {}  # runs with a near-tie: their names, and where it is
CASES = {name: run.record for name, run in RUNS.items() if name not in LEFT_OUT}
