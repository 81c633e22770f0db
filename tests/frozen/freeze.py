"""Write goldens anew: `PYTHONPATH=tests python tests/frozen/freeze.py KIND ...`."""

from __future__ import annotations

import sys

from frozen import golden
from frozen.kinds import KINDS


def main(kinds: list[str]) -> None:
    for kind in kinds or KINDS:
        size = golden.save(kind, {case: make() for case, make in KINDS[kind].items()})
        print(f"{kind}: {len(KINDS[kind])} cases, {size:,} bytes")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
