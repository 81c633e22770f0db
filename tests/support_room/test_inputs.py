"""Refusing in one voice: the field, the value, what is allowed."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.support import inputs
from incfed.support.inputs import InputError


def refused(message: str) -> Any:
    """Exactly this message."""
    return pytest.raises(InputError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.5), np.int8(1), 10**20])
def test_numbers(value: Any) -> None:
    number = inputs.number("x", value, low=0)
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "1", None, 1j, np.complex128(1), [1], math.nan, math.inf, -math.inf, -1,
     pytest.param(10**400, id="huge")],
)  # fmt: skip
def test_what_is_no_number_of_at_least_0(value: Any) -> None:
    with refused(f"x: got {shortened(value)}, must be a number of at least 0"):
        inputs.number("x", value, low=0)


def shortened(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 120 else shown[:120] + "..."


def test_booleans_are_numbers_only_where_it_is_said() -> None:
    assert inputs.number("x", np.True_, booleans=True) == 1.0
    assert inputs.array("x", [True, False], ndim=1, booleans=True).tolist() == [1.0, 0.0]
    with refused("x: got 'an array of bool', must be finite numbers in 1 dimension"):
        inputs.array("x", [True, False], ndim=1)


@pytest.mark.parametrize(
    ("limits", "allowed", "good", "bad"),
    [
        ({}, "a number", -1e300, math.nan),
        ({"low": 1}, "a number of at least 1", 1, 0.999),
        ({"low": 1, "open_low": True}, "a number above 1", 1.001, 1),
        ({"high": 2}, "a number of at most 2", 2, 2.001),
        ({"high": 2, "open_high": True}, "a number below 2", 1.999, 2),
        ({"low": 0, "high": 1}, "a number from 0 to 1", 0, -1e-12),
        ({"low": 0, "high": 1}, "a number from 0 to 1", 1, 1.0000001),
        ({"low": 0, "high": 1, "open_low": True}, "a number from 0 to 1 (0 excluded)", 1, 0),
        ({"low": 0, "high": 1, "open_high": True}, "a number from 0 to 1 (1 excluded)", 0, 1),
        (
            {"low": 0, "high": 1, "open_low": True, "open_high": True},
            "a number from 0 to 1 (ends excluded)",
            0.5,
            1,
        ),
        ({"low": 0, "finite": False}, "a number (or inf) of at least 0", math.inf, math.nan),
    ],
)
def test_limits(limits: dict[str, Any], allowed: str, good: float, bad: float) -> None:
    assert inputs.number("x", good, **limits) == good
    with refused(f"x: got {bad!r}, must be {allowed}"):
        inputs.number("x", bad, **limits)


def test_integers() -> None:
    assert inputs.integer("n", np.int16(3), low=3, high=3) == 3
    assert type(inputs.integer("n", np.int16(3))) is int
    assert inputs.integer("n", -(10**30)) == -(10**30)
    bad: list[Any]
    for bad in [2, 4, 3.0, True, np.True_, "3", None, math.nan]:  # type: ignore[assignment]
        with refused(f"n: got {bad!r}, must be a whole number from 3 to 3"):
            inputs.integer("n", bad, low=3, high=3)
    with refused("n: got 0, must be a whole number of at least 1"):
        inputs.integer("n", 0, low=1)


def test_choices_and_flags() -> None:
    assert inputs.choice("order", "up", ("up", "down")) == "up"
    for bad in ("Up", "", None, 1, ["up"]):
        with refused(f"order: got {bad!r}, must be one of 'up', 'down'"):
            inputs.choice("order", bad, ("up", "down"))
    assert inputs.flag("on", np.True_) is True
    for bad in (0, 1, "true", None):
        with refused(f"on: got {bad!r}, must be true or false"):
            inputs.flag("on", bad)


def test_arrays() -> None:
    given = np.arange(6, dtype=np.int32).reshape(2, 3).T
    made = inputs.array("a", given, ndim=2)
    assert made.dtype == np.float64
    assert made.flags.c_contiguous
    assert not np.shares_memory(made, given)
    np.testing.assert_array_equal(made, given)
    same = np.ones(3)
    assert not np.shares_memory(inputs.array("a", same, ndim=1), same), "always a fresh one"
    whole = inputs.array("a", [1, 2], ndim=1, dtype=np.int64)
    assert whole.dtype == np.int64


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("abc", "'abc'"),
        (None, "None"),
        (3.0, "3.0"),
        ({1.0}, "{1.0}"),
        ([[1.0]], "'an array of shape (1, 1)'"),
        (["a"], "'an array of <U1'"),
        ([True], "'an array of bool'"),
        ([1j], "'an array of complex128'"),
        ([None], "'an array of object'"),
        ([[1.0], [1.0, 2.0]], "'list'"),
    ],
)
def test_what_is_no_list_of_numbers(value: Any, got: str) -> None:
    with refused(f"costs: got {got}, must be finite numbers in 1 dimension"):
        inputs.array("costs", value, ndim=1)


def test_what_an_array_masks_is_missing() -> None:
    values = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with refused("x: got 'an array with masked entries', must be finite numbers in 1 dimension"):
        inputs.array("x", values, ndim=1)
    assert inputs.array("x", values[:1], ndim=1).tolist() == [1.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_arrays_are_finite(bad: float) -> None:
    with refused(f"x[1, 0]: got {bad!r}, must be a finite number"):
        inputs.array("x", [[0.0, 1.0], [bad, math.nan]], ndim=2)
    with pytest.raises(InputError, match=r"^x\[0\]: got .*1e\+400.*, must be a finite number$"):
        inputs.array("x", np.array(["1e400"], np.longdouble), ndim=1)  # finite, but not for us


def test_whole_numbers_in_arrays() -> None:
    with refused("ids: got 'an array of float64', must be whole numbers in 2 dimensions"):
        inputs.array("ids", [[1.0]], ndim=2, dtype=np.int64)
    with refused("ids[1]: got 9223372036854775808, must be a whole number below 2^63"):
        inputs.array("ids", np.array([1, 2**63], np.uint64), ndim=1, dtype=np.int64)


def test_a_long_value_is_cut() -> None:
    message = str(inputs.refuse("x", "y" * 500, "short"))
    assert message == "x: got '" + "y" * 119 + "..., must be short"


def test_it_is_a_value_error() -> None:
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 rounds"), (1, "1 round"), (2, "2 rounds"), (1234, "1,234 rounds")]
)
def test_counts_are_said_in_singular_and_plural(count: int, said: str) -> None:
    assert inputs.counted(count, "round") == said
    assert inputs.counted(1, "entry", "entries") == "1 entry"
    assert inputs.counted(3, "entry", "entries") == "3 entries"


def test_every_message_counts_in_that_way() -> None:
    """No f-string says "{count} rounds" by itself, which would be wrong for one of them."""
    files = sorted(Path(incfed.__file__).parent.rglob("*.py"))
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    nouns = set(re.findall(r"(?:counted|noun)\([^\n]*?, ['\"]([a-z ]+)['\"]\)", source))
    assert {"client", "round", "row", "run", "seed", "step"} <= nouns
    bare = re.compile(rf" ({'|'.join(nouns)}|entrie)s\b")
    found = [
        f"{file}:{line}: {value} {text}"
        for file in files
        for line, value, text in _values_and_text(ast.parse(file.read_text(encoding="utf-8")))
        if bare.match(text) and not value.isupper()  # a constant is never 1
    ]
    assert found == []


def _values_and_text(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Every value in an f-string, and the text right after it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                    yield node.lineno, ast.unparse(value.value), str(text.value)


@pytest.mark.parametrize("value", ["", b"x", None, 3])
def test_what_is_no_path(value: Any) -> None:
    with pytest.raises(InputError, match=r"^out: got .*, must be the name of a folder"):
        inputs.path("out", value)


@pytest.mark.parametrize("write", [incfed.load, lambda path: incfed.sweep({}, output=path)])
def test_an_empty_path_is_not_the_current_folder(write: Any) -> None:
    with pytest.raises(InputError, match=r"(path|output): got '', must be the name of a folder"):
        write("")
