"""Behaviour as it was frozen, before the rooms were reshaped.

To freeze anew what an issue changes on purpose: `python tests/frozen/freeze.py KIND`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from frozen import golden
from frozen.kinds import KINDS

load = cache(golden.load)


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, case) for kind, cases in KINDS.items() for case in cases]
)
def test_as_frozen(kind: str, case: str) -> None:
    found: Any = KINDS[kind][case]()
    differences = golden.differences(found, load(kind)[case], case)
    assert not differences, "\n".join(differences[:20])


@pytest.mark.parametrize("kind", KINDS)
def test_every_golden_is_compared(kind: str) -> None:
    assert load(kind).keys() == KINDS[kind].keys()
