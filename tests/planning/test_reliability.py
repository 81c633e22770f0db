"""How far the model of a log can be trusted: in words, as a chart, and in plan.json."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.environments.fitted.fit import Bin, HeldOut
from incfed.planning import reliability
from incfed.results import html, markdown
from incfed.results.document import Document
from support.planning import write_log

NONE = np.zeros(0)
BINS = (Bin(0.1, 0.1, 0.02, 50), Bin(0.3, 0.2, 0.02, 50))


@pytest.mark.parametrize(
    ("disagreement", "said"),
    [
        (0.0, "The log shows hardly any difference between clients."),
        (0.06, "The log shows hardly any difference between clients."),
        (0.08, "Clients differ by a tenth of what they have in common."),
        (0.19, "Clients differ by a fifth of what they have in common."),
        (0.31, "Clients differ by a third of what they have in common."),
        (0.5, "Clients differ by half of what they have in common."),
        (0.95, "Clients differ by as much as they have in common."),
        (1.4, "Clients differ by one and a half times what they have in common."),
        (2.2, "Clients differ by twice what they have in common."),
        (3.4, "Clients differ by 3 times what they have in common."),
        (1e6, "Clients differ by more than ten times what they have in common."),
        (math.inf, "The log shows nothing that clients have in common."),
    ],
)
def test_how_much_clients_differ(disagreement: float, said: str) -> None:
    assert reliability.differing(disagreement) == said


def test_every_share_is_said_to_the_nearest_fraction() -> None:
    for n in range(7, 250):
        said = reliability.differing(n / 100)
        [share] = [x for x, words in reliability.SHARES.items() if f"by {words} " in said]
        assert 2 / 3 < share / (n / 100) < 1.5


def test_how_well_it_predicts() -> None:
    found = HeldOut("logistic", False, 0.105, 0.01, 0.128, (0.5695, 0.6363), BINS, NONE)
    assert reliability.predicting(found) == (
        "All figures rest on a model of the log. Rewards of events that it was not fitted to, it "
        "predicts with 10.5 % less error than a constant does (log loss 0.5695 instead of 0.6363, "
        "R² 0.128). The rest is luck, as with most clicks, or what the features do not say."
    )
    squares = HeldOut("linear", False, 0.9, 0.01, 0.9, None, BINS, NONE)
    assert "with 90 % less error than a constant does (R² 0.900). The rest is luck, or what" in (
        reliability.predicting(squares)
    )
    assert reliability.calibrated(found).startswith("In 1 of 2 groups of events with similar ")


def test_the_section_of_a_log(tmp_path: Path) -> None:
    log = incfed.ReplayLog(write_log(tmp_path)["file"], mode="replay")
    world = incfed.FittedWorld(log)
    plan: Any = SimpleNamespace(case=SimpleNamespace(fitted=world))
    made = Document("", [*reliability.blocks(plan)])
    for page in (html.render(made), markdown.render(made)):
        assert "How far this log can be trusted" in page
        assert "less error than a constant does" in page
        assert "what they have in common" in page or "hardly any difference" in page
    assert "<svg" in html.render(made)
    assert "● seen   · as predicted" in markdown.render(made)
    data = reliability.as_data(plan)
    assert data is not None
    assert len(data["calibration"]) == 10
    assert set(data["calibration"][0]) == {"predicted", "seen", "error", "events"}
    assert data["r2"] == world.held_out.r2
    assert data["disagreement"] == world.fit.model.disagreement
    assert data["log_loss"]["model"] < data["log_loss"]["constant"]


def test_other_worlds_have_no_such_section() -> None:
    plan: Any = SimpleNamespace(case=SimpleNamespace(fitted=None))
    assert list(reliability.blocks(plan)) == []
    assert reliability.as_data(plan) is None
