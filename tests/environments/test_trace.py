"""Recorded worlds: two ways to hand in the arms, files, what the arrays mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments import Events
from support.traces import arrays, same_numbers, same_trace

ALGORITHM = incfed.IncFedUCB(incfed.PaymentEfficient(0.7), threshold=0.3, costs=1.0)


def test_features_or_ids_make_no_difference() -> None:
    given_as = arrays()
    by_id = incfed.Trace(**given_as)
    features = given_as["items"][given_as["arms"]]
    by_value = incfed.Trace(**{**given_as, "arms": features, "items": None})
    assert (by_id.count, by_id.dim, by_id.arms_per_step, by_id.length) == (5, 3, 4, 60)
    assert (by_value.count, by_value.dim, by_value.arms_per_step, by_value.length) == (5, 3, 4, 60)
    np.testing.assert_array_equal(by_value.items[by_value.arms], features)
    result = incfed.simulate(by_id, ALGORITHM)
    assert len(result.rounds) > 5
    same_numbers(result, incfed.simulate(by_value, ALGORITHM))


def test_lists_and_other_kinds_of_numbers_will_do() -> None:
    given_as = arrays()
    lists = {name: value.tolist() for name, value in given_as.items()}
    same_trace(incfed.Trace(**lists), incfed.Trace(**given_as))
    small = {**given_as, "clients": given_as["clients"].astype(np.uint8)}
    small["arms"] = given_as["arms"].astype(np.int16)
    small["items"] = np.asfortranarray(given_as["items"])
    same_trace(incfed.Trace(**small), incfed.Trace(**given_as))


def test_a_trace_keeps_its_own_copy() -> None:
    given_as = arrays()
    trace = incfed.Trace(**given_as)
    before = incfed.simulate(trace, ALGORITHM)
    for value in given_as.values():
        value[:] = 0
    same_numbers(incfed.simulate(trace, ALGORITHM), before)


def test_without_expected_rewards_regret_is_unknown() -> None:
    given_as = arrays()
    known = incfed.simulate(incfed.Trace(**given_as), ALGORITHM)
    unknown = incfed.simulate(incfed.Trace(**{**given_as, "expected": None}), ALGORITHM)
    assert np.isnan(unknown.regret).all()
    np.testing.assert_array_equal(unknown.reward, known.reward)
    np.testing.assert_array_equal(unknown.payment, known.payment)
    assert np.isnan(unknown.summary()["regret"])


def test_regret_is_measured_against_the_best_expected() -> None:
    trace = incfed.Trace([0, 0], [[[1.0], [2.0]]] * 2, [[5.0, 3.0]] * 2, [[0.25, 0.0]] * 2)
    result = incfed.simulate(trace, incfed.Independent(exploration=1.0))
    # Nothing known: the longer arm, which pays 3; V = 4, theta = 6 / 4.1: the longer arm again.
    assert result.reward.tolist() == [3.0, 6.0]
    assert result.regret.tolist() == [0.25, 0.5]


def test_more_clients_than_were_seen() -> None:
    given_as = arrays()
    few, many = incfed.Trace(**given_as), incfed.Trace(**given_as, count=8)
    assert (few.count, many.count) == (5, 8)
    one, two = incfed.simulate(few, ALGORITHM), incfed.simulate(many, ALGORITHM)
    np.testing.assert_array_equal(one.reward, two.reward)
    np.testing.assert_array_equal(one.rounds.idle + 3, two.rounds.idle)
    # Each of the three moves d^2 + d up and d^2 + d down in every round.
    np.testing.assert_array_equal(
        one.rounds.communication + 3 * 2 * (9 + 3), two.rounds.communication
    )
    assert two.settings["clients"] == 8


def test_part_of_a_trace() -> None:
    trace = incfed.Trace(**arrays())
    whole, part = incfed.simulate(trace, ALGORITHM), incfed.simulate(trace, ALGORITHM, steps=25)
    assert len(part.reward) == 25
    np.testing.assert_array_equal(part.reward, whole.reward[:25])
    np.testing.assert_array_equal(part.payment, whole.payment[:25])


def test_the_seed_changes_nothing_in_a_recorded_world() -> None:
    trace = incfed.Trace(**arrays())
    same_numbers(
        incfed.simulate(trace, ALGORITHM, seed=1), incfed.simulate(trace, ALGORITHM, seed=2)
    )


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(lambda n: sum(n) <= 60))
def test_the_same_steps_however_they_are_cut(pieces: list[int]) -> None:
    trace = incfed.Trace(**arrays())
    whole, cut = (trace.open(np.random.SeedSequence(0)) for _ in range(2))
    parts = [cut.take(n) for n in pieces]
    joined = Events(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    for mine, theirs in zip(joined, whole.take(sum(pieces)), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize("form", ["ids", "features"])
def test_saved_and_loaded(tmp_path: Path, form: str, expected: bool) -> None:
    given_as = arrays()
    if form == "features":
        given_as["arms"] = given_as["items"][given_as["arms"]]
        del given_as["items"]
    if not expected:
        del given_as["expected"]
    trace = incfed.Trace(**given_as, count=7)
    path = tmp_path / "log.npz"
    for _ in range(2):  # over an older file too
        trace.save(path)
        assert [p.name for p in tmp_path.iterdir()] == ["log.npz"]
    loaded = incfed.Trace.load(str(path))
    same_trace(trace, loaded)
    assert loaded.recurring == trace.recurring == (form == "ids")
    same_numbers(incfed.simulate(trace, ALGORITHM), incfed.simulate(loaded, ALGORITHM))
    assert trace.settings() == loaded.settings()


def test_a_file_written_by_somebody_else(tmp_path: Path) -> None:
    given_as = arrays()
    features = given_as.pop("items")[given_as["arms"]]
    np.savez(tmp_path / "log.npz", **{**given_as, "arms": features})
    same_trace(
        incfed.Trace.load(tmp_path / "log.npz"), incfed.Trace(**{**given_as, "arms": features})
    )
