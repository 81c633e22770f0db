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
from incfed.errors import InputError
from incfed.support import inputs


def refused(message: str) -> Any:
    """Exactly this message."""
    return pytest.raises(InputError, match=f"^{re.escape(message)}$")


def test_booleans_in_arrays_only_where_it_is_said() -> None:
    assert inputs.array("x", [True, False], ndim=1, booleans=True).tolist() == [1.0, 0.0]
    with refused("x: got 'an array of bool', must be finite numbers in 1 dimension"):
        inputs.array("x", [True, False], ndim=1)


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
