"""How far the model of a log can be trusted: how well it predicts, whether predictions are right on
average, and how much clients differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..results import document as doc
from ..results.calibration import calibration, calibration_sketch, fitting
from ..results.numbers import finite
from ..results.plots import can_plot
from ..support.inputs import counted

if TYPE_CHECKING:
    from ..environments.fitted.fit import HeldOut
    from .planner import Plan

SHARES = {  # of what clients have in common
    0.1: "a tenth of what",
    0.2: "a fifth of what",
    0.25: "a quarter of what",
    1 / 3: "a third of what",
    0.5: "half of what",
    2 / 3: "two thirds of what",
    0.75: "three quarters of what",
    1.0: "as much as",
    1.5: "one and a half times what",
    2.0: "twice what",
}
LEAST, MOST = 0.07, 10.0  # below and above, no share is named


def blocks(plan: Plan) -> Iterator[doc.Block]:
    """The section of a plan of a log; nothing for other worlds."""
    fitted = plan.case.fitted
    if fitted is None:
        return
    found = fitted.held_out
    yield doc.Heading("How far this log can be trusted")
    yield doc.Text(predicting(found))
    yield doc.Text(differing(fitted.fit.model.disagreement))
    yield doc.Text(calibrated(found))
    yield doc.Figure(
        f"Each dot is a tenth of the log's {counted(fitted.log.length, 'event')}, from the lowest "
        "predicted reward to the highest. Bars are 95 % intervals; on the dashed line, what was "
        "predicted is what was seen.",
        draw=(lambda: calibration(found.bins)) if can_plot() else None,
        sketch=lambda width: calibration_sketch(found.bins, width),
    )


def predicting(found: HeldOut) -> str:
    """How well the model predicts events that it was not fitted to."""
    share = f"{found.gain:.1%}".replace(".0%", "%").replace("%", " %")
    if found.log_loss is None:
        how = f"R² {found.r2:.3f}"
        rest = "luck, or what the features do not say"
    else:
        how = "log loss {:.4g} instead of {:.4g}".format(*found.log_loss) + f", R² {found.r2:.3f}"
        rest = "luck, as with most clicks, or what the features do not say"
    return (
        f"All figures rest on a model of the log. Rewards of events that it was not fitted to, it "
        f"predicts with {share} less error than a constant does ({how}). The rest is {rest}."
    )


def differing(disagreement: float) -> str:
    """How much clients differ, beside what they have in common."""
    if disagreement < LEAST:
        return "The log shows hardly any difference between clients."
    if disagreement == math.inf:
        return "The log shows nothing that clients have in common."
    if disagreement > MOST:
        share = "more than ten times what"
    elif disagreement > 2.5:
        share = f"{disagreement:.0f} times what"
    else:
        share = SHARES[min(SHARES, key=lambda one: abs(math.log(one / disagreement)))]
    return f"Clients differ by {share} they have in common."


def calibrated(found: HeldOut) -> str:
    """Whether predictions are right on average."""
    count = len(found.bins)
    return (
        f"In {fitting(found.bins)} of {count} groups of events with similar predictions, the "
        "prediction agrees with what was seen, as far as chance lets tell."
    )


def as_data(plan: Plan) -> dict[str, Any] | None:
    """The same for plan.json; None if the plan is not of a log."""
    fitted = plan.case.fitted
    if fitted is None:
        return None
    found, logs = fitted.held_out, fitted.held_out.log_loss
    return {
        "link": found.link,
        "gain": found.gain,
        "r2": found.r2,
        "log_loss": None if logs is None else {"model": logs[0], "constant": logs[1]},
        "calibration": [one._asdict() for one in found.bins],
        "disagreement": finite(float(fitted.fit.model.disagreement)),
    }
