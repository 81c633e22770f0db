"""From a table to a mechanism; and that what is recorded is only ever decided by the same code."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.mechanisms.registry import MECHANISMS, Pinned
from incfed.mechanisms.rehearsal import rehearse
from incfed.rules.plugins import MissingCode

CODE = """
from dataclasses import dataclass
import incfed

@dataclass(frozen=True)
class Share(incfed.Mechanism):
    beta: float = 1.0
    extra: float = 0.0

    def decide(self, round):
        found = round.settle(round.everyone)
        return incfed.Decision(found.participants, found.payments + self.extra)
"""


def write(folder: Path, text: str = CODE, name: str = "share.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


def load(folder: Path, table: Any) -> incfed.Mechanism:
    made: incfed.Mechanism = MECHANISMS.pinned(table, "mechanism", folder)
    return made


def pinned(folder: Path, **options: Any) -> Pinned:
    found = load(folder, {"kind": "share.py:Share", **options})
    assert isinstance(found, Pinned)
    return found


def test_a_built_in_one_is_itself(tmp_path: Path) -> None:
    made = load(tmp_path, {"kind": "PaymentEfficient", "beta": 0.7})
    assert made == incfed.PaymentEfficient(beta=0.7)
    assert load(tmp_path, "PaymentFree") == incfed.PaymentFree()
    assert MECHANISMS.recorded(made.settings()) == made


def test_one_of_the_users_own_is_pinned_to_its_file(tmp_path: Path) -> None:
    file = write(tmp_path)
    found = pinned(tmp_path, extra=2.0, beta=0.5)
    assert found.beta == 0.5
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    recorded = {"kind": "share.py:Share", "extra": 2.0, "beta": 0.5, "sha256": sha256}
    assert found.settings() == recorded
    again = MECHANISMS.recorded(json.loads(json.dumps(recorded)))
    assert again == found
    for _, round in rehearse(5, 0):
        one, two = found.decide(round), again.decide(round)
        np.testing.assert_array_equal(one.payments, two.payments)
        np.testing.assert_array_equal(one.payments, round.settle(round.everyone).payments + 2.0)


def test_what_a_database_says_is_never_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a file that is there."""
    file = write(tmp_path, "open('ran', 'w')\n" + CODE, "unseen.py")
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingCode, match=f"unseen.py:Share was recorded with SHA-256 {sha256}"):
        MECHANISMS.recorded({"kind": "unseen.py:Share", "sha256": sha256})
    assert not (tmp_path / "ran").exists()


def test_other_code_does_not_take_its_place(tmp_path: Path) -> None:
    """Of the same size and time even, which a compiled file would be taken for."""
    file = write(tmp_path)
    before = pinned(tmp_path).settings()
    time = file.stat().st_mtime_ns
    write(tmp_path, CODE.replace("+ self.extra", "- self.extra"))
    os.utime(file, ns=(time, time))
    after = pinned(tmp_path, extra=1.0)
    assert after.sha256 != before["sha256"]
    [round] = [one for title, one in rehearse(0, 0) if title == "all costs huge"]
    assert (after.decide(round).payments < round.settle(round.everyone).payments).all()
    with pytest.raises(MissingCode):
        MECHANISMS.recorded({**before, "sha256": "0" * 64})


def test_an_auditor_loads_it_from_elsewhere(tmp_path: Path) -> None:
    text = CODE + "# as it was\n"
    table = {"kind": "gone/share.py:Share", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    with pytest.raises(MissingCode):
        MECHANISMS.recorded(table)
    MECHANISMS.load_code(str(write(tmp_path, text, "copy.py")), "--mechanism-file", Path())
    assert MECHANISMS.recorded(table).settings() == table


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            {"kind": "share.py:Shar"},
            r"mechanism\.kind: share.py has no Shar \(did you mean 'Share'",
        ),
        ({"kind": "none.py:Share"}, r"mechanism\.kind: file not found: .*none\.py"),
        ({"kind": "PaymentEficient"}, r"did you mean 'PaymentEfficient'"),
        ({"kind": "share.py:Share", "most": 1}, r"mechanism\.most: got 1, but there is no such"),
        ({"kind": "share.py:Share", "extra": float("inf")}, "options that JSON can record"),
        ({"kind": "share.py:Share", "sha256": "0"}, r"mechanism\.sha256: .* left out"),
        ({"kind": "share.py:Reads", "file": "data"}, "without files to read"),
        (7, "mechanism: got 7, must be a table"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, table: Any, said: str) -> None:
    reads = "\nclass Reads(Share):\n    def __init__(self, file):\n        self.text = file\n"
    write(tmp_path, CODE + reads)
    (tmp_path / "data").write_text("1")
    with pytest.raises(incfed.InputError, match=said):
        load(tmp_path, table)


def test_one_that_breaks_a_rule_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    pinned(tmp_path, extra=1.0).check()
    with pytest.raises(incfed.InputError, match=r"share\.py:Share cannot be served: Share broke 2"):
        pinned(tmp_path, extra=-1.0).check()
