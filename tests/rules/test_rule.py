"""Rules are declared once: what one says holds wherever it is given."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

import incfed
from incfed.configured import Configured
from incfed.errors import InputError
from incfed.ledger.settings import Settings
from incfed.rules.conduct import Conduct
from incfed.rules.learning import Learning, Trusting
from incfed.rules.limits import Limits
from incfed.rules.members import Members
from incfed.rules.privacy import Privacy
from incfed.rules.rounds import RoundRules
from incfed.rules.rule import meanings, names, read, rule, served, setting
from incfed.service.coordinator.config import ServerConfig
from incfed.service.coordinator.template import federation_template
from incfed.values import Number, Whole, Word

RULES: list[Any] = [Learning, Trusting, RoundRules, Members, Conduct, Limits, Privacy, Settings]


@rule(kw_only=True)
class Inner(Configured):
    share: Annotated[float, Number(0, 1)] = setting("how much")


@rule()
class Outer(Configured):
    """Made up for these tests."""

    count: Annotated[int, Whole(1)] = setting("how many")
    inner: Inner | None = setting("what is in it", default=None)
    words: tuple[str, ...] = setting("said", default=(), served=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count == 7:
            raise InputError("is unlucky", "count")


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "o.count: is missing, must be given"),
    ({"count": 0}, "o.count: got 0, must be a whole number of at least 1"),
    ({"count": True}, "o.count: got True, must be a whole number of at least 1"),
    ({"count": 7}, "o.count: is unlucky"),
    (
        {"count": 1, "cuont": 2},
        "o.cuont: got 2, but there is no such setting (did you mean 'count'?); allowed are count, "
        "inner, words",
    ),
    ({"count": 1, "inner": {"share": 2}}, "o.inner.share: got 2, must be a number from 0 to 1"),
    ({"count": 1, "inner": {}}, "o.inner.share: is missing, must be given"),
    ({"count": 1, "words": ["a", 1]}, "o.words[1]: got 1, must be a text"),
]


@pytest.mark.parametrize(("table", "said"), BAD)
def test_errors_name_the_place_and_what_is_allowed(table: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        read(Outer, table, "o")
    with pytest.raises(InputError, match=f"^{re.escape(said.removeprefix('o.'))}$"):
        Outer(**table)


def test_a_rule_is_a_frozen_dataclass() -> None:
    three: Any = np.int8(3)
    half: Any = np.float32(0.5)
    made = Outer(three, Inner(share=half))
    assert made == Outer(count=3, inner=Inner(share=0.5))
    assert type(made.count) is int
    assert repr(made) == "Outer(count=3, inner=Inner(share=0.5))"
    assert replace(made, count=4).count == 4
    with pytest.raises(InputError, match="count: got -1"):
        replace(made, count=-1)
    assert list(inspect.signature(Outer).parameters) == ["count", "inner", "words"]
    assert read(Outer, {"count": 1, "inner": {"share": 0}}, "o").inner == Inner(share=0)
    assert (names(Outer), served(Outer)) == (["count", "inner", "words"], ["count", "inner"])
    assert meanings(Outer)["inner"] == "what is in it"


@pytest.mark.parametrize("kind", [*RULES, ServerConfig])
def test_every_setting_says_what_it_means(kind: Any) -> None:
    assert meanings(kind).keys() == set(names(kind))
    assert not any(said.endswith(".") for said in meanings(kind).values())


@pytest.mark.parametrize("kind", [Learning, Trusting, RoundRules, Members])
def test_an_algorithm_has_all_settings_of_its_rules(kind: Any) -> None:
    own = {field.name: field.default for field in fields(incfed.IncFedUCB)}
    for field in fields(kind):
        assert own[field.name] == field.default or field.name == "reports"


@pytest.mark.parametrize("kind", [Learning, Trusting, RoundRules, Conduct])
def test_a_served_federation_has_those_that_are_served(kind: Any) -> None:
    assert set(served(kind)) <= set(served(Settings))
    for name in served(kind):
        assert re.search(rf"(?m)^#?{name} = |^\[federation\.{name}\]", federation_template()), name
    for name in set(names(kind)) - set(served(kind)):
        table = {"dim": 1, "mechanism": "PayEveryone", "threshold": 1, "budget": 1, name: 1}
        with pytest.raises(InputError, match=rf"federation\.{name}: .* no such setting"):
            Settings.read(table, Path())


def test_a_class_derived_from_an_algorithm_keeps_its_checks() -> None:
    @dataclass(frozen=True)
    class Mine(incfed.IncFedUCB):
        more: float = 1.0

    assert Mine(incfed.PayEveryone(), 1.0, more=2.0).more == 2.0
    for wrong in ({"ridge": -1.0}, {"costs": -1.0}, {"clocks": "some"}, {"limits": 5}):
        bad: dict[str, Any] = dict(wrong)
        with pytest.raises(InputError, match=rf"^{next(iter(wrong))}: got "):
            Mine(incfed.PayEveryone(), 1.0, **bad)


def test_what_excludes_what_holds_for_simulated_and_served_federations() -> None:
    noisy: dict[str, Any] = {"privacy": incfed.Privacy(4), "trust": 1.0}
    for make in (
        lambda: incfed.IncFedUCB(incfed.PayEveryone(), 1.0, **noisy),
        lambda: Settings(dim=1, mechanism=incfed.PayEveryone(), threshold=1.0, **noisy),
    ):
        with pytest.raises(InputError, match=r"^trust: got 1\.0, must be left out with privacy"):
            make()


def test_a_class_of_ones_own_keeps_the_checks_of_what_it_declares_anew() -> None:
    @dataclass(frozen=True)
    class Mine(incfed.PaymentEfficient):
        beta: float = 0.5
        mode: Literal[1, 2] = 1
        strict: bool = False

    odd: Any = 3
    assert Mine(strict=odd, mode=odd).strict == 3  # its own fields are its own business
    with pytest.raises(InputError, match=r"^beta: got 7, must be a number from 0 to 1$"):
        Mine(beta=7)


def test_what_is_given_by_position_is_named() -> None:
    bad: Any = True
    with pytest.raises(InputError, match=r"^epsilon: got True, must be a number from "):
        Privacy(bad)
    with pytest.raises(InputError, match=r"^delta: got 5, must be a number from "):
        Privacy(4, 5)


def test_objects_of_the_wrong_class() -> None:
    bad: Any = 5
    text: Any = "x"
    with pytest.raises(InputError, match=r"^mechanism: got 5, must be a Mechanism, such as "):
        Settings(dim=1, mechanism=bad, threshold=1.0)
    with pytest.raises(InputError, match=r"^trigger: got 5, must be a Trigger, such as Patient"):
        Settings(dim=1, mechanism=incfed.PayEveryone(), trigger=bad)
    with pytest.raises(InputError, match=r"^proxies: got 'x', must be a list$"):
        ServerConfig(proxies=text)


def test_an_error_of_somebody_elses_leaves_a_rule_as_it_is() -> None:
    class Odd(Privacy):
        def __post_init__(self) -> None:
            raise ZeroDivisionError("odd")

    class Own(Privacy):
        def __post_init__(self) -> None:
            raise ValueError("own")

    with pytest.raises(ZeroDivisionError, match="odd"):
        Odd(4)
    with pytest.raises(ValueError, match=r"^own$"):
        Own(4)


@pytest.mark.parametrize("name", ["reads", "clocks", "share_from"])
def test_a_served_federation_refuses_what_is_for_simulations(name: str) -> None:
    given: Any = {name: {"reads": "stale", "clocks": "participants", "share_from": 5}[name]}
    with pytest.raises(InputError, match=rf"^{name}: got .*, must be left out: a served"):
        Settings(dim=1, mechanism=incfed.PayEveryone(), threshold=1.0, **given)


def test_a_refusal_does_not_repeat_what_was_sent() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[str, Word(("a", "b"))])
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python("must be x")
    assert caught.value.errors()[0]["msg"] == "must be one of 'a', 'b'"
