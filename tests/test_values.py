"""What values settings take: the same where they are given by name, in classes and in rules."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from incfed.errors import InputError
from incfed.values import Each, EachTrust, Flag, Number, Rate, String, Value, Whole, Word


def refused(message: str) -> Any:
    """Exactly this message."""
    return pytest.raises(InputError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.5), np.int8(1), 10**20])
def test_numbers(value: Any) -> None:
    number = Number(0).of("x", value)
    assert type(number) in (int, float)
    assert number == float(value)
    assert type(Number(0, as_float=True).of("x", value)) is float


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "1", None, 1j, np.complex128(1), [1], math.nan, math.inf, -math.inf, -1,
     pytest.param(10**400, id="huge")],
)  # fmt: skip
def test_what_is_no_number_of_at_least_0(value: Any) -> None:
    with refused(f"x: got {shortened(value)}, must be a number of at least 0"):
        Number(0).of("x", value)


def shortened(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 120 else shown[:120] + "..."


def test_booleans_are_numbers_only_where_it_is_said() -> None:
    assert Number(booleans=True).of("x", np.True_) == 1.0
    with refused("x: got True, must be a number"):
        Number().of("x", True)


@pytest.mark.parametrize(
    ("limits", "allowed", "good", "bad"),
    [
        ({}, "a number", -1e300, math.nan),
        ({"low": 1}, "a number of at least 1", 1, 0.999),
        ({"low": 1, "above": True}, "a number above 1", 1.001, 1),
        ({"high": 2}, "a number of at most 2", 2, 2.001),
        ({"high": 2, "below": True}, "a number below 2", 1.999, 2),
        ({"low": 0, "high": 1}, "a number from 0 to 1", 0, -1e-12),
        ({"low": 0, "high": 1}, "a number from 0 to 1", 1, 1.0000001),
        ({"low": 0, "high": 1, "above": True}, "a number from 0 to 1 (0 excluded)", 1, 0),
        ({"low": 0, "high": 1, "below": True}, "a number from 0 to 1 (1 excluded)", 0, 1),
        (
            {"low": 0, "high": 1, "above": True, "below": True},
            "a number from 0 to 1 (ends excluded)",
            0.5,
            1,
        ),
        ({"low": 0, "or_inf": True}, "a number (or inf) of at least 0", math.inf, math.nan),
    ],
)
def test_limits(limits: dict[str, Any], allowed: str, good: float, bad: float) -> None:
    assert Number(**limits).of("x", good) == good
    with refused(f"x: got {bad!r}, must be {allowed}"):
        Number(**limits).of("x", bad)


def test_integers() -> None:
    assert Whole(3, 3).of("n", np.int16(3)) == 3
    assert type(Whole().of("n", np.int16(3))) is int
    assert Whole().of("n", -(10**30)) == -(10**30)
    bad: list[Any]
    for bad in [2, 4, 3.0, True, np.True_, "3", None, math.nan]:  # type: ignore[assignment]
        with refused(f"n: got {bad!r}, must be a whole number from 3 to 3"):
            Whole(3, 3).of("n", bad)
    with refused("n: got 0, must be a whole number of at least 1"):
        Whole(1).of("n", 0)


def test_choices_and_flags() -> None:
    assert Word(("up", "down")).of("order", "up") == "up"
    for bad in ("Up", "", None, 1, ["up"]):
        with refused(f"order: got {bad!r}, must be one of 'up', 'down'"):
            Word(("up", "down")).of("order", bad)
    assert Flag().of("on", np.True_) is True
    for bad in (0, 1, "true", None):
        with refused(f"on: got {bad!r}, must be true or false"):
            Flag().of("on", bad)


def test_words_that_stand_for_themselves() -> None:
    number = Number(0, 1, words=("none", "auto"))
    assert number.of("x", "auto") == "auto"
    with refused('x: got \'all\', must be a number from 0 to 1, or "none", or "auto"'):
        number.of("x", "all")


def test_rates() -> None:
    assert [Rate(0.5, 2).of("x", value) for value in (0, 0.0, 0.5, 2)] == [0, 0, 0.5, 2]
    for bad in (0.1, 3, -1, True, "0", math.nan):
        with refused(f"x: got {bad!r}, must be 0 for no limit, or from 0.5 to 2"):
            Rate(0.5, 2).of("x", bad)


def test_texts() -> None:
    assert String(3).of("x", "a b") == "a b"
    for bad in ("", " ", "abcd", "a\n", 1, None):
        with refused(f"x: got {bad!r}, must be a text of 1 to 3 characters"):
            String(3).of("x", bad)
    assert String().of("x", " ") == " "
    with refused("x: got '', must be a string that is not empty"):
        String().of("x", "")


EACH = Each(Number(0, 9), "a number, or one per client")
TRUST = EachTrust(Number(0, 9, or_inf=True, words=("auto",)))


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_one_for_all_or_one_each(form: Any) -> None:
    for value in (EACH, TRUST):
        assert value.of("x", np.int8(3)) == 3
        assert value.of("x", form([1.0, 2.5])) == (1.0, 2.5)
    assert TRUST.of("x", form([1.0, math.inf])) == (1.0, math.inf)
    assert TRUST.of("x", "auto") == "auto"
    with refused("x[1]: got 10.0, must be a number from 0 to 9"):
        EACH.of("x", form([1.0, 10.0]))
    with refused("x[0]: got -1.0, must be a number (or inf) from 0 to 9"):
        TRUST.of("x", form([-1.0, 2.0]))


def test_what_is_neither_one_for_all_nor_one_each() -> None:
    for bad in ([], "auto", None, [[1.0]], [True], {1}):
        with pytest.raises(InputError, match=r"^x: got .*, must be a number, or one per client$"):
            EACH.of("x", bad)
    with refused("x[1]: got 'auto', must be a number (or inf) from 0 to 9"):
        TRUST.of("x", [1.0, "auto"])


KINDS: list[tuple[Value[Any], list[Any]]] = [
    (Number(0, 1), [0.5, np.float32(0.5), 1, True, "1", math.nan, 2, None]),
    (Whole(0, 5), [3, np.int8(3), 3.0, True, 6]),
    (Word(("a", "b")), ["a", "c", 1]),
    (Flag(), [True, np.False_, 0, "yes"]),
    (String(3), ["abc", "abcd"]),
    (Rate(1, 2), [0, 1.5, 0.5]),
    (EACH, [1, [1.0, 2.0], [1.0, -1.0], []]),
    (TRUST, ["auto", [math.inf], [-1.0]]),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=lambda one: type(one).__name__)
def test_pydantic_takes_the_same(kind: Value[Any], values: list[Any]) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Any, kind])
    assert adapter.json_schema()
    refusals = []
    for value in values:
        try:
            expected = kind.of("x", value)
        except InputError as error:
            with pytest.raises(ValidationError) as caught:
                adapter.validate_python(value)
            [one] = caught.value.errors()
            refusals.append((str(error), str(one["ctx"]["refused"])))
        else:
            found = adapter.validate_python(value)
            assert (found, type(found)) == (expected, type(expected))
    assert refusals
    assert all(said.startswith("x") and said.endswith(inner) for said, inner in refusals)
