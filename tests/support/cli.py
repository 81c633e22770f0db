"""The command line in processes of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

INCFED = [sys.executable, "-m", "incfed.cli"]


def incfed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*INCFED, *arguments], cwd=folder, capture_output=True, text=True, timeout=900
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def alive(group: int) -> list[str]:
    """Processes of a group, as far as this system tells (Linux), those that are done left out."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # gone meanwhile
            state, _, own = stat.read_text().rpartition(")")[2].split()[:3]
            found += [stat.parent.name] * (own == str(group) and state not in "ZX")
    return found
