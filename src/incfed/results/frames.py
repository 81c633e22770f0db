"""Results as data frames, made from numpy columns, so that pandas needs no pyarrow."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..support.extras import needs

if TYPE_CHECKING:
    import pandas
    import polars

    from .records import Result, Rounds

CURVES = ("regret", "reward", "communication", "payment")
ROUND_COLUMNS = ("step", "trigger", "pending", "idle", "communication", "ratio")


def steps_polars(result: Result) -> polars.DataFrame:
    with needs("polars", "to_polars()"):
        import polars
    return polars.DataFrame(_step_columns(result))


def steps_pandas(result: Result) -> pandas.DataFrame:
    with needs("pandas", "to_pandas()", "pandas"):
        import pandas
    return pandas.DataFrame(_step_columns(result))


def rounds_polars(rounds: Rounds) -> polars.DataFrame:
    with needs("polars", "to_polars()"):
        import polars
    # The type is named, so that no rounds at all still give a list column.
    lists = {
        name: polars.Series(_parts(rounds, flat), dtype=polars.List(kind)).cast(polars.List(kind))
        for name, flat, kind in (
            ("participants", rounds.participants, polars.Int64),
            ("payments", rounds.payments, polars.Float64),
        )
    }
    return polars.DataFrame({**_round_columns(rounds), **lists})


def rounds_pandas(rounds: Rounds) -> pandas.DataFrame:
    with needs("pandas", "to_pandas()", "pandas"):
        import pandas
    frame = pandas.DataFrame(_round_columns(rounds))
    for name, flat in (("participants", rounds.participants), ("payments", rounds.payments)):
        lists = [part.tolist() for part in _parts(rounds, flat)]
        frame[name] = pandas.Series(lists, dtype=object)
    return frame


def _step_columns(result: Result) -> dict[str, NDArray[Any]]:
    curves = {name: getattr(result, name) for name in CURVES}
    steps = np.arange(result.regret.size)
    matched = {} if np.array_equal(result.matched, steps + 1) else {"matched": result.matched}
    return {"step": steps, **curves, **matched}


def _round_columns(rounds: Rounds) -> dict[str, NDArray[Any]]:
    return {name: getattr(rounds, name) for name in ROUND_COLUMNS}


def _parts(rounds: Rounds, flat: NDArray[Any]) -> list[NDArray[Any]]:
    """A flat column, cut into one array for each round."""
    return [flat[start:stop] for start, stop in pairwise(rounds.offsets.tolist())]
