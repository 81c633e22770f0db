"""A trace from a data frame. Unlike a log, it cannot do without a row: a bad one is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import errors
from ...support import inputs
from ...types import Floats, Mask
from .columns import code, flatten, floats, ids, lists, read
from .features import by_column, finite, joined, unpacked
from .layout import FRAME, NO_LISTS, Categories, Source, check_categories, is_frame

if TYPE_CHECKING:
    import polars as pl

NUMBERS = ("reward", "expected")


def trace_arrays(
    frame: Any, named: Mapping[str, str | None], features: str | Sequence[str], categories: Any
) -> dict[str, Any]:
    """The arguments of a Trace. `named`: the columns by their roles."""
    if not is_frame(frame):
        raise errors.refuse("frame", frame, "a pandas or polars data frame")
    categories = check_categories(categories)
    several = (features,) if isinstance(features, str) else tuple(features)
    columns = {name: column for name, column in named.items() if column is not None}
    columns |= {f"features {n}": column for n, column in enumerate(several)}
    rows = read(Source("frame", None, "frame", frame=frame), columns)
    if "event" in columns:
        return _long(rows, columns, several, categories)
    if len(several) > 1:
        raise errors.refuse("features", list(several), "one column of lists, or event given")
    if categories is not None:
        raise errors.refuse("categories", categories, NO_LISTS)
    return _wide(rows, columns)


def _wide(rows: pl.DataFrame, columns: Mapping[str, str]) -> dict[str, Any]:
    """One row per step."""
    flat, sizes, empty = flatten(lists("features", rows["features 0"], "|"))
    row = rows["row"].to_numpy()
    arms = int(np.bincount(sizes).argmax())
    wrong = empty | (sizes != arms)
    there = np.where(empty, 0, sizes)
    _refuse("features", wrong, row, there, f"{inputs.counted(arms, 'arm')}, as in other rows")
    shown = unpacked(flat, columns["features 0"])
    _refuse_numbers("features", finite(shown.matrix), np.repeat(row, arms), flat)
    found: dict[str, Any] = {"arms": shown.matrix.reshape(len(rows), arms, -1)}
    for name in NUMBERS:
        if name in rows.columns:
            values, many, none = flatten(lists(columns[name], rows[name], "|"))
            wrong = none | (many != arms)
            counts = np.where(none, 0, many)
            allowed = f"{inputs.counted(arms, 'number')}, one for each arm"
            _refuse(columns[name], wrong, row, counts, allowed)
            found[name] = _finite(columns[name], values, np.repeat(row, arms))
    return _arguments(rows, columns, found, len(rows))


def _long(
    rows: pl.DataFrame, columns: Mapping[str, str], features: Sequence[str], categories: Categories
) -> dict[str, Any]:
    """One row per arm; steps are in the order of their first rows."""
    events = ids("event", rows["event"])
    _refuse_missing(columns["event"], events, rows["row"].to_numpy())
    rows = rows.with_columns(events.alias("event"))
    rows = rows[np.argsort(_first_rows(rows["event"]), kind="stable")]
    row = rows["row"].to_numpy()
    start = np.flatnonzero((rows["event"] != rows["event"].shift(1)).fill_null(True).to_numpy())
    sizes = np.diff(start, append=len(rows))
    arms = int(np.bincount(sizes).argmax())
    allowed = f"{inputs.counted(arms, 'row')}, as other events have"
    _refuse(columns["event"], sizes != arms, row[start], sizes, allowed)
    parts = by_column(rows, features, categories, FRAME)
    for n, (name, part) in enumerate(zip(features, parts, strict=True)):
        _refuse_numbers(name, finite(part.values), row, rows[f"features {n}"])
    found: dict[str, Any] = {"arms": joined(parts).matrix.reshape(len(start), arms, -1)}
    for name in NUMBERS:
        if name in rows.columns:
            found[name] = _finite(columns[name], rows[name], row)
    who = ids("client", rows["client"])
    other = who.ne_missing(who.gather(np.repeat(start, sizes))).to_numpy()
    shown = who.to_list()
    _refuse(columns["client"], other, row, shown, "the same client in all rows of an event")
    return _arguments(rows[start], columns, found, len(start))


def _arguments(
    rows: pl.DataFrame, columns: Mapping[str, str], found: dict[str, Any], steps: int
) -> dict[str, Any]:
    clients = ids("client", rows["client"])
    _refuse_missing(columns["client"], clients, rows["row"].to_numpy())
    codes, names = code(clients)
    if names and isinstance(names[0], int):
        codes = np.asarray(names, np.int64)[codes]
        low = np.flatnonzero(codes < 0)
        if len(low):
            at = rows["row"][int(low[0])]
            allowed = f"a name, or an id of 0 or more in row {at:,} of the data frame"
            raise errors.refuse(columns["client"], int(codes[low[0]]), allowed)
    shaped = {name: found[name].reshape(steps, -1) for name in NUMBERS if name in found}
    return {
        "clients": codes,
        "arms": found["arms"],
        "rewards": shaped["reward"],
        "expected": shaped.get("expected"),
    }


def _first_rows(events: pl.Series) -> Floats:
    """For each row, the first row of its event."""
    import polars as pl

    frame = events.alias("event").to_frame().with_row_index("place")
    return frame.select(pl.col("place").first().over("event"))["place"].to_numpy()


def _finite(name: str, values: pl.Series, rows: Any) -> Floats:
    found = floats(name, values, yes_no=True)
    _refuse_numbers(name, np.isfinite(found), rows, values)
    return found


def _refuse_numbers(name: str, good: Mask, rows: Any, values: pl.Series) -> None:
    _refuse(name, ~good, rows, values.to_list(), "a finite number (or as many as others have)")


def _refuse_missing(name: str, values: pl.Series, rows: Any) -> None:
    _refuse(name, values.is_null().to_numpy(), rows, values.to_list(), "given")


def _refuse(name: str, wrong: Mask, rows: Any, values: Any, allowed: str) -> None:
    """An error that names the first row at fault and its value, if there is one."""
    at = np.flatnonzero(wrong)
    if len(at):
        value = values[int(at[0])]
        value = value.item() if isinstance(value, np.generic) else value
        where = f"in row {int(rows[at[0]]):,} of the data frame"
        raise errors.refuse(name, value, f"{allowed}, {where}")
