from __future__ import annotations

import math

import pytest

from incfed.errors import InputError
from incfed.results import compare, human, to_markdown
from incfed.results.numbers import human_spread, tick
from support.results import sample, silent

NAN = math.nan


def test_mean_and_sample_standard_deviation() -> None:
    row, one = compare({"three": [sample(scale=s) for s in (1, 2, 6)], "one": [sample()]})
    assert (row.label, row.seeds, one.seeds) == ("three", 3, 1)
    assert row.reward.mean == pytest.approx(60.0)
    assert row.reward.sd == pytest.approx(math.sqrt((40**2 + 20**2 + 60**2) / 2))
    assert (row.rounds.mean, row.rounds.sd, row.payment.sd) == (3.0, 0.0, 0.0)
    assert one.reward.mean == 20.0
    assert math.isnan(one.reward.sd)


def test_unknown_figures() -> None:
    row, quiet, some = compare(
        {
            "a": [sample(), sample(known=False)],
            "b": [silent(), silent()],
            "c": [silent(), sample(), sample()],
        }
    )
    assert math.isnan(row.regret.mean)
    assert str(row.regret) == "–"
    assert math.isnan(quiet.participation.mean)
    assert str(quiet.participation) == "–"
    assert some.participation.mean == pytest.approx(1 / 3)  # of the seeds that had rounds
    assert str(some.participation) == "33 ± 0 %"


def test_markdown() -> None:
    text = to_markdown(compare({"a | b\nc": [sample(scale=1), sample(scale=3)]}))
    head, rule, line = text.strip().split("\n")
    assert head.startswith("| Algorithm | Seeds | Regret | Reward |")
    assert rule == "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    assert line == (
        r"| a \| b c | 2 | 6.67 ± 4.71 | 40.0 ± 28.3 | 270 ± 0 | 90 ± 0 | 2.50 ± 0.00 | 3 ± 0 "
        "| 33 ± 0 % |"
    )


def test_nothing_to_compare() -> None:
    with pytest.raises(InputError, match="runs: is empty"):
        compare({})
    with pytest.raises(InputError, match=r"runs\['a'\]: has no results"):
        compare({"a": []})
    with pytest.raises(InputError, match=r"runs\['a'\]: is a Result"):
        compare({"a": sample()})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (7, "7"),
        (29.71, "29.7"),
        (0.4696, "0.470"),
        (0.00012345, "0.000123"),
        (99.96, "100"),
        (123.4, "123"),
        (999.6, "1,000"),
        (1234, "1,234"),
        (-1234.4, "-1,234"),
        (194_210.2, "194,210"),
        (999_999.7, "1.0 M"),
        (7_605_000, "7.6 M"),
        (166_000_000, "166.0 M"),
        (2.5e9, "2.5 B"),
        (3e13, "30.0 T"),
        (NAN, "–"),
        (math.inf, "∞"),
    ],
)
def test_numbers_for_people(value: float, text: str) -> None:
    assert human(value) == text


@pytest.mark.parametrize(
    ("mean", "sd", "parts"),
    [
        (29.71, 2.46, ("29.7", "2.5", "")),
        (123.2, 3.41, ("123.2", "3.4", "")),
        (123.2, 34.1, ("123", "34", "")),
        (13_214.4, 712.3, ("13,214", "712", "")),
        (7_605_000, 210_000, ("7.61", "0.21", " M")),
        (1.0, 1.414, ("1.00", "1.41", "")),
        (0.0, 0.0, ("0", "0", "")),
        (-0.001, 5.5, ("0.00", "5.50", "")),
        (7_605_000, NAN, ("7.6 M", "", "")),
        (NAN, NAN, ("–", "", "")),
    ],
)
def test_spreads_for_people(mean: float, sd: float, parts: tuple[str, str, str]) -> None:
    assert human_spread(mean, sd) == parts


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.25, "0.25"), (500, "500"), (2500, "2.5k"), (1e7, "10M")]
)
def test_numbers_on_an_axis(value: float, text: str) -> None:
    assert tick(value) == text
