"""Cold starts: import, and the first run without, with, and unable to keep compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from timing import row

FIRST_RUN = """
import incfed
algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.5), threshold=0.5, costs=1.0)
incfed.simulate(incfed.Synthetic(), algorithm, steps=1000)
"""
NOWHERE_TO_WRITE = """
from numba.core import caching
def refuse(self):
    raise PermissionError(13, "read-only")
caching._CacheLocator.ensure_cache_path = refuse
"""


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        stages = {
            "import incfed": "import incfed",
            "incfed --help": "import sys; sys.argv = ['incfed', '--help']\nimport incfed.cli as c\n"
            "try:\n    c.main()\nexcept SystemExit:\n    pass",
            "first run, nothing compiled yet": FIRST_RUN,
            "first run, compiled code on disk": FIRST_RUN,
            "first run, read-only cache folders": NOWHERE_TO_WRITE + FIRST_RUN,
        }
        results = {}
        for name, code in stages.items():
            start, before = time.perf_counter(), _cpu()
            subprocess.run(
                [sys.executable, "-c", code],
                env=os.environ | {"NUMBA_CACHE_DIR": cache},
                check=True,
                stdout=subprocess.DEVNULL,
            )
            results[name] = time.perf_counter() - start
            results[f"{name}, CPU"] = _cpu() - before
            row(name, results[name], "s")
            row("  of CPU", results[f"{name}, CPU"], "s")
    return results


def _cpu() -> float:
    """Seconds that finished children have spent."""
    times = os.times()
    return times.children_user + times.children_system
