"""The fast path equals the literal reference: choice for choice, round for round, cent for cent."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

import incfed
from reference import simulation as reference
from support.equivalence import compare
from support.worlds import (
    Kind,
    costs,
    efficient,
    mechanisms,
    settings_of_a_run,
    traces,
)


def most_paid(run: reference.Run) -> int:
    return max((int((r.payments > 0).sum()) for r in run.rounds), default=0)


@given(st.data(), traces(), mechanisms(), settings_of_a_run())
def test_any_small_world(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    compare(trace, mechanism, data.draw(costs(trace.count)), options)


@given(
    st.data(),
    traces(unknown=st.sampled_from([0.05, 0.5, 0.9, 1.0])),
    mechanisms(),
    settings_of_a_run(),
)
def test_worlds_that_do_not_know_every_reward(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    slow = compare(trace, mechanism, data.draw(costs(trace.count)), options)
    event(f"rounds: {min(len(slow.rounds), 2)}, skipped: {slow.matched[-1] < trace.length}")


@given(
    st.data(),
    traces(count=(4, 12), dim=(2, 8), steps=(30, 120)),
    efficient(st.floats(0.5, 0.999)),
    settings_of_a_run(thresholds=(1.0, 3.0, 8.0, 20.0)),
)
def test_worlds_in_which_several_are_paid(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    # Many with much to share, at costs near what the data is worth: the search has work to do.
    slow = compare(trace, mechanism, data.draw(costs(trace.count, 0, 3)), options)
    event(f"paid in one round: {min(most_paid(slow), 3)}")
