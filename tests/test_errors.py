"""Errors in what a user gives."""

from __future__ import annotations

import copy
import re

import pytest

from incfed.errors import InputError, at, in_range, known, missing, refuse, table, unknown


def test_a_long_value_is_cut() -> None:
    message = str(refuse("x", "y" * 500, "short"))
    assert message == "x: got '" + "y" * 119 + "..., must be short"


def test_it_is_a_value_error() -> None:
    assert issubclass(InputError, ValueError)


def test_a_place_grows_from_the_inside_out() -> None:
    error = refuse("costs[3]", -1, "at least 0")
    assert str(error.within("algorithm[1]", {"costs"})) == (
        "algorithm[1].costs[3]: got -1, must be at least 0"
    )
    assert str(error.within("algorithm[1]", {"beta"})).startswith("algorithm[1]: costs[3]: got -1")
    deep = refuse("limits.per_round", -1, "at least 0").within("federation", {"limits"})
    assert deep.place == "federation.limits.per_round"
    assert str(InputError("no such file").within("world")) == "world: no such file"
    said = r"^a\.toml: world\.dim: is missing, must be given$"
    with pytest.raises(InputError, match=said), at("a.toml"), at("world", {"dim"}):
        raise missing("dim", "given")


def test_what_is_said_is_not_read_again() -> None:
    """Only an error that is about a key is said of it, whatever its text begins with."""
    assert str(InputError("beta: is a letter").within("algorithm", {"beta"})) == (
        "algorithm: beta: is a letter"
    )


def test_it_survives_the_way_between_processes() -> None:
    error = refuse("beta", 2, "a number from 0 to 1")
    same = copy.copy(error)  # as a process sends it
    assert (str(same), same.place, same.said) == (str(error), "beta", error.said)


def test_keys_that_mean_nothing() -> None:
    known("run", {"steps": 1}, ["steps"])
    said = (
        "run.step: got 5, but there is no such setting (did you mean 'steps'?); allowed are steps"
    )
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        known("run", {"step": 5}, ["steps"])
    assert "got a table" in str(unknown("x", {"a": 1}, ["y"]))
    assert table("world", {"kind": 1}, "...") == {"kind": 1}
    with pytest.raises(InputError, match=r"^world: got 3, must be a table, such as \[world\]$"):
        table("world", 3, "[world]")


def test_ranges_in_words() -> None:
    assert in_range("a number", 0.0, 1e6, above=True) == "a number from 0 to 1,000,000 (0 excluded)"
