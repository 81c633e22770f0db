"""What `make attack` makes of its outcomes. The attacks themselves take minutes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "attacks"
NAMES = [file.stem for file in FOLDER.glob("*.py")]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield import_module("run")
    for name in NAMES:
        sys.modules.pop(name, None)


def test_only_what_is_held_off_counts(
    run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without limits it must do harm; with them none, unless that is known."""
    verdicts = []
    for known, harmless, held, expected in (
        (False, False, True, 0),
        (False, False, False, 1),
        (True, False, False, 0),
        (False, True, True, 1),  # it shows nothing
    ):
        attack = import_module("outcome").Attack("a try", None, known=known)
        monkeypatch.setattr(run, "ATTACKS", {"Some": [attack]})
        outcomes = {True: harmless, False: held}
        monkeypatch.setattr(
            run, "attempt",
            lambda attack, lifted=False, of=outcomes: run.Outcome("little", "much", of[lifted]),
        )  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["run.py", "--lifted"])
        verdicts.append((run.main(), expected))
    assert [found for found, _ in verdicts] == [expected for _, expected in verdicts]
    shown = capsys.readouterr().out
    assert all(word in shown for word in (run.HOLDS, run.FAILS, run.KNOWN, run.UNCLEAR))


def test_every_attack_has_a_name_of_its_own(run: Any) -> None:
    """By which it can be run alone."""
    names = [attack.what for attacks in run.ATTACKS.values() for attack in attacks]
    assert len(set(names)) == len(names) >= 20
