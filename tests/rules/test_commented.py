"""The configs that `incfed init` writes: every rule is in them, and every line is valid."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from incfed.experiments import read
from incfed.experiments.template import GIVEN, RULES, experiment_template
from incfed.planning.case import read_case
from incfed.planning.template import FIXED, VARIED, case_template
from incfed.rules.rule import names

SETTING = re.compile(r"^#(?=\w+ = )", re.MULTILINE)
EXPERIMENT, CASE = experiment_template(), case_template()
MINE = """
import incfed
class Mine(incfed.Policy):
    def choose(self, model, arms, rng):
        return 0
"""
DEFAULTS = {field.name: field.default for kind in RULES for field in fields(kind)}
Read = Callable[[Path], Any]
LINES = [
    pytest.param(text, made, match.start(), id=f"{made.__name__} {text[match.end() :].split()[0]}")
    for text, made in ((EXPERIMENT, read), (CASE, read_case))
    for match in SETTING.finditer(text)
]


@pytest.mark.parametrize(("text", "made", "line"), LINES)
def test_a_default_changes_nothing(tmp_path: Path, text: str, made: Read, line: int) -> None:
    """But for what a plan searches otherwise, and says so."""
    shown = text[line + 1 :].split()[0]
    if DEFAULTS[shown] in (None, ()):  # the line is an example
        return
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    before = made(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text(text[:line] + text[line + 1 :], encoding="utf-8")
    after = made(tmp_path / "a.toml")
    if made is read:
        assert {n: one.value for n, one in after.entries.items()} == {
            n: one.value for n, one in before.entries.items()
        }
    elif shown not in VARIED:
        assert after.space == before.space


def test_every_rule_is_in_an_experiment() -> None:
    [table] = [
        one
        for one in tomllib.loads(SETTING.sub("", EXPERIMENT))["algorithm"]
        if one["label"].startswith("payment-efficient")
    ]
    every = {name for kind in RULES for name in names(kind)}
    assert set(table) == every | {"kind", "label"}
    assert all(table[name] for name in GIVEN)


def test_every_rule_that_can_be_fixed_is_in_a_case() -> None:
    assert set(tomllib.loads(SETTING.sub("", CASE))["algorithm"]) == set(FIXED)


@pytest.mark.parametrize(("text", "made", "line"), LINES)
def test_every_line_is_valid_without_its_mark(
    tmp_path: Path, text: str, made: Read, line: int
) -> None:
    text = text[:line] + text[line + 1 :]
    if text[line:].startswith("trigger"):  # instead of the threshold above it
        before, mark, after = text[:line].rpartition("\nthreshold")
        text = f"{before}\n#{mark.strip()}{after}{text[line:]}"
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    (tmp_path / "my_file.py").write_text(MINE, encoding="utf-8")
    made(tmp_path / "a.toml")
