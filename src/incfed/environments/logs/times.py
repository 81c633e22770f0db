"""Read the times of a log: numbers, or dates in any common form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import errors
from ...support import inputs
from ...types import Ints

if TYPE_CHECKING:
    import polars as pl

    from .layout import Layout

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
NUMBERS = {name[:3].lower(): f"{n:02}" for n, name in enumerate(MONTHS, start=1)}
SECOND = 1_000_000  # in microseconds, the unit of dates
# Seconds from 1973 to 2286: other numbers beside dates are not taken for Unix times.
FIRST_UNIX, LAST_UNIX = 1e8, 1e10

# Parts of the forms, which ignore case.
YEAR, MONTH, DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
NAME = f"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)}|sept)\\.?"
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
CLOCK = (
    r"(?P<hour>\d{1,2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?\s*"
    r"(?:(?P<half>[ap])\.?m\.?\s*)?"
    r"(?:(?:z|utc|gmt|(?P<sign>[+-])(?P<zone_hour>\d{2}):?(?P<zone_minute>\d{2})?)\s*)?"
    r"(?:\([a-z]+\))?"
)
TIME = rf"(?:(?:t|:|,?\s+){CLOCK})?$"  # of day; it may be left out

FORMS = (
    rf"{YEAR}[-/.]{MONTH}[-/.]{DAY}{TIME}",  # also ISO 8601
    rf"{YEAR}(?P<month>\d{{2}})(?P<day>\d{{2}}){TIME}",
    rf"{YEAR}(?P<month>\d{{2}})(?P<day>\d{{2}}){CLOCK}$",
    rf"{DAY}\.{MONTH}\.{YEAR}{TIME}",
    rf"{WEEKDAY}{DAY}[-/\s]*{NAME}[-/,\s]*{YEAR}{TIME}",  # also RFC 2822
    rf"{WEEKDAY}{NAME}\s+{DAY},?\s+{YEAR}{TIME}",
    rf"{WEEKDAY}{NAME}\s+{DAY},?\s+{CLOCK}\s+{YEAR}$",  # as C prints it
)
# Forms in which the day or the month comes first.
EITHER = tuple(rf"(?P<first>\d{{1,2}}){sep}(?P<then>\d{{1,2}}){sep}{YEAR}{TIME}" for sep in "/-")


def clean(column: pl.Series) -> pl.Series:
    """Null where a time is missing; text without spaces around it."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise errors.refuse("time", f"a column of {column.dtype}", "numbers, dates or text")
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return column.cast(pl.String).str.strip_chars().replace({"": None})
    return column.fill_nan(None) if column.dtype.is_float() else column


def moments(given: pl.Series, rows: pl.Series, layout: Layout) -> pl.Series:
    """Sort keys; null if missing or unreadable. Text is read as numbers or as dates, whichever
    reads more of it."""
    import polars as pl

    if given.dtype != pl.String:
        return given
    for kind in (pl.Int64, pl.Float64):
        numbers = given.cast(kind, strict=False).fill_nan(None)
        if numbers.null_count() == given.null_count():
            return numbers
    dates = _unix(numbers)
    other = dates.is_null() & given.is_not_null()
    read = _dates(given.filter(other), rows.filter(other), layout)
    if read.null_count() == len(read):  # but for a few words, all are numbers
        return numbers
    dates = dates.scatter(other.arg_true(), read)
    return dates if dates.null_count() <= numbers.null_count() else numbers


def order(times: pl.Series) -> Ints:
    """The order by time; ties in the order of the file."""
    places = times.alias("time").to_frame().with_row_index("place")
    found: Ints = places.sort("time", maintain_order=True)["place"].to_numpy().astype(np.int64)
    return found


def _unix(numbers: pl.Series) -> pl.Series:
    """Unix times in seconds, milliseconds, microseconds or nanoseconds, told by their size."""
    import polars as pl

    n = pl.col("n")
    units = [1000**k for k in range(4)]  # in a second
    seconds = pl.coalesce(
        pl.when(n >= FIRST_UNIX * unit, n < LAST_UNIX * unit).then(n / unit) for unit in units
    )
    return numbers.to_frame("n").select((seconds * SECOND).round().cast(pl.Int64)).to_series()


