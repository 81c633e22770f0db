"""The paper's tables: what was printed, what is run for a cell, when a figure is as published."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import incfed
from incfed.experiments.cell_runner import CellRunner
from incfed.experiments.cells import Record
from incfed.experiments.paper.document import Reproduction, place, published, tables_document
from incfed.experiments.paper.settings import (
    ALTRUISTIC,
    FREE,
    MOVIELENS,
    SYNTHETIC,
    Data,
    Mode,
    PaperSetting,
    cell,
)
from incfed.experiments.paper.tables import TABLES, Printed
from incfed.experiments.paper.verdicts import (
    FRESH,
    OTHER_DATA,
    PART_OF_IT,
    FigureVerdict,
    is_within,
    judge,
)
from incfed.results import markdown
from incfed.results.tables import Spread, spread

PUBLISHED = Mode()


def record(setting: PaperSetting, seed: int, **figures: float) -> Record:
    known = {"clients": 50.0, "steps": 5000.0, "reward": 0.0, **figures}
    return Record({}, seed, "", known, {})


def test_figures_by_heart() -> None:
    assert TABLES["table1"].figures["10", "0.7"] == Printed(48.21, 7779425, 9050.61)
    assert TABLES["table5"].figures["theory", "0.01"] == Printed(53.72, 2981175, 1200)
    assert TABLES["table1"].figures["0", ALTRUISTIC] == Printed(48.46, 7605000, None)
    assert ("10", ALTRUISTIC) not in TABLES["table1"].figures


def test_every_published_communication_is_a_number_of_rounds() -> None:
    """docs/paper.md, reading 11: N d^2 + N (d^2 + d) a round, and d for every participant."""
    for table in TABLES.values():
        N, d = (54 if table.world == MOVIELENS else 50), 25
        for where, printed in table.figures.items():
            fixed = N * (2 * d * d + d)
            most = int(printed.communication // fixed)
            least = math.ceil(printed.communication / (fixed + N * d))
            left = [printed.communication - n * fixed for n in range(least, most + 1)]
            assert any(x % d == 0 for x in left), (table.name, where)


def test_what_is_run_for_a_cell() -> None:
    one = cell(TABLES["table5"].setting("theory", "0.3"), 7, PUBLISHED)
    assert (one.seed, one.steps) == (7, 5000)
    made = CellRunner().build(one)
    assert isinstance(made.algorithm, incfed.IncFedUCB)
    assert made.algorithm.mechanism == incfed.PaymentEfficient(beta=0.3)
    expected = incfed.thresholds.theory(steps=5000, clients=50, dim=25, beta=0.3, ridge=0.1)
    assert made.algorithm.threshold == expected
    assert made.algorithm.costs == 100.0
    assert made.algorithm.reads == "stale"
    asked = cell(TABLES["table1"].setting("0", ALTRUISTIC), 0, Mode(fresh_reads=True))
    fresh = CellRunner().build(asked)
    assert isinstance(fresh.algorithm, incfed.DisLinUCB)
    assert fresh.algorithm.threshold == pytest.approx(0.4696, abs=1e-4)
    assert fresh.algorithm.reads == "fresh"


def test_every_setting_can_be_built() -> None:
    runner = CellRunner()
    for variant in ("full", "w/o PF", "w/o IS", "w/o PF + IS"):
        setting = PaperSetting(SYNTHETIC, "high", cost=1.0, beta=0.7, variant=variant)
        made = runner.build(cell(setting, 0, Mode())).algorithm
        assert isinstance(made, incfed.IncFedUCB)
        assert isinstance(made.mechanism, incfed.PaymentEfficient)
        assert made.mechanism.payment_free == ("PF" not in variant)
        assert made.mechanism.iterative == ("IS" not in variant)
    free = runner.build(cell(PaperSetting(SYNTHETIC, "high", method=FREE, cost=1.0), 0, Mode()))
    assert isinstance(free.algorithm, incfed.IncFedUCB)
    assert isinstance(free.algorithm.mechanism, incfed.PaymentFree)


def test_who_of_movielens_is_a_client(tmp_path: Path) -> None:
    setting = TABLES["table2"].setting("1", "0.7")
    for folder, given, expected in (("ml-20m", None, 3000), ("other", None, 1000), ("a", 70, 70)):
        made = cell(setting, 0, Mode(movielens=tmp_path / folder, min_events=given))
        assert made.world["min_events"] == expected
        assert made.algorithm["ridge"] == 0.2
        assert made.algorithm["exploration"] == 0.3
        assert made.steps is None


def test_the_theoretical_threshold_at_beta_1_is_the_lower_one() -> None:
    table = TABLES["table5"]
    assert table.setting("theory", "1") == table.setting("low", "1")
    assert table.setting("theory", "0.7") != table.setting("low", "0.7")


@pytest.mark.parametrize(
    ("quantity", "published", "mean", "sd", "within"),
    [
        ("performance", 100.0, 111.9, math.nan, True),  # 12 %
        ("performance", 100.0, 112.1, math.nan, False),
        ("performance", 100.0, 87.9, 1.0, False),  # three spreads are less than 12 %
        ("performance", 100.0, 114.9, 5.0, True),  # three spreads
        ("performance", 100.0, 115.1, 5.0, False),
        ("communication", 100.0, 114.9, 0.0, True),  # 15 %
        ("communication", 100.0, 115.1, 0.0, False),
        ("payment", 0.0, 0.0, 0.0, True),
        ("payment", 0.0, 0.1, 0.0, False),
    ],
)
def test_within(quantity: str, published: float, mean: float, sd: float, within: bool) -> None:
    assert is_within(quantity, published, Spread(mean, sd)) == within


def test_spread() -> None:
    assert spread([1.0, 3.0, 5.0]) == Spread(3.0, 2.0)
    assert math.isnan(spread([4.0]).sd)


def test_verdicts() -> None:
    table = TABLES["table1"]
    setting = table.setting("100", "0.7")
    runs = [
        record(setting, seed, regret=48.0 + seed, communication=7.8e6, payment=200_000.0)
        for seed in (0, 1)
    ]
    regret, communication, payment = judge(table, {setting: runs}, PUBLISHED)
    assert regret.within
    assert regret.ours.mean == 48.5
    assert regret.difference == pytest.approx(48.5 / 48.22 - 1)
    assert communication.within
    assert not payment.within
    assert payment.why == "No explanation found so far."
    assert place(table, payment) == "D = 100, β = 0.7, payment"
    assert published(payment) == "133,426.01"
    assert judge(table, {setting: runs}, Mode(fresh_reads=True))[2].why == FRESH


def test_what_is_known_of_a_figure_is_said_in_every_mode() -> None:
    table = TABLES["table5"]
    setting = table.setting("theory", "0.01")
    run = record(setting, 0, regret=52.0, communication=2.2e6, payment=480.0)
    for mode in (Mode(), PUBLISHED):
        assert "a threshold of 1.90" in judge(table, {setting: [run]}, mode)[1].why


def test_other_movielens_data_is_not_judged() -> None:
    table = TABLES["table4"]
    setting = table.setting("10", "0.3")
    run = record(setting, 0, communication=1.0, payment=1.0, reward=37_000.0)
    for events, quick, why in (
        (86_654, False, OTHER_DATA),
        (214_729, True, PART_OF_IT),
        (214_729, False, None),
    ):
        mode = Mode(quick=quick, data=Data(54, events))
        reward = judge(table, {setting: [run]}, mode)[0]
        assert (reward.within, reward.why) == ((True, "") if why is None else (None, why))


def verdicts() -> list[FigureVerdict]:
    return [
        FigureVerdict("1", "0.3", "performance", 48.38, Spread(47.5, 3.2), True),
        FigureVerdict("1", "0.3", "communication", 7733575, Spread(9.9e6, 2e5), False, "X"),
    ]


def test_markdown_and_latex() -> None:
    found = Reproduction(PUBLISHED, 10, {"table1": verdicts()})
    text = markdown.render(tables_document(found))
    line = next(line for line in text.splitlines() if line.startswith("| D = 1 "))
    assert line == "| D = 1 | Regret (acc.) |  |  |  | 47.5 ± 3.2 (48.38 · -1.8 %) ✓ |"
    assert "9.90 ± 0.20 M (7,733,575 · +28.0 %) ✗" in text
    assert "- D = 1, β = 0.3, communication: X" in text
    tex = markdown.render_latex(tables_document(found, differences=False))
    assert r"47.5 $\pm$ 3.2 (48.38) \\" in tex
    assert tex.count("\\\\\n") == 3
    assert "D = 1 & Regret (acc.) &  &  &  & 47.5" in tex
    assert "% - D = 1, β = 0.3, communication: X\n" in tex
