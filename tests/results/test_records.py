from __future__ import annotations

import copy
import json
import math
import pickle  # noqa: TID251 (worker processes hand results over this way)
import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from incfed.errors import InputError
from incfed.results import Rounds, plain
from incfed.support.extras import needs
from support.results import bare, made_up, sample, settings, silent, three_rounds


def test_rounds_read_like_a_list_of_records() -> None:
    rounds = three_rounds()
    assert len(rounds) == 3
    assert len(list(rounds)) == 3
    assert [record.step for record in rounds] == [2, 5, 9]
    first, last = rounds[0], rounds[-1]
    assert first.participants.tolist() == [0, 3]
    assert first.payments.tolist() == [0.0, 2.5]
    assert (first.payment, first.paid) == (2.5, 1)
    assert (last.step, last.payment, last.paid) == (9, 0.0, 0)
    assert rounds.shared.tolist() == [2, 0, 0]
    assert rounds.payment.tolist() == [2.5, 0.0, 0.0]
    assert np.array_equal(rounds.participation, [2 / 3, 0.0, math.nan], equal_nan=True)
    for index in (3, -4):
        with pytest.raises(IndexError):
            rounds[index]


def test_rounds_survive_being_taken_apart() -> None:
    assert Rounds.collect(list(three_rounds())) == three_rounds()
    assert len(Rounds.collect([])) == 0
    assert Rounds.collect([]).payment.dtype == np.float64


def test_summary_counts_only_rounds_where_somebody_had_data() -> None:
    assert sample().summary() == {
        "steps": 10,
        "matched": 10,
        "clients": 4,
        "regret": 10 / 3,
        "reward": 20.0,
        "communication": 270.0,
        "packed": 90.0,
        "payment": 2.5,
        "rounds": 3,
        "participation": 1 / 3,
        "paid": 1,
    }
    assert math.isnan(silent().summary()["participation"])
    assert math.isnan(sample(known=False).summary()["regret"])


def test_records_cannot_be_changed() -> None:
    result = sample()
    arrays = [result.regret, result.reward, result.communication, result.payment]
    arrays += [result.rounds.payments, result.rounds.ratio, result.rounds[0].payments]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    with pytest.raises(FrozenInstanceError):
        result.regret = np.zeros(10)  # type: ignore[misc]


def test_the_callers_arrays_and_settings_stay_the_callers() -> None:
    curve, given = np.ones(3), settings()
    result = made_up(curve, curve, curve, curve, Rounds.collect([]), given)
    curve[0], given["algorithm"]["threshold"] = 7, 9.0
    assert result.regret[0] == 1
    assert result.settings["algorithm"]["threshold"] == 0.5


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_are_equal_and_as_fixed(copied: Any) -> None:
    result = sample(known=False)  # NaN regret equals itself here
    other = copied(result)
    assert other == result
    assert other.rounds[1] == result.rounds[1]
    assert not other.regret.flags.writeable
    assert not other.rounds.payments.flags.writeable


def test_any_difference_is_seen() -> None:
    assert sample() != sample(scale=2)
    assert sample() != silent()
    assert sample() != sample(seed=1)
    assert sample() != "a result"


def _columns() -> dict[str, Any]:
    rounds = three_rounds()
    return {name: getattr(rounds, name).copy() for name in rounds.__dataclass_fields__}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("trigger", [0, 1], "rounds.trigger"),
        ("trigger", [0.5, 1, 2], "integers"),
        ("ratio", [["x"]], "one dimension"),
        ("ratio", ["x", "y", "z"], "numbers"),
        ("step", [2, 9, 5], "must not decrease"),
        ("offsets", [0, 2, 2], "rounds.offsets"),
        ("offsets", [0, 2, 1, 2], "must not decrease"),
        ("offsets", [0, 1, 1, 1], "rounds.offsets"),
        ("payments", [1.0], "rounds.payments"),
        ("pending", [1, 2, 0], "rounds.pending"),
    ],
)
def test_columns_that_do_not_fit_are_refused(name: str, value: Any, said: str) -> None:
    assert Rounds(**_columns()) == three_rounds()
    with pytest.raises(InputError, match=said):
        Rounds(**{**_columns(), name: value})


def test_results_that_do_not_fit_are_refused() -> None:
    curve = np.ones(10)
    with pytest.raises(InputError, match="payment: 9 steps"):
        made_up(curve, curve, curve, curve[1:], three_rounds(), {})
    with pytest.raises(InputError, match=r"rounds\.step: from 2 to 9"):
        bare(curve[1:], three_rounds())


def test_settings_become_json() -> None:
    odd = {"costs": np.array([1, 2]), "beta": np.float32(0.5), "t": (1, None), "cap": math.inf}
    assert plain(odd) == {"costs": [1, 2], "beta": 0.5, "t": [1, None], "cap": "inf"}
    json.dumps(plain(odd), allow_nan=False)
    with pytest.raises(InputError, match=r"settings\.a\[1\].*set"):
        plain({"a": [1, {2}]})
    with pytest.raises(InputError, match="key 3"):
        plain({3: 1})


def test_what_a_result_prints() -> None:
    assert repr(sample()) == (
        "<IncFedUCB: 10 steps, 4 clients: regret 3.33, reward 20, communication 270, "
        "payment 2.50, 3 rounds>"
    )
    assert repr(sample().rounds) == "<Rounds: 3 rounds, 1 payment>"
    assert "2 of 3 with pending data shared, 1 paid 2.5" in repr(sample().rounds[0])


def test_data_frames() -> None:
    result = sample()
    for frame in (result.to_polars(), result.to_pandas()):
        assert list(frame.columns) == [
            "step", "regret", "reward", "communication", "payment", "packed",
        ]  # fmt: skip
        assert list(frame["step"]) == list(range(10))
        assert list(frame["regret"]) == result.regret.tolist()
    for frame in (result.rounds.to_polars(), result.rounds.to_pandas()):
        assert list(frame.columns)[-4:] == ["participants", "payments", "costs", "asked"]
        assert [list(part) for part in frame["participants"]] == [[0, 3], [], []]
        assert [list(part) for part in frame["payments"]] == [[0.0, 2.5], [], []]
        assert [list(part) for part in frame["costs"]] == [[1.0, 3.5], [], []]
        assert list(frame["pending"]) == [3, 2, 0]
    none = silent().rounds
    assert none.to_polars().schema == result.rounds.to_polars().schema
    assert none.to_pandas().shape == (0, 10)


def test_a_missing_library_is_named() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match=r"drawing needs a_b_c .*pip install a_b_c"),
        needs("a_b_c", "drawing"),
    ):
        import a_b_c  # type: ignore[import-not-found]  # noqa: F401


@pytest.mark.parametrize(
    ("library", "call"),
    [
        ("pandas", "sample().to_pandas()"),
        ("pandas", "sample().rounds.to_pandas()"),
        ("polars", "sample().save('x')"),
        ("matplotlib", "sample().plot()"),
    ],
)
def test_libraries_load_late(library: str, call: str) -> None:
    code = f"""
import sys
sys.path[:0] = {[*sys.path]!r}
import incfed.results
assert not set(sys.modules) & {{"polars", "pandas", "matplotlib"}}, "loaded too early"
sys.modules[{library!r}] = None
from support.results import sample
try:
    {call}
except ModuleNotFoundError as error:
    assert "pip install" in str(error) and {library!r} in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_samples_hang_together() -> None:
    result = sample()
    assert result.payment[-1] == result.rounds.payment.sum()
    assert result.communication[-1] == result.rounds.communication.sum()
    assert result.payment[result.rounds[0].step] == result.rounds[0].payment
