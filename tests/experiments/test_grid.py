"""The [sweep] table: which points there are, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.errors import InputError
from incfed.experiments.sweeps import Sweep, read_sweep
from support.experiments import OWN, tables


def swept(sweep: Any, *more: dict[str, Any], **run: Any) -> Sweep:
    """The sample experiment (altruistic, paid) and `more` algorithms, with a sweep."""
    whole = tables(**run)
    whole["algorithm"] += more
    return read_sweep({**whole, "sweep": sweep})


def points(sweep: Any, *more: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(cell.point) for cell in swept(sweep, *more, seeds=1).cells]


def refused(sweep: Any, *more: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        swept(sweep, *more)
    said = str(caught.value)
    assert said.startswith("config: ")
    return said.removeprefix("config: ")


FREE = {"label": "free", "kind": "IncFedUCB", "mechanism": "PaymentFree", "threshold": 0.2}


def test_every_combination_with_every_seed() -> None:
    made = swept({"world.noise": [0.1, 0.3], "algorithm[paid].costs": [1, 10]}, seeds=[4, 2])
    assert made.points == 2 + 4
    assert [(dict(c.point), c.seed) for c in made.cells if c.point["algorithm"] == "paid"] == [
        ({"algorithm": "paid", "noise": noise, "costs": costs}, seed)
        for noise in (0.1, 0.3)
        for costs in (1, 10)
        for seed in (4, 2)
    ]
    for cell in made.cells:
        assert cell.world["noise"] == cell.point["noise"]
        assert cell.algorithm.get("costs") == cell.point["costs"]
        assert cell.steps == 400


def test_who_does_not_take_a_parameter_runs_once() -> None:
    found = points({"algorithm.mechanism.beta": [1.0, 0.5], "algorithm.costs": [1, 2]}, FREE)
    assert found == [
        {"algorithm": "altruistic", "beta": None, "costs": None},
        *({"algorithm": "paid", "beta": b, "costs": c} for b in (1.0, 0.5) for c in (1, 2)),
        *({"algorithm": "free", "beta": None, "costs": c} for c in (1, 2)),
    ]


def test_a_mechanism_and_what_is_in_it() -> None:
    """Parts are set after the whole, whichever stands first; FREE has a mechanism by name."""
    found = points(
        {
            "algorithm[free].mechanism.beta": [0.5, 0.9],
            "algorithm[free].mechanism": ["PaymentFree", {"kind": "PaymentEfficient", "beta": 1}],
        },
        FREE,
    )
    assert [(one["mechanism"], one["beta"]) for one in found if one["algorithm"] == "free"] == [
        ("PaymentFree", None),
        ({"kind": "PaymentEfficient", "beta": 1}, 0.5),
        ({"kind": "PaymentEfficient", "beta": 1}, 0.9),
    ]
    made = swept({"algorithm[3].mechanism": [{"kind": "PaymentEfficient", "beta": 1}]}, FREE)
    assert FREE["mechanism"] == "PaymentFree"  # nobody's table was changed
    assert made.cells[-1].algorithm["mechanism"] == {"kind": "PaymentEfficient", "beta": 1}


def test_a_trigger_and_what_is_in_it() -> None:
    patient = {"label": "p", "kind": "IncFedUCB", "mechanism": "PaymentFree", "trigger": "Patient"}
    found = swept({"algorithm[p].trigger.news": [2, 8]}, patient, seeds=1)
    tried = [cell.algorithm["trigger"] for cell in found.cells if cell.point["algorithm"] == "p"]
    assert tried == [{"kind": "Patient", "news": 2}, {"kind": "Patient", "news": 8}]
    assert "does not take 'trigger.gamma'" in refused({"algorithm[p].trigger.gamma": [2]}, patient)


@pytest.mark.parametrize("which", ["paid", "'paid'", '"paid"', "2"])
def test_one_algorithm_by_label_or_number(which: str) -> None:
    found = points({f"algorithm[{which}].ridge": [1.0, 2.0]})
    assert [(one["algorithm"], one["ridge"]) for one in found] == [
        ("altruistic", None),
        ("paid", 1.0),
        ("paid", 2.0),
    ]


def test_paths_without_quotes_are_tables_in_tables() -> None:
    flat = {"world.noise": [0.1], "algorithm.mechanism.beta": [0.5], "run.steps": [100, 200]}
    nested = {
        "world": {"noise": [0.1]},
        "algorithm": {"mechanism": {"beta": [0.5]}},
        "run": {"steps": [100, 200]},
    }
    assert swept(flat).cells == swept(nested).cells
    assert {cell.steps for cell in swept(flat).cells} == {100, 200}


def test_columns_have_the_shortest_name_that_is_theirs() -> None:
    [axis, other] = swept({"world.noise": [1], "algorithm.noise": [1]}).axes
    assert (axis.column, other.column) == ("world.noise", "algorithm.noise")
    [steps] = swept({"run.steps": [10]}).axes
    assert steps.column == "steps"
    [one, two] = swept({"algorithm[1].delta": [0.1], "algorithm[2].delta": [0.1]}).axes
    assert (one.column, two.column) == ("altruistic.delta", "paid.delta")


def test_a_class_of_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    mine = {**FREE, "label": "mine", "mechanism": {"kind": "own.py:Mine"}}
    found = points({"algorithm.mechanism.at": [1, 2]}, mine)
    assert [one["at"] for one in found] == [None, None, 1, 2]


@given(
    st.dictionaries(
        st.sampled_from(["world.noise", "algorithm.costs", "algorithm.mechanism.beta"]),
        st.lists(st.integers(1, 50), min_size=1, max_size=4, unique=True),
        min_size=1,
    ),
    st.integers(1, 3),
)
def test_points_are_counted_right(sweep: dict[str, list[int]], seeds: int) -> None:
    """altruistic takes noise only, free costs too, paid all three; no point twice."""
    size = {key: len(values) for key, values in sweep.items()}
    noise, costs = size.get("world.noise", 1), size.get("algorithm.costs", 1)
    expected = noise * (1 + costs + costs * size.get("algorithm.mechanism.beta", 1))
    made = swept(sweep, FREE, seeds=seeds)
    assert made.points == expected
    assert len({repr((cell.point, cell.seed)) for cell in made.cells}) == expected * seeds


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        (None, "sweep: is missing, must be given, such as [sweep]"),
        ([1], "sweep: got [1], must be a table"),
        ({}, "sweep: got {}, must be at least one parameter"),
        ({"world.noise": []}, "sweep.world.noise: got [], must be a list of at least one value"),
        ({"world.noise": 0.1}, "sweep.world.noise: got 0.1, must be a list"),
        ({"world.noise": [1, 1.0]}, "must be a list that has 1.0 once"),
        ({"world.nose": [1]}, "sweep.world.nose: the world does not take 'nose' (did you mean "),
        ({"algorithm.cost": [1]}, "no algorithm takes 'cost' (did you mean 'costs'?); allowed are"),
        ({"algorithm.mechanism.beat": [1]}, "(did you mean 'mechanism.beta'?)"),
        ({"algorithm[altruistic].costs": [1]}, "altruistic does not take 'costs'"),
        ({"algorithm[piad].costs": [1]}, "there is no algorithm 'piad' (did you mean 'paid'?)"),
        ({"algorithm[3].costs": [1]}, "there is no algorithm '3'"),
        ({"wrold.noise": [1]}, "sweep.wrold.noise: there is no such parameter (did you mean 'wo"),
        ({"noise": [1]}, "sweep.noise: there is no such parameter"),
        ({"world[1].noise": [1]}, "there is no such parameter"),
        ({"run.seeds": [1]}, "only run.steps can be swept (seeds are run anyway"),
        ({"algorithm.label": ["a"]}, "a label only names an algorithm"),
        (
            {"algorithm.costs": [1], "algorithm[paid].costs": [2]},
            "sweep.algorithm[paid].costs: is the same as sweep.algorithm.costs",
        ),
        (
            {"algorithm[2].costs": [1], "algorithm[paid].costs": [2]},
            "sweep.algorithm[paid].costs: is the same as sweep.algorithm[2].costs",
        ),
        ({"world.kind": ["Sinthetic"]}, "world.kind: got 'Sinthetic' (did you mean"),
    ],
    ids=str,
)
def test_mistakes_are_named(sweep: Any, said: str) -> None:
    if isinstance(sweep, dict) and "world.kind" in sweep:
        sweep["world.noise"] = [0.2]
    assert said in refused(sweep)


def test_too_many() -> None:
    many = {f"world.{name}": list(range(999)) for name in ("dim", "arms", "noise")}
    assert refused(many) == "sweep: has 1,994,005,998 combinations, must have at most 1,000,000"
    with pytest.raises(InputError, match=r"sweep: has 1,600,000 runs, must have at most"):
        swept({"world.noise": [0.1 * n for n in range(8)]}, seeds=100_000)


def test_an_algorithm_labelled_like_a_room() -> None:
    world = {**FREE, "label": "world"}
    found = points({"world.noise": [0.1, 0.3], "algorithm[world].noise": [0.2, 0.4]}, world)
    ours = [point for point in found if point["algorithm"] == "world"]
    assert [(p["world.noise"], p["algorithm[world].noise"]) for p in ours] == [
        (0.1, 0.2), (0.1, 0.4), (0.3, 0.2), (0.3, 0.4)
    ]  # fmt: skip


@pytest.mark.parametrize("order", [1, -1])
def test_a_kind_is_set_before_what_it_takes(order: int) -> None:
    both = {
        "algorithm[free].mechanism.kind": ["PaymentFree", "PaymentEfficient"],
        "algorithm[free].mechanism.beta": [1.0, 0.5],
    }
    found = points(
        dict(list(both.items())[::order]), {**FREE, "mechanism": {"kind": "PaymentFree"}}
    )
    mine = [(p["kind"], p["beta"]) for p in found if p["algorithm"] == "free"]
    assert sorted(mine, key=repr) == [
        ("PaymentEfficient", 0.5), ("PaymentEfficient", 1.0), ("PaymentFree", None)
    ]  # fmt: skip
