"""Federations whose traces are recorded: their settings, their clients, and what operators do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frozen.traces import COVERED


@dataclass(frozen=True)
class Temper:
    """How a client acts; shares and chances are probabilities, of a second or of a round."""

    price: float = 0.0  # what its data costs it
    varies: float = 0.0  # its price is lower by up to this share
    learns: float = 0.7
    slow: float = 0.1  # it does nothing in this second
    declines: float = 0.0
    fails: float = 0.0  # to deliver
    hasty: float = 0.0  # it calls for a round without a reason
    deserts: float = 0.0  # it does not upload to a round that it called for
    late: float = 0.0  # what it sends arrives seconds later
    wrong: float = 0.0  # it also sends something impossible, or the same again
    lags: bool = False  # it downloads as late as it may
    signs: bool = False
    away: tuple[tuple[float, float], ...] = ()  # from, until


@dataclass(frozen=True)
class Scenario:
    settings: Mapping[str, Any]
    tempers: tuple[Temper, ...]
    acts: tuple[Mapping[str, Any], ...] = ()
    seconds: float = 120.0
    seed: int = 1


NO_LIMITS = {
    **dict.fromkeys(
        ("per_round", "per_payment", "per_client", "reserve", "price_rise", "price_spread",
         "steps_per_upload", "largest_share", "steps_spread"), "none"),
    "price_floor": 1.0, "least_sharers": 1, "least_steps": 1, "refuse_resale": False,
}  # fmt: skip
BASE: dict[str, Any] = {
    "name": "frozen", "dim": 3, "ridge": 0.5, "noise": 0.1, "delta": 0.1, "arm_norm": 1.0,
    "reward_bound": 1.0, "cost_limit": 1000.0, "budget": "none", "money_digits": 2,
    "upload_time": 3.0, "answer_time": 3.0, "live_time": 15.0, "attempts": 3, "barred_time": 12.0,
    "silent_rounds": 2, "round_interval": 0.0, "rounds_per_second": 0.0, "false_calls": 0,
    "ignored_time": 10.0, "steps_per_second": 0.0, "lag": 4, "download": "everyone",
    "width": "paper", "width_scale": 1.0, "signatures": "registered", "limits": NO_LIMITS,
}  # fmt: skip


def settings(mechanism: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    when = {} if "trigger" in more else {"threshold": 2.5}
    return {**BASE, "mechanism": mechanism, **when, **more}


EFFICIENT = {
    "kind": "PaymentEfficient", "beta": 0.9, "order": "descending", "payment_free": True,
    "iterative": True, "absorb": False,
}  # fmt: skip
PRICES = (0.6, 1.1, 2.3, 3.7, 6.1)


def clients(prices: tuple[float, ...] = PRICES, **temper: Any) -> tuple[Temper, ...]:
    return tuple(Temper(price, **temper) for price in prices)


ALL = (
    Scenario(
        settings(EFFICIENT, dim=4, budget=25.0, threshold=4.0, attempts=2),
        clients(declines=0.15, fails=0.25), seconds=160.0,
    ),
    Scenario(
        settings({"kind": "PaymentFree"}, silent_rounds=0, live_time=8.0),
        (Temper(0.5, slow=0.5, late=0.2), Temper(0.9, away=((15.0, 50.0),)), Temper(deserts=0.7),
         Temper(1.3, away=((18.0, 47.0),)),
         Temper(2.9, late=0.2, away=((10.0, 42.0), (80.0, 120.0)))),
    ),
    Scenario(
        settings({"kind": "PayEveryone"}, download="one-for-one", budget=24.0, attempts=1),
        clients(fails=0.1, declines=0.1),
    ),
    Scenario(
        settings({"kind": "Truthful", "cover": 0.6, "reserve": 8.0}, trust=20.0,
                 download="one-for-one", budget=180.0),
        clients((0.6, 1.1, 1.9, 2.3, 3.7, 6.1, 9.5), declines=0.1, fails=0.05), seed=2,
    ),
    Scenario(
        settings(
            {"kind": "CostAware", "beta": 0.97}, budget=60.0, dim=5, threshold=5.0,
            limits={
                "per_round": 4.3, "per_payment": 2.6, "per_client": 6.7, "reserve": 7.9,
                "price_rise": 1.3, "price_floor": 0.4, "price_spread": 2.6, "steps_per_upload": 40,
                "largest_share": 0.3, "steps_spread": 2.1, "least_sharers": 3, "least_steps": 6,
                "refuse_resale": True,
            },
        ),
        (*clients((2.1, 2.7, 3.1, 3.3, 3.9, 6.9), varies=0.6, fails=0.12),
         Temper(9.0, varies=0.3), Temper(1.9, learns=1.0, away=((0.0, 50.0),))),
        seconds=200.0,
    ),
    Scenario(
        settings({"kind": "PostedPrice", "price": 2.5}, answer_time=2.0),
        clients((0.6, 1.1, 2.3, 2.9, 6.1), slow=0.3, late=0.2),
    ),
    Scenario(
        settings({"kind": "BudgetFeasible", "per_round": 6.0, "total": 20.0}, dim=4, attempts=2),
        clients(fails=0.15, varies=0.2),
    ),
    Scenario(
        settings(EFFICIENT, trigger={"kind": "GrowthRatio", "gamma": 2.0}, trust="auto"),
        clients(declines=0.05),
        acts=({"at": 31.0, "do": "restart", "after": 7.0, "stage": "offered"},),
    ),
    Scenario(
        settings(EFFICIENT, dim=4, trigger={
            "kind": "Patient", "news": 1.5, "signal": "rows", "factor": 1.15}),
        clients((0.2, 0.4, 0.5, 0.7, 1.1), fails=0.15, slow=0.2),
    ),
    Scenario(
        settings(
            {"kind": "CostAware", "beta": 0.9}, trigger={"kind": "News", "above": 1.5},
            download="one-for-one", round_interval=4.0,
        ),
        clients(fails=0.1, declines=0.1),
    ),
    Scenario(
        settings(
            {"kind": "PaymentFree"}, dim=4, false_calls=2, ignored_time=20.0,
            trigger={"kind": "Patient", "news": 1.0, "signal": "growth", "factor": 1.1},
        ),
        (*clients((0.2, 0.4, 0.5, 0.7), slow=0.15), Temper(1.1, wrong=0.5)),
    ),
    Scenario(
        settings(EFFICIENT, privacy={"epsilon": 8.0, "delta": 1e-5}, false_calls=3),
        clients(declines=0.1, slow=0.2),
    ),
    Scenario(
        settings(EFFICIENT, budget=100.0),
        clients(fails=0.05),
        acts=(
            {"at": 12.0, "do": "pause"},
            {"at": 20.0, "do": "resume"},
            {"at": 26.0, "do": "change", "settings": {
                "mechanism": {"kind": "PayEveryone"}, "attempts": 2, "budget": 150.0}},
            {"at": 40.0, "do": "withdraw", "client": 2, "stage": "open"},
            {"at": 46.0, "do": "restart", "after": 5.0, "stage": "open"},
            {"at": 55.0, "do": "change", "settings": {"limits": {**NO_LIMITS, "per_payment": 3.1}}},
            {"at": 75.0, "do": "revoke", "client": 1},
            {"at": 90.0, "do": "pay_out", "client": 4},
            {"at": 95.0, "do": "withdraw", "client": 0},
            {"at": 100.0, "do": "change", "settings": {
                "mechanism": {**EFFICIENT, "beta": 0.8}, "limits": NO_LIMITS}},
        ),
        seconds=150.0,
    ),
    Scenario(
        settings({"kind": "PayEveryone"}, signatures="required", budget=200.0),
        (*clients((0.6, 1.1, 2.3), signs=True, declines=0.1, fails=0.1), Temper(1.7)),
        acts=tuple({"at": at, "do": "key", "client": k} for k, at in enumerate((0.0, 0.0, 15.0))),
    ),
    Scenario(
        settings(
            EFFICIENT, silent_rounds=1, round_interval=3.0, rounds_per_second=0.2, false_calls=2,
            ignored_time=15.0, steps_per_second=0.8, attempts=2,
        ),
        (*clients((0.6, 2.3, 3.7), wrong=0.5, learns=0.7), Temper(1.1, hasty=0.4, learns=0.3),
         Temper(1.9, deserts=0.5, slow=0.5), Temper(1.3, learns=1.0)),
    ),
    Scenario(
        settings(EFFICIENT, lag=3, threshold=1.5, upload_time=2.0),
        (*clients((0.6, 1.1, 2.3)), *clients((1.7, 3.7), slow=0.3, declines=0.6, lags=True)),
    ),
)  # fmt: skip
SCENARIOS = dict(zip(COVERED, ALL, strict=True))
