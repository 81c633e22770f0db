"""Convert the three formats of a log to one: a table of items, and events that show some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import refuse
from ...support.inputs import counted
from ...types import Floats, Ints, Mask
from .columns import code, flatten, floats, ids, lists, numbers, read
from .features import Features, by_column, finite, joined, unpacked
from .items import NO_NUMBERS, Items, read_items
from .layout import PROPENSITY, Layout
from .ragged import RAGGED
from .report import Report, Sieve
from .times import clean, moments, order

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Log:
    """T events; event t shows `shown[start[t] : start[t] + size[t]]`, which are rows of `items`."""

    clients: Ints  # [T]
    names: list[Any]  # [N]
    items: Floats  # [M, d]
    feature_names: list[str]  # [d]
    shown: Ints
    start: Ints  # [T]
    size: Ints  # [T]
    chosen: Ints  # [T]     a row of items
    rewards: Floats  # [T]
    propensities: Floats | None  # [T]    None: not given
    report: Report
    item_report: Report | None


@dataclass(frozen=True)
class Raw:
    """A log as read, with bad rows: `frame` has one row per event, `flat` all candidates."""

    frame: pl.DataFrame  # row, client, reward, chosen, and time if given
    flat: Any  # a Series of ids, or Features
    sizes: Ints  # number of candidates per event, at least 1
    faults: dict[str, Mask]  # reason -> the events it applies to


@dataclass(frozen=True)
class Candidates:
    """The candidates of the good events."""

    items: Features
    flat: Ints
    chosen: Ints


def read_log(layout: Layout) -> Log:
    table = None
    if layout.items is not None:
        table = read_items(layout.items, layout.item, layout.features, layout.categories)
    raw = (_long if layout.long else _wide)(
        read(layout.log, layout.columns, layout.optional), layout
    )
    frame = raw.frame
    sieve = Sieve(layout.log.title, frame["row"].to_numpy())
    sieve.mark_ragged(frame)
    clients = ids("client", frame["client"])
    rewards = floats("reward", frame["reward"], yes_no=True)
    sieve.mark("client missing", clients.is_null().to_numpy())
    times = _times(frame, layout, sieve)
    for reason, bad in raw.faults.items():
        sieve.mark(reason, bad)
    sieve.mark("reward missing or not finite", ~np.isfinite(rewards))
    shown = _inline(raw, sieve) if table is None else _by_id(raw, table, sieve)
    good = sieve.good
    propensities = _propensities(frame, good, layout)
    now = order(times.filter(good))
    sizes = raw.sizes[good]
    who, names = code(clients.filter(good))
    return Log(
        clients=who[now],
        names=names,
        items=shown.items.matrix,
        feature_names=shown.items.names,
        shown=shown.flat,
        start=(np.cumsum(sizes) - sizes)[now],
        size=sizes[now],
        chosen=shown.chosen[now],
        rewards=rewards[good][now],
        propensities=None if propensities is None else propensities[now],
        report=sieve.report(),
        item_report=None if table is None else table.report,
    )


def _times(frame: pl.DataFrame, layout: Layout, sieve: Sieve) -> pl.Series:
    """The sort keys of events; without times, their place in the file."""
    if "time" not in frame.columns:
        return frame["row"]
    given = clean(frame["time"])
    times = moments(given, frame["row"], layout)
    bad = times.is_null() & given.is_not_null()
    sieve.mark("time missing", given.is_null().to_numpy())
    if bad.any():
        sieve.mark(f"time not readable, such as {given.filter(bad)[0]!r}", bad.to_numpy())
    return times


def _propensities(frame: pl.DataFrame, good: Mask, layout: Layout) -> Floats | None:
    """The probabilities with which the log's picks were made. A bad one is an error, not a bad row:
    to leave out events by their propensity is a bias."""
    if PROPENSITY not in frame.columns:
        return None
    found = floats(PROPENSITY, frame[PROPENSITY])
    wrong = np.flatnonzero(good & ~((found > 0) & (found <= 1)))
    if len(wrong):
        first = int(wrong[0])
        more = f" ({counted(len(wrong), 'such row')})" if len(wrong) > 1 else ""
        row, value = frame["row"][first], frame[PROPENSITY][first]
        raise refuse(
            layout.columns[PROPENSITY],
            value,
            f"above 0 and at most 1 in row {row:,} of {layout.log.title}{more}: the probability "
            "with which the log's choice was made",
        )
    return found[good]


def _wide(frame: pl.DataFrame, layout: Layout) -> Raw:
    """One row per event."""
    name = "features" if layout.items is None else "candidates"
    flat, sizes, empty = flatten(lists(name, frame[name], layout.separator))
    shown = unpacked(flat, layout.columns[name]) if layout.items is None else flat
    return Raw(frame, shown, sizes, {"no candidates": empty})


def _long(frame: pl.DataFrame, layout: Layout) -> Raw:
    """One row per candidate. Events are in the order of their first rows."""
    import polars as pl

    frame = _together(frame.with_columns(ids("event", frame["event"]).alias("event")))
    place = frame["place"].to_numpy()
    start = np.flatnonzero(np.diff(place, prepend=-1))
    sizes = np.diff(start, append=len(place))
    picked = (numbers("chosen", frame["chosen"], yes_no=True) == 1).fill_null(False).to_numpy()
    # The row of the chosen candidate; an event with several is marked as bad.
    pick = np.maximum.reduceat(np.where(picked, np.arange(len(picked)), 0), start)
    client = ids("client", frame["client"])
    others = client.ne_missing(client.gather(np.repeat(start, sizes)))
    if layout.items is None:
        called = layout.features or ()
        flat: Any = joined(by_column(frame, called, layout.categories, layout.log.title))
        chosen = pl.Series(pick - start)
    else:
        flat = frame["candidates"]
        chosen = flat.gather(pick)
    of_pick = [name for name in ("reward", PROPENSITY) if name in frame.columns]
    events = frame[start].with_columns(
        chosen.alias("chosen"), *(frame[name].gather(pick) for name in of_pick)
    )
    if RAGGED in frame.columns:  # one bad row makes a bad event
        ragged = frame.group_by("place", maintain_order=True).agg(
            pl.col(RAGGED).drop_nulls().first()
        )
        events = events.with_columns(ragged[RAGGED])
    faults = {
        "event missing": events["event"].is_null().to_numpy(),
        "more than one client": _any(others.to_numpy(), start),
        "not exactly one candidate chosen": np.add.reduceat(picked.astype(int), start) != 1,
    }
    return Raw(events, flat, sizes, faults)


def _together(frame: pl.DataFrame) -> pl.DataFrame:
    """Make the rows of each event adjacent; `place` increases from event to event. A row without
    an event id is an event of its own."""
    import polars as pl

    event = frame["event"]
    runs = event.rle_id()
    if event.null_count() == 0 and int(runs[-1]) + 1 == event.n_unique():
        return frame.with_columns(runs.cast(pl.Int64).alias("place"))
    alone = pl.when(pl.col("event").is_null()).then("row")
    first = alone.otherwise(pl.col("row").first().over("event"))
    ordered = frame.with_columns(first.cast(pl.Int64).alias("place"))
    return ordered.sort("place", maintain_order=True)


def _by_id(raw: Raw, table: Items, sieve: Sieve) -> Candidates:
    """Look up candidates and the chosen one by id."""
    flat, chosen = ids("candidates", raw.flat), ids("chosen", raw.frame["chosen"])
    places, picked = table.find(flat), table.find(chosen)
    start = np.cumsum(raw.sizes) - raw.sizes
    among = places == np.repeat(picked, raw.sizes)
    sieve.mark("candidate missing", _any(flat.is_null().to_numpy(), start))
    sieve.mark("candidate not in the item table", _any(places < 0, start))
    sieve.mark("chosen missing", chosen.is_null().to_numpy())
    sieve.mark("chosen not among the candidates", ~_any(among, start))
    good = sieve.good
    return Candidates(table.features, places[np.repeat(good, raw.sizes)], picked[good])


def _inline(raw: Raw, sieve: Sieve) -> Candidates:
    """Candidates given by their features, the chosen one by its index; every candidate becomes an
    item."""
    features: Features = raw.flat
    chosen = floats("chosen", raw.frame["chosen"])
    start = np.cumsum(raw.sizes) - raw.sizes
    among = (chosen >= 0) & (chosen < raw.sizes) & (chosen == np.floor(chosen))
    wrong = _any(~finite(features.matrix), start)
    sieve.mark(f"{NO_NUMBERS}, or not as many as others have", wrong)
    sieve.mark("chosen missing", np.isnan(chosen))
    sieve.mark("chosen not among the candidates", ~among)
    good, sizes = sieve.good, raw.sizes[sieve.good]
    features = features.at(np.repeat(good, raw.sizes))
    picked = np.cumsum(sizes) - sizes + chosen[good].astype(np.int64)
    return Candidates(features, np.arange(len(features.matrix)), picked)


def _any(flags: Mask, start: Ints) -> Mask:
    """For each event, whether any of its candidates is flagged."""
    return np.asarray(np.logical_or.reduceat(flags, start))
