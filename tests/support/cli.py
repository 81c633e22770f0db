"""The command line: in a process of its own, and in this one."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from incfed.cli.commands import app

INCFED = [sys.executable, "-m", "incfed.cli"]


def incfed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*INCFED, *arguments], cwd=folder, capture_output=True, text=True, timeout=900
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def invoke(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same without a process: for what is refused, and for what takes less than to start one.

    An error that is no refusal is raised.
    """
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    finally:
        root.handlers[:], root.level = before, level
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def alive(group: int) -> list[str]:
    """Processes of a group, as far as this system tells (Linux), those that are done left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # gone meanwhile
            state, _, own = stat.read_text().rpartition(")")[2].split()[:3]
            found += [stat.parent.name] * (own == str(group) and state not in "ZX")
    return found
