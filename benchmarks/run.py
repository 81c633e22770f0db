"""All benchmarks, side by side on this machine: `make bench`.

Figures are ratios of things measured in the same process after warm-up (or, for memory and cold
starts, in processes of their own). Nothing here passes or fails; results.json keeps the last run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
PARTS = (
    "speedup",
    "protocols",
    "mechanisms",
    "hoarding",
    "dimensions",
    "clients",
    "cold_start",
    "movielens",
    "plan",
    "replay",
    "client",
    "service",
    "console",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"some of {', '.join(PARTS)}")
    chosen = parser.parse_args().parts or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # before numpy comes in: idle threads would slow the reference
    sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
    target = HERE / "results.json"
    results = json.loads(target.read_text()) if target.exists() else {}
    results["machine"] = {"python": platform.python_version(), "cpu": platform.machine()}
    for part in chosen:
        print(f"\n{part}\n{'-' * len(part)}")
        results[part] = import_module(part).measure()
        partial = target.with_suffix(".tmp")
        partial.write_text(json.dumps(results, indent=1) + "\n")
        partial.replace(target)
    print(f"\nkept in benchmarks/{target.name}")


if __name__ == "__main__":
    main()
