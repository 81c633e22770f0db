"""Find the users with enough events, without holding all ratings in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ... import errors
from ...types import Ints, Mask
from .tables import ReleaseFile

if TYPE_CHECKING:
    import polars as pl

LIKED = 1.0  # stars: a rating of at least this is an event


class Ratings(NamedTuple):
    """Users in the order of their ids: user i has events[start[i]:start[i + 1]], and rated
    rated[rated_start[i]:rated_start[i + 1]]. Both are indices into `movies`."""

    users: Ints  # [N]      ids in the files
    movies: Ints  # [M]     ids of the movies that are an event of some user, in file order
    rows: Ints  # [M]       their rows in that file
    start: Ints  # [N + 1]
    events: Ints  # [T]     in the order of the ratings file
    rated_start: Ints  # [N + 1]
    rated: Ints  # ascending, without repeats; includes ratings with too few stars to be an event


def read_ratings(table: ReleaseFile, movies: Ints, min_events: int) -> Ratings:
    """The users with more than `min_events` events. Ratings of movies that are not in `movies`
    (ids) are ignored, because there are no features for them."""
    import polars as pl

    usable = pl.col("movieId").is_in(movies.tolist())
    liked = pl.col("rating") >= LIKED
    try:
        counts = _count(table, usable & liked)
        heavy = counts.filter(pl.col("events") > min_events)["userId"].sort()
        if len(heavy) == 0:
            most = int(counts["events"].to_numpy().max(initial=0))
            if most == 0:
                raise errors.InputError(f"{table.path}: has no ratings of 1 star or more")
            allowed = f"below {most}, the most that a user of {table.path.parent} has"
            raise errors.refuse("min_events", min_events, allowed)
        rows = (
            table.scan()
            .filter(pl.col("userId").is_in(heavy.to_list()) & usable)
            .select("row", "userId", "movieId", liked.alias("liked"))
            .collect(engine="streaming")
        )
    except pl.exceptions.PolarsError as error:
        raise table.fault(error) from None
    if not rows["row"].is_sorted():
        rows = rows.sort("row")
    users, order = heavy.to_numpy(), np.argsort(movies)
    who = np.searchsorted(users, rows["userId"].to_numpy())
    what = order[np.searchsorted(movies, rows["movieId"].to_numpy(), sorter=order)]
    return _arrange(users, movies, who, what, rows["liked"].to_numpy())


def _count(table: ReleaseFile, event: pl.Expr) -> pl.DataFrame:
    """The number of events of each user. Checks every row, and raises for a bad one."""
    import polars as pl

    names = table.names()
    needed = pl.any_horizontal(pl.col(*table.columns, names[-1]).is_null())
    empty = pl.all_horizontal(pl.col(*names).is_null())
    counts = (
        table.scan()
        .group_by("userId")
        .agg(
            event.sum().cast(pl.Int64).alias("events"),
            (needed & ~empty).sum().alias("incomplete"),
            (~pl.col("rating").is_between(0, 5)).sum().alias("beyond"),
        )
        .collect(engine="streaming")
    )
    if counts["incomplete"].sum() or counts["beyond"].sum():
        raise table.fault("a row is incomplete")
    return counts.drop_nulls("userId")


def _arrange(users: Ints, movies: Ints, who: Ints, what: Ints, liked: Mask) -> Ratings:
    """Group ratings in file order by user."""
    rows = np.unique(what[liked])
    place = np.full(len(movies), -1)
    place[rows] = np.arange(len(rows))
    by_user = np.argsort(who[liked], kind="stable")
    shown = place[what] >= 0
    known = np.unique(who[shown] * len(rows) + place[what[shown]])
    everyone = np.arange(len(users) + 1)
    return Ratings(
        users=users,
        movies=movies[rows],
        rows=rows,
        start=np.searchsorted(who[liked][by_user], everyone),
        events=place[what[liked][by_user]],
        rated_start=np.searchsorted(known, everyone * len(rows)),
        rated=known % len(rows),
    )
