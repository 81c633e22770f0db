"""Traces of the service: what clients sent and operators did, and all that came of it.

Inputs were recorded once (`record.py`) and are kept in the golden, beside the outputs: to freeze
anew plays the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from frozen import driver, golden

KIND = "traces"
COVERED = {
    "payment efficient": "offers declined, deliveries that fail, bars, decided again, a budget",
    "payment free": "clients away, late uploads, void rounds",
    "pay everyone": "downloads one for one, the budget runs out",
    "truthful": "trust in 20 observations, downloads one for one, rounds for data alone",
    "cost aware": "every limit, prices that vary",
    "posted price": "uploads and deliveries that come late",
    "budget feasible": "deliveries that fail, all of the money is spent",
    "growth ratio": 'trust "auto" with scores, an outage of the coordinator',
    "patient": "streamed rows",
    "news": "streamed rows, downloads one for one, calls that have to wait",
    "patient growth": "streamed growth, false claims",
    "private": "noise on all that is shared",
    "operator": "pauses, changes of settings, withdrawals, revocation, payouts, an outage",
    "signed": "everybody has to sign, a key that comes late, a client without one",
    "misbehaving": "impossible messages, false and hasty calls, too many steps",
    "lagging": "uploads on top of old epochs",
}


@cache
def frozen() -> dict[str, Any]:
    return golden.load(KIND)


def played(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """These inputs, and what came of them."""
    with TemporaryDirectory() as folder:
        return {"inputs": inputs, "outputs": driver.play(inputs, Path(folder))}


def again(name: str) -> dict[str, Any]:
    return played(frozen()[name]["inputs"])


CASES: Mapping[str, Callable[[], Any]] = {name: partial(again, name) for name in COVERED}
