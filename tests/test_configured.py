"""What objects say of themselves: a short repr, and a table in a notebook."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pytest

import incfed


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (incfed.PaymentEfficient(beta=0.7), "PaymentEfficient(beta=0.7)"),
        (incfed.PaymentFree(), "PaymentFree()"),
        (incfed.Patient(), "Patient()"),
        (incfed.Patient(news=2.0), "Patient(news=2.0)"),
        (incfed.Threshold(0.5), "Threshold(D_c=0.5)"),
        (incfed.Shading(factor=5.0, clients=[3]), "Shading(clients=(3,), factor=5.0)"),
        (incfed.Limits(per_round=3.0), "Limits(per_round=3.0)"),
        (incfed.Independent(), "Independent()"),
        (incfed.DisLinUCB("high", ridge=0.5), "DisLinUCB(ridge=0.5, threshold='high')"),
        (
            incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=[1, 2]),
            "IncFedUCB(mechanism=PayEveryone(), threshold=1.0, costs=(1.0, 2.0))",
        ),
        (
            incfed.Trace([0, 2], np.ones((2, 3, 4)), np.zeros((2, 3))),
            "<Trace: 3 clients, 4 features, 3 arms a step, 2 steps>",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_repr_says_what_was_chosen(one: Any, said: str) -> None:
    assert repr(one) == said


def test_a_mechanism_of_ones_own() -> None:
    @dataclass(frozen=True)
    class Mine(incfed.Mechanism):
        share: float
        order: str = "any"

        def decide(self, round: incfed.Round) -> incfed.Decision:
            raise NotImplementedError

    class Plain(Mine):
        pass

    class Named(Mine):
        def __repr__(self) -> str:
            return "as I like it"

    assert repr(Mine(share=0.5)) == f"{Mine.__name__}(share=0.5)"
    assert repr(Plain(share=0.5, order="x")) == "Plain(share=0.5, order='x')"
    assert repr(Named(share=0.5)) == "as I like it"


def test_a_table_has_what_was_chosen_first() -> None:
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), threshold=1.5)
    html = algorithm._repr_html_()
    assert html.startswith("<div><b>IncFedUCB</b><table")
    assert html.index("mechanism") < html.index("threshold") < html.index("ridge")
    assert html.count("<tr>") == html.count("</tr>") == 22
    assert "PaymentFree()" in html


def test_worlds_and_learners_have_one() -> None:
    world = incfed.Synthetic(clients=1200, dim=3, arms=4, pool=9)
    for one, words in (
        (world, ("<b>Synthetic</b>", "1,200", "no end", "pool")),
        (incfed.Env(world), ("<b>Env of Synthetic</b>", "1,200")),
        (incfed.LinUCB(dim=3), ("<b>LinUCB</b>", "theta", "[0. 0. 0.]", "alpha")),
        (incfed.Federation(2, 3, incfed.DisLinUCB(1.0))[1], ("<b>Member 1</b>", "not shared")),
    ):
        html = one._repr_html_()
        assert all(word in html for word in words)


def test_what_looks_like_html_is_escaped() -> None:
    class Evil(incfed.Synthetic):
        def settings(self) -> dict[str, Any]:
            return {"kind": "Evil", "note": "<script>" + "x" * 500}

    html = Evil()._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "x" * 500 not in html


SETTINGS = [
    incfed.Independent(ridge=3, exploration=0.5),
    incfed.IncFedUCB(
        incfed.PaymentFree(),
        2,
        costs=10,
        budget=5,
        availability=1,
        trust=2,
        share_from=2,
        money_digits=2,
    ),
    incfed.DisLinUCB(threshold=1.5),
    incfed.AsyncLinUCB(upload=2, costs=1),
    incfed.FedLinUCB(growth=1),
    incfed.BudgetFeasible(per_round=3, total=4),
    incfed.CostAware(0.5),
    incfed.Exact(0.5, nodes=7),
    incfed.PaymentEfficient(0.5, payment_free=False),
    incfed.PostedPrice(2),
    incfed.ShapleySplit(3, samples=4),
    incfed.Truthful(0.5, reserve=3),
    incfed.Threshold(2),
    incfed.GrowthRatio(2),
    incfed.News(2),
    incfed.Patient(2),
    incfed.Limits(per_round=3, price_rise=2, steps_per_upload=7, refuse_resale=True),
    incfed.Privacy(epsilon=2),
    incfed.DrawnCosts(mean=2, spread=1),
    incfed.Shading(factor=2),
    incfed.Withholding(steps=2),
    incfed.Synthetic(clients=3, noise=1, activity=2),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: type(setting).__name__)
def test_settings_hold_python_numbers(setting: Any) -> None:
    """And the same ones, so that what a run records does not depend on the kind of number."""
    kinds: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
    given = {field.name: getattr(setting, field.name) for field in fields(setting)}
    numpy = {
        name: kinds[type(value)](value) if type(value) in kinds else value
        for name, value in given.items()
    }
    made = type(setting)(**numpy)
    found = {name: getattr(made, name) for name in given}
    assert made == setting
    assert repr(made) == repr(setting)
    assert json.dumps(made.settings()) == json.dumps(setting.settings())
    assert not [name for name, value in found.items() if isinstance(value, np.generic)]
    assert any(isinstance(value, np.generic) for value in numpy.values())


def test_a_field_may_be_set_later() -> None:
    @dataclass(frozen=True)
    class Remembering(incfed.PayEveryone):
        share: float = 0.5
        seen: list[int] = field(init=False)

    made = Remembering(share=np.float64(0.25))
    assert type(made.share) is float
    assert not hasattr(made, "seen")