def _dates(text: pl.Series, rows: pl.Series, layout: Layout) -> pl.Series:
    """Microseconds since 1970; of dates without a zone, as if they were in UTC."""
    import polars as pl

    found = pl.repeat(None, len(text), dtype=pl.Int64, eager=True)
    for form in (*FORMS, *EITHER):
        pattern = f"(?i-u)^{form}"
        places = text.str.contains(pattern).arg_true()
        if len(places):
            such = text.gather(places)
            fields = such.str.extract_groups(pattern).struct.unnest()
            if form in EITHER:
                fields = _with_day(fields, such, rows.gather(places), layout)
            found = found.scatter(places, _microseconds(fields))
    return found


def _with_day(
    fields: pl.DataFrame, text: pl.Series, rows: pl.Series, layout: Layout
) -> pl.DataFrame:
    """Find which field is the day: as `day_first` says, else as those values show that can be read
    in one way only. If they do not agree, or there are none, the others are refused."""
    import polars as pl

    first, then = fields["first"].cast(pl.Int64), fields["then"].cast(pl.Int64)
    day_month = first.is_between(1, 31) & then.is_between(1, 12)
    month_day = first.is_between(1, 12) & then.is_between(1, 31)
    decided = layout.day_first
    if decided is None and (day_month & ~month_day).any() != (month_day & ~day_month).any():
        decided = (day_month & ~month_day).any()
    unclear = (day_month & month_day & (first != then)).arg_true()
    if decided is None and len(unclear):
        k = unclear[0]
        year = fields["year"][k]
        raise errors.refuse(
            "time",
            text[k],
            f"a date with one meaning: it may be {first[k]} {MONTHS[then[k] - 1]} or {then[k]} "
            f"{MONTHS[first[k] - 1]}, in row {rows[k]:,} of {layout.log.title} "
            f"({inputs.counted(len(unclear), 'such row')}). Write {year}-{then[k]:02}-"
            f"{first[k]:02}, or say which with day_first = true or false",
        )
    is_day = day_month if decided is None else pl.repeat(decided, len(fields), eager=True)
    return fields.with_columns(
        pl.when(is_day).then("first").otherwise("then").alias("day"),
        pl.when(is_day).then("then").otherwise("first").alias("month"),
    )


def _microseconds(fields: pl.DataFrame) -> pl.Series:
    """Microseconds since 1970, null where the fields are no date and time."""
    import polars as pl

    def number(name: str) -> pl.Expr:
        return pl.col(name).cast(pl.Int64).fill_null(0)

    month = pl.col("month").str.to_lowercase()
    if fields["month"].str.contains("^[A-Za-z]").any():
        month = month.str.slice(0, 3).replace(NUMBERS)
    day = pl.concat_str("year", month.str.zfill(2), pl.col("day").str.zfill(2))
    hour, half = number("hour"), pl.col("half").str.to_lowercase()
    valid = (
        pl.when(half.is_null()).then(hour < 24).otherwise(hour.is_between(1, 12))
        & (number("minute") < 60)
        & (number("second") <= 60)  # a leap second
    )
    hour = pl.when(half.is_null()).then(hour).otherwise(hour % 12 + 12 * (half == "p"))
    seconds = hour * 3600 + number("minute") * 60 + number("second")
    zone = number("zone_hour") * 3600 + number("zone_minute") * 60
    seconds += pl.when(pl.col("sign") == "-").then(zone).otherwise(-zone)
    fraction = pl.col("fraction").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64).fill_null(0)
    date = day.str.to_date("%Y%m%d", strict=False).cast(pl.Datetime("us")).cast(pl.Int64)
    return fields.select(pl.when(valid).then(date + seconds * SECOND + fraction)).to_series()
