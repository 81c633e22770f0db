"""Federations in one process: every setting of their protocol, and loops that drive them."""

from __future__ import annotations

from typing import Any

import numpy as np

import incfed

DIM, CLIENTS = 4, 5

SETTINGS: dict[str, dict[str, Any]] = {
    "threshold": {"threshold": 0.5},
    "growth ratio": {"trigger": incfed.GrowthRatio(1.3)},
    "news": {"trigger": incfed.News(above=1.0)},
    "patient, rows": {"trigger": incfed.Patient(news=1.0)},
    "patient, growth": {"trigger": incfed.Patient(news=1.0, signal="growth")},
    "trust auto": {"threshold": 0.5, "trust": "auto"},
    "trust": {"threshold": 0.5, "trust": 3.0},
    "trust of each": {"threshold": 0.5, "trust": [0.0, 1.0, np.inf, 2.0, 5.0]},
    "privacy": {"threshold": 0.5, "privacy": incfed.Privacy(epsilon=4, reward_bound=2)},
    "private batches": {
        "threshold": 0.5,
        "privacy": incfed.Privacy(epsilon=4, reward_bound=2),
        "share_from": 3,
    },
    "batches": {"threshold": 0.5, "share_from": 3},
    "one for one": {"threshold": 0.5, "download": "one-for-one"},
    "one for one, auto": {"threshold": 0.5, "download": "one-for-one", "trust": "auto"},
    "one for one, growth": {
        "trigger": incfed.Patient(news=1.0, signal="growth"),
        "download": "one-for-one",
    },
    "one for one, rows": {"trigger": incfed.Patient(news=1.0), "download": "one-for-one"},
    "budget": {"threshold": 0.5, "budget": 60.0, "money_digits": 2},
    "limits": {
        "threshold": 0.5,
        "limits": incfed.Limits(per_client=20.0, price_rise=1.1, largest_share=0.5),
    },
    "costs of each": {"threshold": 0.5, "costs": [1.0, 5.0, 10.0, 20.0, 40.0]},
}


def rules(options: dict[str, Any]) -> incfed.IncFedUCB:
    given = {"costs": 10.0, **options}
    return incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.8), **given)


def federation_of(options: dict[str, Any]) -> incfed.Federation:
    names = [f"shop-{number}" for number in range(CLIENTS)]
    return incfed.Federation(CLIENTS, DIM, rules(options), seed=3, names=names)


def drive(federation: incfed.Federation, steps: int, seed: int) -> list[int]:
    """What was chosen."""
    chance, chosen = np.random.default_rng(seed), []
    theta = np.array([0.5, -0.5, 0.5, 0.5])
    for _ in range(steps):
        members = list(federation)
        member = members[chance.integers(len(members))]
        arms = chance.standard_normal((6, DIM))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        k = member.choose(arms)
        member.learn(arms[k], float(arms[k] @ theta + 0.1 * chance.standard_normal()))
        chosen.append(k)
    return chosen
