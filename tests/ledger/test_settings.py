"""Settings: one trigger, and records that stay as version 0.1 wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.ledger.settings import Settings
from incfed.support.inputs import InputError

BASE: dict[str, Any] = {"dim": 2, "mechanism": "PayEveryone"}


def read(**given: Any) -> Settings:
    return Settings.read({**BASE, **given}, Path())


def test_at_the_defaults_nothing_new_is_recorded() -> None:
    body = read(threshold=1.0).body()
    assert not {"trigger", "download", "width"} & set(body)
    assert Settings.of(body) == read(threshold=1.0, download="everyone", width="paper")


def test_other_triggers_and_widths_are_recorded_and_read_again() -> None:
    settings = read(trigger={"kind": "GrowthRatio", "gamma": 1.5}, width="mixture")
    assert settings.trigger == settings.rule == incfed.GrowthRatio(1.5)
    assert settings.threshold is None
    body = settings.body()
    assert body["trigger"] == {"kind": "GrowthRatio", "gamma": 1.5}
    assert Settings.of(body) == settings


def test_privacy_is_recorded_and_read_again() -> None:
    settings = read(threshold=1.0, privacy={"epsilon": 4})
    assert settings.privacy == incfed.Privacy(4.0)
    body = settings.body()
    assert body["privacy"] == {"epsilon": 4.0, "delta": 1e-5}
    assert Settings.of(body) == settings
    for given, error in (
        ({"privacy": 4}, "federation.privacy: got 4, must be a table"),
        ({"privacy": {"epsilon": 4, "arm_norm": 1}}, "federation.privacy.arm_norm: got 1, but"),
        ({"privacy": {"epsilon": 4}, "trust": 3.0}, "federation.trust: got 3.0, must be left out"),
    ):
        with pytest.raises(InputError) as refused:
            read(threshold=1.0, **given)
        assert str(refused.value).startswith(error)
    with pytest.raises(
        InputError, match=r"federation.privacy: got 4.0, must be left out with News"
    ):
        read(trigger={"kind": "News", "above": 1.0}, privacy={"epsilon": 4})


def test_the_papers_trigger_is_its_threshold() -> None:
    assert read(trigger={"kind": "Threshold", "D_c": 0.5}) == read(threshold=0.5)
    never = read(trigger={"kind": "Threshold", "D_c": float("inf")})
    assert never == read(threshold=float("inf"))
    assert never.body()["threshold"] is None
    assert never.rule.threshold == float("inf")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "federation.threshold: is missing, must be given, unless trigger is"),
        (
            {"threshold": 1.0, "trigger": {"kind": "GrowthRatio", "gamma": 2.0}},
            "federation.threshold: got 1.0, must be left out: federation.trigger says",
        ),
        (
            {"trigger": {"kind": "GrowthRatio", "gamma": 0.5}},
            "federation.trigger.gamma: got 0.5, must be a number",
        ),
        (
            {"trigger": {"kind": "GrowthRatio", "gamma": float("inf")}},
            "federation.trigger: got GrowthRatio(gamma=inf), must be one with finite numbers",
        ),
        ({"trigger": "mine.py:Mine"}, "federation.trigger.kind: got 'mine.py:Mine', must be one"),
        ({"trigger": 7}, "federation.trigger: got 7, must be a table"),
        ({"threshold": 1.0, "download": "nobody"}, "federation.download: got 'nobody', must be"),
        ({"threshold": 1.0, "width": "wide"}, "federation.width: got 'wide', must be one of"),
    ],
)
def test_bad_settings_are_refused_by_field(given: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as refused:
        read(**given)
    assert str(refused.value).startswith(error)


def test_a_budget_is_given_or_said_not_to_be_there() -> None:
    assert read(threshold=1.0, budget="none").completed(None).budget is None
    assert read(threshold=1.0, budget=5).completed(None).budget == 5.0
    with pytest.raises(InputError, match=r"^federation.budget: is missing, must be given: .*none"):
        read(threshold=1.0).completed(None)
    for wrong in ("None", -1.0, float("inf"), True):
        with pytest.raises(InputError, match=r'^federation.budget: got .*, or "none"$'):
            read(threshold=1.0, budget=wrong)


def test_limits_are_safe_unless_said_otherwise() -> None:
    safe = read(threshold=1.0, budget=100.0).completed(None).limits
    assert safe is not None
    assert (safe.per_round, safe.per_payment, safe.per_client) == (20.0, 10.0, 50.0)
    assert (safe.least_sharers, safe.refuse_resale) == (2, True)
    own = read(threshold=1.0, budget=100.0, limits={"per_round": "none", "reserve": 3.0})
    assert own.limits is not None
    assert (own.limits.per_round, own.limits.reserve, own.limits.per_payment) == (None, 3.0, 10.0)
    assert Settings.of(own.completed(None).body()) == own.completed(None)
    with pytest.raises(InputError, match=r"^federation.limits.per_rond: got 1, but there is no"):
        read(threshold=1.0, budget=1.0, limits={"per_rond": 1})


def test_a_federation_of_version_0_1_keeps_its_settings_when_it_is_taken_over() -> None:
    present = Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0).body()
    assert "limits" not in present
    taken_over = read(threshold=1.0).completed(present)
    assert taken_over.body() == present
    assert [one.partition(":")[0] for one in taken_over.warnings] == [
        "this federation has no limits, as version 0.1 had none",
        "this federation has no money_digits, as version 0.1 had none",
        "clients that fail to deliver are barred for barred_rounds, which they can open "
        "themselves. Set barred_time in the config",
        "this federation goes on without silent_rounds, round_interval, rounds_per_second, "
        "false_calls, steps_per_second, as version 0.1 had none. Set them in the config",
        "no budget is set",
    ]
    meant = {"silent_rounds": 0, "round_interval": 0.0, "rounds_per_second": 0.0,
             "false_calls": 0, "barred_rounds": 0, "steps_per_second": 0}  # fmt: skip
    said = read(threshold=1.0, **meant).completed(present).warnings
    assert not any("goes on without" in one or "barred" in one for one in said)
    asked_for = read(threshold=1.0, limits={}).completed(present)
    assert asked_for.limits is not None
    with pytest.raises(InputError, match=r"^federation.budget: is missing"):
        read(threshold=1.0).completed(asked_for.body())


@pytest.mark.parametrize("pace", [5e-324, 1e-8, -1.0, 1e7])
def test_a_pace_of_rounds_that_is_no_number_of_seconds(pace: float) -> None:
    with pytest.raises(incfed.InputError, match=r"^rounds_per_second: got .*, must be "):
        Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0, rounds_per_second=pace)
