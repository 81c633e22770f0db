"""Settings: what a config must say, what it need not, and what is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.errors import InputError
from incfed.ledger.settings import Settings
from incfed.rules.limits import safe_limits
from incfed.rules.rule import served

BASE: dict[str, Any] = {"dim": 2, "mechanism": "PayEveryone", "budget": "none"}


def read(**given: Any) -> Settings:
    return Settings.read({**BASE, **given}, Path())


def test_every_setting_is_recorded() -> None:
    body = read(threshold=1.0).body()
    assert body.keys() == {*served(Settings), "identity"}
    assert Settings.of(body) == read(threshold=1.0, download="everyone", width="paper")


def test_a_config_that_says_nothing_is_careful() -> None:
    careful = read(threshold=1.0)
    assert (careful.silent_rounds, careful.round_interval, careful.false_calls) == (2, 0.5, 3)
    assert (careful.barred_time, careful.steps_per_second) == (300.0, 1000.0)
    assert (careful.rounds_per_second, careful.money_digits) == (2.0, 2)
    assert careful == Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0)


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
        InputError,
        match=r"federation.privacy: got Privacy\(epsilon=4.0\), must be left out with News",
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
            "federation.threshold: got 1.0, must be left out: trigger says",
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
    assert read(threshold=1.0).budget is None
    assert read(threshold=1.0).warnings == ["no budget is set: nothing limits what is paid in all"]
    assert read(threshold=1.0, budget=5).budget == 5.0
    assert read(threshold=1.0, budget=5).warnings == []
    given = {name: value for name, value in BASE.items() if name != "budget"}
    with pytest.raises(InputError, match=r"^federation.budget: is missing, must be given: .*none"):
        Settings.read({**given, "threshold": 1.0}, Path())
    for wrong in (None, "None", -1.0, float("inf"), True):
        with pytest.raises(InputError, match=r'^federation.budget: got .*, or "none"$'):
            read(threshold=1.0, budget=wrong)


def test_limits_are_safe_unless_said_otherwise() -> None:
    safe = read(threshold=1.0, budget=100.0).limits
    assert safe == safe_limits(100.0)
    assert (safe.per_round, safe.per_payment, safe.per_client) == (20.0, 10.0, 50.0)
    assert (safe.least_sharers, safe.refuse_resale) == (2, True)
    own = read(threshold=1.0, budget=100.0, limits={"per_round": "none", "reserve": 3.0})
    assert (own.limits.per_round, own.limits.reserve, own.limits.per_payment) == (None, 3.0, 10.0)
    assert Settings.of(own.body()) == own
    with pytest.raises(InputError, match=r"^federation.limits.per_rond: got 1, but there is no"):
        read(threshold=1.0, budget=1.0, limits={"per_rond": 1})


def test_clients_are_barred_for_a_time() -> None:
    assert read(threshold=1.0, barred_time=60.0).barred_until(7.0) == 67.0
    assert read(threshold=1.0, barred_time=0.0).barred_until(7.0) is None
    with pytest.raises(InputError, match=r"^federation.barred_rounds: got 3, but there is no"):
        read(threshold=1.0, barred_rounds=3)


@pytest.mark.parametrize("digits", [None, "none", 2.5, -1, 10, True])
def test_money_is_in_whole_minor_units(digits: Any) -> None:
    with pytest.raises(InputError, match=r"^federation.money_digits: got .*, must be a whole"):
        read(threshold=1.0, money_digits=digits)


@pytest.mark.parametrize("pace", [5e-324, 1e-8, -1.0, 1e7])
def test_a_pace_of_rounds_that_is_no_number_of_seconds(pace: float) -> None:
    with pytest.raises(incfed.InputError, match=r"^rounds_per_second: got .*, must be "):
        Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0, rounds_per_second=pace)
