"""Whole runs of every protocol on the paper's setting, beside the paper's own."""

from __future__ import annotations

from functools import partial
from typing import Any

import incfed
from speedup import SHAPE, STEPS, recorded
from timing import best_of, row


def measure() -> dict[str, Any]:
    trace = recorded()
    threshold = incfed.thresholds.high(steps=STEPS, **SHAPE)
    free = incfed.PaymentFree()
    contests: dict[str, incfed.Algorithm] = {
        "Threshold, PayEveryone": incfed.IncFedUCB(incfed.PayEveryone(), threshold, 100.0),
        "Threshold, PaymentFree": incfed.IncFedUCB(free, threshold, 100.0),
        "Patient, rows": incfed.IncFedUCB(free, trigger=incfed.Patient(5), costs=100.0),
        "Patient, growth": incfed.IncFedUCB(free, trigger=incfed.Patient(5, "growth"), costs=100.0),
        "Patient, one-for-one": incfed.IncFedUCB(
            free, trigger=incfed.Patient(5), costs=100.0, download="one-for-one"
        ),
        "Threshold, trust 30": incfed.IncFedUCB(incfed.PayEveryone(), threshold, 100.0, trust=30.0),
        "Threshold, trust auto": incfed.IncFedUCB(
            incfed.PayEveryone(), threshold, 100.0, trust="auto"
        ),
        "AsyncLinUCB": incfed.AsyncLinUCB(costs=100.0),
        "FedLinUCB": incfed.FedLinUCB(costs=100.0),
    }
    seconds = best_of(
        5, **{name: partial(incfed.simulate, trace, one) for name, one in contests.items()}
    )
    paper = seconds["Threshold, PayEveryone"]
    for name, took in seconds.items():
        aim = {"Threshold, trust 30": " (aim: at most 3)", "Threshold, trust auto": ""}
        said = aim.get(name, " (aim: at most 2)")
        row(name, 1e3 * took, "ms", f"{took / paper:.2f} of the paper's{said}")
    return {name: {"ms": 1e3 * took, "of_paper": took / paper} for name, took in seconds.items()}
