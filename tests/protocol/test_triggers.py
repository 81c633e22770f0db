"""Triggers: what they take, and worked examples by hand."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.kernels.step import triggered
from incfed.protocol.triggers import TRIGGERS
from incfed.rules.members import Members

BAD: list[tuple[Any, dict[str, Any], str]] = [
    (incfed.Threshold, {"D_c": -1.0}, "D_c: got -1.0"),
    (incfed.Threshold, {"D_c": math.nan}, "D_c: got nan"),
    (incfed.GrowthRatio, {"gamma": 0.9}, "gamma: got 0.9"),
    (incfed.GrowthRatio, {"gamma": "2"}, "gamma: got '2'"),
    (incfed.News, {"above": -0.1}, "above: got -0.1"),
    (incfed.Patient, {"news": -5}, "news: got -5"),
    (incfed.Patient, {"news": True}, "news: got True"),
    (incfed.Patient, {"signal": "smoke"}, "signal: got 'smoke', must be one of 'rows', 'growth'"),
    (incfed.Patient, {"factor": 0.5}, "factor: got 0.5"),
]


@pytest.mark.parametrize(("kind", "given", "said"), BAD)
def test_bad_values_are_refused(kind: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        kind(**given)


PF = incfed.PaymentFree()
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "threshold: is missing, must be given, unless trigger is"),
    ({"threshold": 1.0, "trigger": incfed.Patient()}, "threshold: got 1.0, must be left out"),
    ({"trigger": 1.0}, "trigger: got 1.0, must be a Trigger"),
    ({"trigger": incfed.Patient}, "must be a Trigger, such as Patient"),
    ({"threshold": incfed.Patient()}, "pass a trigger as trigger="),
    ({"threshold": 1.0, "download": "nobody"}, "download: got 'nobody', must be one of"),
    ({"threshold": 1.0, "width": "narrow"}, "width: got 'narrow', must be one of"),
    ({"threshold": 1.0, "budget": -1.0}, "budget: got -1.0"),
    ({"threshold": 1.0, "budget": math.nan}, "budget: got nan"),
    ({"threshold": 1.0, "availability": 1.5}, "availability: got 1.5"),
    ({"threshold": 1.0, "availability": "often"}, "availability: got 'often'"),
    ({"threshold": 1.0, "availability": [0.5, -0.1, 1]}, r"availability\[1\]: got -0.1"),
    ({"threshold": 1.0, "availability": (100, 0.5)}, r"availability\[1\]: got 0.5"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_settings_of_an_algorithm(given: dict[str, Any], said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        incfed.IncFedUCB(PF, **given)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (incfed.AsyncLinUCB, {"upload": 0.9}, "upload: got 0.9"),
        (incfed.AsyncLinUCB, {"download": math.nan}, "download: got nan"),
        (incfed.AsyncLinUCB, {"reads": "stale"}, "reads: got 'stale'"),
        (incfed.FedLinUCB, {"growth": -0.1}, "growth: got -0.1"),
        (incfed.FedLinUCB, {"costs": [1.0, -2.0]}, r"costs\[1\]: got -2.0"),
    ],
)
def test_settings_of_asynchronous_ones(kind: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        kind(**given)


def test_as_many_probabilities_as_clients() -> None:
    algorithm = incfed.IncFedUCB(PF, 1.0, availability=[0.5, 0.9, 1.0])
    with pytest.raises(incfed.InputError, match="availability: got '3 probabilities'"):
        incfed.simulate(incfed.Synthetic(clients=4, dim=2), algorithm, steps=5)


def test_availability() -> None:
    assert Members(availability=1).availability == 1.0
    assert Members(availability=[1, 0.5]).availability == (1.0, 0.5)
    given: Any = np.array([50.0, 10.0])
    assert Members(availability=given).availability == (50.0, 10.0)


def test_by_hand() -> None:
    # One row x = (1, 0) with lambda = 1: det V_i = 2, det V_g = 1.
    grown = math.log(2.0)
    for trigger, fires in (
        (incfed.Threshold(2.1), False),  # 3 log 2 = 2.08
        (incfed.Threshold(2.0), True),
        (incfed.GrowthRatio(1.9), True),
        (incfed.GrowthRatio(2.0), False),  # not more than twice
        (incfed.Patient(0.0), False),  # the server decides
    ):
        assert triggered(3, grown, trigger.threshold, trigger.clocked) == fires
    with pytest.raises(TypeError, match="abstract"):
        incfed.Trigger()  # type: ignore[abstract]


def test_patient_by_hand() -> None:
    """Two clients, one step each: x = (1, 0) and (0, 1), lambda = 1. Each has det V_i = 2, and
    together they have 4: data is worth 4 / 2 - 1 = 1 to each."""
    arms = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    world = incfed.Trace(clients=[0, 1], arms=arms, rewards=np.ones((2, 1)))
    for cost, news, opens in (
        (1.0, 1.3, True),  # log 4 = 1.386
        (1.0, 1.4, False),
        (1.01, 1.3, False),
    ):
        algorithm = incfed.IncFedUCB(PF, trigger=incfed.Patient(news), costs=cost, ridge=1.0)
        result = incfed.simulate(world, algorithm)
        assert len(result.rounds) == opens
        assert result.communication[-1] == 2 * 2 + opens * (2 * 2 + 2 * 6)
        # Streamed rows, b of one row each; nobody acts again, so nothing is downloaded.
        assert result.packed[-1] == 2 * 2 + opens * 2


@pytest.mark.parametrize(("news", "rounds"), [(1.0, [1]), (1.5, [])])
def test_the_news_of_those_who_share_counts(news: float, rounds: list[int]) -> None:
    """Clients 0 and 1 have x = (1, 0): each det V_i = 2, together 3, worth 3 / 2 - 1 to each. They
    bring log 3 = 1.10. With x = (0, 2) of client 2 it would be log 15 = 2.71: it never shares."""
    arms = np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 2.0]]])
    world = incfed.Trace(clients=[0, 1, 2], arms=arms, rewards=np.ones((3, 1)))
    algorithm = incfed.IncFedUCB(PF, trigger=incfed.Patient(news), costs=[0.4, 0.4, 1e6], ridge=1.0)
    assert incfed.simulate(world, algorithm).rounds.step.tolist() == rounds


def test_in_a_config(tmp_path: Path) -> None:
    table = {"kind": "Patient", "news": 4, "signal": "growth"}
    built = TRIGGERS.build(table, "algorithm[1].trigger", tmp_path).value
    assert built == incfed.Patient(4, "growth")
    assert TRIGGERS.build("Patient", "trigger", tmp_path).value == incfed.Patient()
    for name, kind in TRIGGERS.makers.items():
        assert getattr(incfed, name) is kind
    with pytest.raises(incfed.InputError, match=r"trigger.kind: got 'Patience'"):
        TRIGGERS.build("Patience", "trigger", tmp_path)
    with pytest.raises(incfed.InputError, match=r"trigger.news: got -1"):
        TRIGGERS.build({"kind": "Patient", "news": -1}, "algorithm[1].trigger", tmp_path)


def test_settings_record_every_field() -> None:
    plain = incfed.IncFedUCB(PF, 1.0).settings()
    assert set(plain) == {"kind", *(field.name for field in fields(incfed.IncFedUCB))}
    assert (plain["trigger"], plain["width"], plain["availability"]) == (None, "paper", 1.0)
    used = incfed.IncFedUCB(PF, trigger=incfed.News(2.0), width="mixture", budget=5.0).settings()
    assert used["trigger"] == {"kind": "News", "above": 2.0}
    assert (used["width"], used["budget"]) == ("mixture", 5.0)
