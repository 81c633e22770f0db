"""Real clients and a coordinator, in step with a trace, do what the simulator does under every
trigger, download rule and width."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.records import read_epoch
from incfed.protocol.presence import PresenceDraws
from incfed.service.client.policies import Discretion
from support.federation import Federation, as_served, federate, same_payments, synthetic
from support.in_step import play

COSTS = [0.0, 0.5, 1.0, 2.0, 2.0, 3.0]
CENTS = [0.0, 0.501, 1.999, 2.0001, 10 / 3, 20 / 3]  # rounded up
CASES: dict[str, dict[str, Any]] = {
    "threshold": {"threshold": 0.5},
    "growth ratio": {"trigger": incfed.GrowthRatio(1.5)},
    "mixture": {"trigger": incfed.GrowthRatio(1.5), "width": "mixture"},
    "one for one": {"threshold": 0.5, "download": "one-for-one"},
    "one for one, ratio": {"trigger": incfed.GrowthRatio(1.5), "download": "one-for-one"},
    "patient, growth": {"trigger": incfed.Patient(2.0, signal="growth")},
    "patient, growth, free": {
        "trigger": incfed.Patient(2.0, signal="growth"),
        "mechanism": incfed.PaymentFree(),
    },
    "patient, growth, one for one": {
        "trigger": incfed.Patient(2.0, signal="growth", factor=1.0),
        "mechanism": incfed.PaymentFree(),
        "download": "one-for-one",
    },
    "news": {"trigger": incfed.News(2.0)},
    "patient, rows": {"trigger": incfed.Patient(2.0)},
    "patient, rows, one for one": {
        "trigger": incfed.Patient(2.0),
        "mechanism": incfed.PaymentFree(),
        "download": "one-for-one",
        "costs": [0.0, 0.5, 1.0, 2.0, 2.0, 60.0],
    },
    "budget": {"threshold": 0.5, "budget": 4.0},
    "limits": {
        "threshold": 0.5,
        "budget": 12.0,
        "mechanism": incfed.PayEveryone(),
        "limits": incfed.Limits(
            per_round=2.5, per_payment=1.5, per_client=4.0, reserve=2.5, least_sharers=2
        ),
    },
    "small rounds": {
        "threshold": 0.1,
        "limits": incfed.Limits(least_sharers=3, least_steps=8, steps_per_upload=12),
    },
    "limits, rows": {
        "trigger": incfed.News(2.0),
        "budget": 4.0,
        "limits": incfed.Limits(per_payment=0.5),
    },
    "prices and shares": {
        "threshold": 0.5,
        "mechanism": incfed.PayEveryone(),
        "limits": incfed.Limits(
            price_rise=1.1, price_spread=1.5, largest_share=0.3, steps_spread=1.2
        ),
    },
    "small rounds, news": {
        "trigger": incfed.News(0.5),
        "mechanism": incfed.PayEveryone(),
        "limits": incfed.Limits(least_sharers=4, least_steps=9, largest_share=0.5),
    },
    "small rounds, growth": {
        "trigger": incfed.Patient(0.2, signal="growth", factor=1.0),
        "limits": incfed.Limits(least_sharers=4, least_steps=9),
        "costs": 0.3,
    },
    "small rounds, from three steps on": {
        "threshold": 0.2,
        "share_from": 3,
        "limits": incfed.Limits(least_sharers=2, least_steps=12),
    },
    "minor units": {"threshold": 0.5, "money_digits": 2, "costs": CENTS, "budget": 30.0},
    "minor units, rows": {"trigger": incfed.Patient(2.0), "money_digits": 1, "costs": CENTS},
    "trust": {"threshold": 0.5, "trust": 3.0},
    "no trust": {"threshold": 0.5, "trust": 0.0},
    "trust found out": {"threshold": 0.5, "trust": "auto"},
    "trust found out, one for one": {
        "trigger": incfed.GrowthRatio(1.5),
        "trust": "auto",
        "download": "one-for-one",
    },
    "from three steps on": {"threshold": 0.5, "share_from": 3},
    "noise": {"threshold": 0.5, "privacy": incfed.Privacy(8.0, reward_bound=2.0)},
    "noise, one for one": {
        "threshold": 0.5,
        "share_from": 4,
        "privacy": incfed.Privacy(4.0, reward_bound=2.0),
        "download": "one-for-one",
    },
    "noise, from three steps on": {
        "threshold": 0.0,
        "share_from": 3,
        "privacy": incfed.Privacy(1.0, reward_bound=2.0),
        "mechanism": incfed.PaymentFree(),
    },
    "trust found out, rows": {"trigger": incfed.Patient(2.0), "trust": "auto"},
}
AWAY: dict[str, dict[str, Any]] = {
    "a probability": {"availability": 0.6},
    "one per client": {"availability": [1.0, 0.9, 0.7, 0.5, 0.3, 0.1]},
    "spells": {"availability": (10.0, 8.0)},
    "for data alone": {"availability": 0.6, "mechanism": incfed.PaymentFree()},
    "growth ratio, budget": {
        "availability": 0.7, "threshold": None, "trigger": incfed.GrowthRatio(1.5), "budget": 4.0
    },
    "limits": {
        "availability": 0.7,
        "budget": 12.0,
        "limits": incfed.Limits(per_round=2.5, per_payment=1.5, per_client=4.0, least_sharers=2),
    },
    "one for one": {"availability": 0.7, "download": "one-for-one"},
    "minor units, budget": {
        "availability": 0.7, "money_digits": 2, "costs": CENTS, "budget": 9.37
    },
    "one for one, spells": {"availability": (20.0, 8.0), "download": "one-for-one"},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_as_the_simulator_does(case: str, memory: Path) -> None:
    trace = synthetic(len(COSTS), 150)
    algorithm = incfed.IncFedUCB(
        **{"mechanism": incfed.PaymentEfficient(beta=0.7), "costs": COSTS, **CASES[case]}
    )
    federation = both(trace, algorithm, memory)
    if algorithm.download != "everyone":
        behind = [
            opened["epoch"] - upload["epoch"]
            for opened in federation.of("opened")
            for upload in federation.of("uploaded")
            if upload["round"] == opened["round"] and upload["steps"]
        ]
        assert max(behind) > 1


@pytest.mark.parametrize("case", AWAY)
def test_as_the_simulator_does_while_clients_are_away(case: str, memory: Path) -> None:
    """The same clients are away: they neither upload, deliver nor download."""
    trace = synthetic(len(COSTS), 150)
    given = {"mechanism": incfed.PaymentEfficient(beta=0.7), "costs": COSTS, "threshold": 0.5}
    algorithm = incfed.IncFedUCB(**{**given, **AWAY[case]})
    presence = PresenceDraws(algorithm.availability, trace.count, seed=0)
    federation = both(trace, algorithm, memory, presence)
    uploads = Counter(upload["round"] for upload in federation.of("uploaded"))
    assert min(uploads.values()) < len(COSTS)  # some were away,
    assert (
        "spells" in case or max(one["attempt"] for one in federation.of("decided")) > 1
    )  # or left


def both(
    trace: incfed.Trace, algorithm: incfed.IncFedUCB, memory: Path,
    presence: PresenceDraws | None = None,
) -> Federation:  # fmt: skip
    """A simulation, and real clients on the same trace: their rounds are the same."""
    algorithm = as_served(algorithm)
    run = incfed.Simulation(trace, algorithm)
    run.advance(trace.length)
    expected = run.result()
    assert len(expected.rounds) > 3
    lag = 16 if algorithm.download == "everyone" else 0  # applies to everyone only
    options: dict[str, Any] = {"lag": lag, "barred_time": 0.0}
    if algorithm.privacy is not None:
        options |= {
            "privacy": incfed.Privacy(algorithm.privacy.epsilon),
            "reward_bound": 2.0,
            "arm_norm": 1.0,
        }
    federation = federate(memory / "ledger.db", trace, algorithm, **options)
    discretion, costs = Discretion(algorithm.share_from), algorithm.prices(trace.count)
    rewards = play(trace, federation, costs, memory, presence, discretion=discretion)
    np.testing.assert_array_equal(np.cumsum(rewards), expected.reward)
    closed = federation.of("closed")
    assert len(closed) == len(expected.rounds)
    for record, event, opened in zip(expected.rounds, closed, federation.of("opened"), strict=True):
        assert opened["client"] == record.trigger
        same_payments(event, record, federation.settings.money_digits)
        assert event["communication"] == record.communication
    with federation.store.read() as connection:
        V, b = read_epoch(connection, federation.coordinator.overview().epoch, trace.dim)
        assert audit(connection).findings == []
    np.testing.assert_allclose(V, run._run.shared.V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b, run._run.shared.b, rtol=1e-9, atol=1e-9)
    federation.store.close()
    return federation
