"""Times in a log: read in any common form, refused if ambiguous, counted if unreadable."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import polars as pl
import pytest

import incfed
from support.logs import told

INDIA = timezone(timedelta(hours=5, minutes=30))
FORMS: dict[str, Callable[[datetime], str]] = {
    "ISO": lambda at: at.isoformat(),
    "ISO, a space": lambda at: at.isoformat(" "),
    "ISO, no seconds": lambda at: at.strftime("%Y-%m-%d %H:%M"),
    "ISO, a fraction": lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.%f"),
    "ISO, Z": lambda at: at.isoformat() + "Z",
    "ISO, a zone": lambda at: at.replace(tzinfo=UTC).astimezone(INDIA).isoformat(),
    "ISO, a zone apart": lambda at: at.strftime("%Y-%m-%d %H:%M:%S +0000"),
    "ISO, compact": lambda at: at.strftime("%Y%m%dT%H%M%SZ"),
    "year first, slashes": lambda at: at.strftime("%Y/%m/%d %H:%M:%S"),
    "dots": lambda at: at.strftime("%d.%m.%Y %H:%M:%S"),
    "dots, short": lambda at: f"{at.day}.{at.month}.{at.year}, {at:%H:%M}",
    "a month's name": lambda at: at.strftime("%d %b %Y %H:%M:%S"),
    "a month's full name": lambda at: at.strftime("%B %d, %Y %I:%M %p"),
    "a month's name, dashes": lambda at: at.strftime("%d-%b-%Y %H:%M:%S"),
    "RFC 2822": lambda at: format_datetime(at),
    "HTTP": lambda at: format_datetime(at.replace(tzinfo=UTC), usegmt=True),
    "of a web server": lambda at: at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
    "of C": lambda at: at.ctime(),
    "day first": lambda at: at.strftime("%d/%m/%Y %H:%M:%S"),
    "month first, 12 hours": lambda at: f"{at.month}/{at.day}/{at.year} {at:%I:%M:%S %p}",
    "Unix seconds": lambda at: str(int(at.replace(tzinfo=UTC).timestamp())),
    "Unix milliseconds": lambda at: str(int(at.replace(tzinfo=UTC).timestamp()) * 1000),
}


def moments(count: int = 60) -> list[datetime]:
    """In order, an odd number of minutes apart, over nearly a year: every month, many days above
    12, midnight and noon."""
    noon = datetime(2024, 1, 2, 12)
    first = [noon - timedelta(hours=12), noon, noon + timedelta(minutes=30)]
    return first + [noon + timedelta(minutes=8111 * k) for k in range(1, count - 2)]


def log(times: list[Any], **more: Any) -> incfed.ReplayLog:
    """One event for each time, of client 0, 1, 2, ..."""
    count = len(times)
    frame = {
        "client": range(count),
        "features": [[[1.0]]] * count,
        "chosen": [0] * count,
        "reward": [1.0] * count,
        "t": times,
    }
    return incfed.ReplayLog(pl.DataFrame(frame, strict=False), mode="zero", time="t", **more)


def order(times: list[Any], **more: Any) -> list[int]:
    return told(log(times, **more))[0]


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    at = moments()
    places = random.Random(form).sample(range(len(at)), len(at))
    assert order([FORMS[form](at[k]) for k in places]) == sorted(
        range(len(at)), key=lambda row: places[row]
    )


def test_each_value_is_read_by_its_own_form() -> None:
    """Also Unix times beside dates, and dates without a zone, which count as UTC."""
    at, chance = moments(300), random.Random(0)
    decided = ["25/12/2023", "12/25/2022"]  # both ways are used, each where only it is possible
    forms = [form for name, form in FORMS.items() if "first" not in name or "year" in name]
    texts = [f"  {chance.choice(forms)(one)} " for one in at]
    places = chance.sample(range(len(at)), len(at))
    found = order([*decided, *(texts[k] for k in places)])
    assert found[:2] == [1, 0]
    assert [places[row - 2] for row in found[2:]] == list(range(len(at)))


@pytest.mark.parametrize(
    ("times", "found"),
    [
        (["01/03/2024", "02/01/2024", "15/02/2024"], [1, 2, 0]),
        (["01/03/2024", "02/01/2024", "02/15/2024"], [0, 1, 2]),
        (["01-03-2024 10:00", "02-01-2024", "15-02-2024"], [1, 2, 0]),
        (["02/02/2024", "01/01/2024"], [1, 0]),  # the same in both
        (["15/02/2024", "03-03-2024", "02/01/2024"], [2, 0, 1]),
        (["1/13/2024 1:00 PM", "1/13/2024 12:30 AM", "1/13/2024 12:15 pm"], [1, 2, 0]),
        (["2024-03-31T01:30:00+01:00", "2024-03-31 00:45", "2024-03-31T00:15Z"], [2, 0, 1]),
        (["2024-03-01T00:00:00.25", "2024-03-01T00:00:00,5", "2024-03-01"], [2, 0, 1]),
        (["Sept. 3, 2024", "1st? no", "3 August 2024", "2 Sep 2024"], [2, 3, 0]),
        (["9999-12-31", "0001-01-01", "2024-02-29"], [1, 2, 0]),
        (["20240301", "20231231"], [1, 0]),
        (["20240301", "2023-12-31", "1709164800"], [1, 2, 0]),  # 29 February
        (["20240301093000", "2024-03-02", "20240301092959"], [2, 0, 1]),
        (["noon", "100000000000", "99999999999"], [2, 1]),  # numbers, in one unit
        (["1709164800", "1709164799999", "1709164801.5", "2024-02-29"], [1, 0, 3, 2]),
    ],
)
@pytest.mark.filterwarnings("ignore::incfed.BadRows")
def test_times_in_order(times: list[str], found: list[int]) -> None:
    kept = sorted(found)
    assert [kept[place] for place in order(times)] == found


def test_columns_of_dates_and_of_categories() -> None:
    days = [datetime(2024, 3, 1), datetime(2024, 1, 2), datetime(2024, 2, 15)]
    assert order(days) == order([day.date() for day in days]) == [1, 2, 0]
    texts = pl.Series([f"{day:%d.%m.%Y}" for day in days], dtype=pl.Categorical)
    assert order(texts) == [1, 2, 0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            ["01/03/2024", "02/01/2024", "2024-05-06"],
            "time: got '01/03/2024', must be a date with one meaning: it may be 1 March or "
            "3 January, in row 1 of the data frame (2 such rows). Write 2024-03-01, or say "
            "which with day_first = true or false",
        ),
        (
            ["15/02/2024", "02/15/2024", "5/4/2024 10:30"],
            "it may be 5 April or 4 May, in row 3 of the data frame (1 such row)",
        ),
        (["15/02/2024", "04-05-2024"], "'04-05-2024', must be a date with one meaning"),
    ],
)
def test_ambiguous_dates_are_refused(times: list[str], said: str) -> None:
    with pytest.raises(incfed.InputError) as refused:
        log(times)
    assert said in str(refused.value)


def test_which_comes_first_can_be_said() -> None:
    times = ["01/03/2024", "02-01-2024", "03/02/2024"]
    assert order(times, day_first=True) == [1, 2, 0]
    assert order(times, day_first=False) == [0, 1, 2]
    with pytest.warns(incfed.BadRows, match="time not readable, such as '15/02/2024': 1"):
        log([*times, "15/02/2024"], day_first=False)
    with pytest.raises(incfed.InputError, match="day_first: got 1, must be true or false"):
        log(times, day_first=1)
    with pytest.raises(incfed.InputError, match=r"day_first: got True, must be left out.* time"):
        incfed.ReplayLog(pl.DataFrame({"t": times}), mode="zero", day_first=True)


@pytest.mark.parametrize(
    "bad",
    [
        "noon",
        "2024-02-30",
        "2024-13-01",
        "30.02.2024",
        "32/01/2024",
        "2024-03-01 25:00",
        "2024-03-01 10:60",
        "13:00 PM",
        "1 Mar 2024 0:30 pm",
        "1 Mai 2024",
        "01/03/24",
        "5",
        "inf",
        "2024-03-01 10:00 in the morning",
    ],
)
def test_unreadable_times_are_counted_and_named(bad: str) -> None:
    good = ["2024-03-02", "2024-03-01"]
    with pytest.warns(incfed.BadRows) as caught:
        world = log([*good, bad, None, *good, bad, ""])
    assert world.report.dropped == {"time missing": 2, f"time not readable, such as {bad!r}": 2}
    assert list(world.report.examples.values()) == [(4, 8), (3, 7)]
    assert f"such as {bad!r}: 2 (rows 3, 7)" in str(caught[0].message)
    assert told(world)[0] == [1, 3, 0, 2]  # clients by their number


def test_numbers_stay_numbers_beside_a_few_words() -> None:
    with pytest.warns(incfed.BadRows, match="such as 'noon': 2"):
        assert order(["10", "9", "noon", "2024-03-01", "2.5"]) == [2, 1, 0]


def test_nan_is_no_time_beside_numbers() -> None:
    with pytest.warns(incfed.BadRows, match="time not readable, such as 'nan': 1 "):
        assert order(["nan", "2", "1.5"]) == [1, 0]


def test_a_column_of_python_objects_is_refused() -> None:
    with pytest.raises(incfed.InputError, match="time: got 'a column of Object', must be numbers"):
        log(pl.Series([object(), object()], dtype=pl.Object))  # type: ignore[arg-type]


def test_a_column_of_words_is_refused() -> None:
    allowed = "at least half can be used .*time not readable, such as 'first': 3"
    with pytest.raises(incfed.InputError, match=allowed):
        log(["first", "second", "third"])
