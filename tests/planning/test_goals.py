"""Goals and limits: how they are read, and how far outside a run is."""

from __future__ import annotations

from typing import Any

import pytest

from incfed.errors import InputError
from incfed.planning.goals import Goal, Limit, read_goal


def test_a_goal_is_read() -> None:
    goal = read_goal("payment", None, {"reward": "99%", "communication": 5e6}, regret_known=True)
    assert goal.performance == goal.partner == goal.bought == "reward"
    settled = goal.settle({"reward": 200.0, "communication": 1.0, "payment": 0.0, "regret": 0.0})
    assert [limit.value for limit in settled.limits] == [198.0, 5e6]
    assert str(settled.limits[0]) == "at least reward 198 (99 % of paying everyone)"
    assert read_goal(None, None, {}, regret_known=False).aim == "reward"
    for text, value in {"1e4": 1e4, "1,234,567.5": 1234567.5, " 20 ": 20.0}.items():
        [limit] = read_goal(None, None, {"payment": text}, regret_known=True).limits
        assert limit.value == value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("regret", "reward", {}), "got both"),
        (("reward", None, {}), "--minimize: got 'reward'"),
        ((None, "payment", {}), "--maximize: got 'payment'"),
        ((None, None, {"payment": "lots"}), "--budget: got 'lots'"),
        ((None, None, {"payment": -1.0}), "--budget: got -1.0"),
        ((None, None, {"payment": "nan"}), "--budget: got 'nan'"),
        ((None, None, {"payment": "1,5"}), "--budget: got '1,5'"),  # 1.5, or 15?
        ((None, None, {"payment": "12,5%"}), "--budget: got '12,5%'"),
        ((None, None, {"reward": "-5%"}), "--min-reward: got '-5%'"),
    ],
)
def test_bad_goals(arguments: tuple[Any, Any, dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_goal(*arguments, regret_known=True)


def test_unknown_regret_is_no_aim() -> None:
    with pytest.raises(InputError, match="this log does not know"):
        read_goal("regret", None, {}, regret_known=False)
    with pytest.raises(InputError, match="--max-regret"):
        read_goal("payment", None, {"regret": 3}, regret_known=False)


def test_how_far_outside() -> None:
    assert Limit("payment", 200.0).excess([{"payment": 300.0}], []) == 0.5
    assert Limit("reward", 200.0).excess([{"reward": 100.0}, {"reward": 200.0}], []) == 0.25
    assert Limit("payment", 0.0).excesses([{"payment": 3.0}, {"payment": 0.0}], []) == [3.0, 0.0]
    goal = Goal("regret", (Limit("payment", 200.0), Limit("reward", 200.0)))
    assert goal.violation([{"payment": 100.0, "reward": 100.0}], []) == 0.5
    # A share: of 200 on average, but run by run of 100 and of 300; and of as many as there are.
    half = Limit("payment", 100.0, share=50.0)
    everyone = [{"payment": 100.0}, {"payment": 300.0}]
    assert half.excesses([{"payment": 60.0}, {"payment": 140.0}], everyone) == [0.1, -0.1]
    assert half.excesses([{"payment": 60.0}], everyone) == [0.1]
