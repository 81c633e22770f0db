"""Classes derived from an algorithm: what would be ignored is refused when the class is made."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import pytest

import incfed
from incfed import algorithms

KINDS = [one for one in vars(algorithms).values() if isinstance(one, type)]
BASES = [one for one in KINDS if issubclass(one, incfed.Algorithm)]
WORLD = incfed.Synthetic(clients=3, dim=2, arms=3, pool=20)


def nothing(self: Any, *given: Any) -> Any:
    """Stands in for anything."""


NAMED = {
    "choose": r"said by an incfed\.Policy of your own, as policy=$",
    "learn": r"an incfed\.Policy of your own, as policy=$",
    "observe": r"an incfed\.Policy of your own, as policy=$",
    "calls": r"said by an incfed\.Trigger of your own, as trigger=$",
    "decide": r"said by an incfed\.Mechanism of your own, as mechanism=$",
    "anything": r"is private: `_anything`$",
    "setings": r"\(did you mean 'settings'\?\): .* is private: `_setings`$",
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", NAMED)
def test_a_method_that_nothing_would_call(base: type, name: str) -> None:
    said = rf"^Mine\.{name}: would be ignored, as it means nothing to an algorithm.*{NAMED[name]}"
    for value in (nothing, property(nothing), staticmethod(nothing), 5.0):
        with pytest.raises(incfed.InputError, match=said):
            type("Mine", (base,), {name: value})


def test_also_of_a_mixin_and_of_a_class_further_down() -> None:
    mixin = type("Mixin", (), {"choose": nothing})
    with pytest.raises(incfed.InputError, match=r"^Mine\.choose: would be ignored"):
        type("Mine", (mixin, incfed.Independent), {})
    good = type("Good", (incfed.Independent,), {"_own": nothing})
    with pytest.raises(incfed.InputError, match=r"^Better\.own: would be ignored"):
        type("Better", (good,), {"own": nothing})


def test_a_class_variable() -> None:
    with pytest.raises(incfed.InputError, match=r"^Mine\.LIMIT: would be ignored"):

        class Mine(incfed.Independent):
            LIMIT: ClassVar[int] = 5


@pytest.mark.parametrize("value", [5.0, property(nothing), nothing])
def test_a_setting_that_an_object_would_not_have(value: Any) -> None:
    """Objects get the settings that they are made with: this one would run with ridge 0.1."""
    said = r"^Mine\.ridge: would be ignored, as it is a setting: give it as ridge=, or declare it"
    with pytest.raises(incfed.InputError, match=said):
        type("Mine", (incfed.Independent,), {"ridge": value})
    with pytest.raises(incfed.InputError, match=r"^Mine\.mechanism: .* it is a setting"):
        type("Mine", (incfed.IncFedUCB,), {"mechanism": value})


def test_a_function_as_a_setting_chooses_nothing_either() -> None:
    with pytest.raises(incfed.InputError, match=r"^Mine\.choose: would be ignored.*policy=$"):

        class Mine(incfed.Independent):
            choose: Any = nothing


def test_settings_without_a_dataclass() -> None:
    class Mine(incfed.Independent):
        ridge: float = 5.0
        more: float = 1.0

    class Further(Mine):
        pass

    for kind in (Mine, Further):
        with pytest.raises(incfed.InputError, match=r"^Mine: declares ridge, more, which would be"):
            kind()


def test_what_algorithms_know_and_settings_of_ones_own() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mine(incfed.IncFedUCB):
        ridge: float = 0.5
        factor: float = 2.0
        names: tuple[str, ...] = field(default=("a",))
        _secret: ClassVar[int] = 3

        def prices(self, count: int) -> Any:
            return self._scaled(super().prices(count))

        def _scaled(self, prices: Any) -> Any:
            return self.factor * prices

    class Further(Mine):
        def check(self, count: int) -> None:
            super().check(count)

    rules: dict[str, Any] = {"threshold": 0.3, "costs": 5.0}
    own = incfed.simulate(WORLD, Further(incfed.PayEveryone(), **rules), steps=100)
    rules |= {"costs": 10.0, "ridge": 0.5}
    plain = incfed.simulate(WORLD, incfed.IncFedUCB(incfed.PayEveryone(), **rules), steps=100)
    assert own.payment[-1] == plain.payment[-1] > 0
    assert (own.regret == plain.regret).all()
    assert own.settings["algorithm"]["factor"] == 2.0
    assert {"ridge", "factor", "names"} <= {one.name for one in fields(Further)}
