"""`incfed console` on one's own machine."""

from __future__ import annotations

import subprocess

import pytest

from support.cli import INCFED


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((".", "--port", "99999"), "--port: got 99999, must be"),
        (("nowhere",), "FOLDER_OR_DATABASE_URL: got 'nowhere', must be a folder"),
        (("sqlite:///none.db",), "database not found: sqlite:///none.db"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], said: str) -> None:
    command = [*INCFED, "console", *arguments, "--no-open"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
