"""What a sweep leaves behind: tidy tables, a summary, a report; and `incfed.sweep`."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import polars
import pytest

import incfed
from incfed.errors import InputError
from incfed.experiments import sweep_report
from incfed.experiments.cells import Cell, Record, named, shown
from incfed.experiments.grid import axes
from incfed.experiments.parameters import in_words, names_of, value_in_words
from incfed.experiments.points import points_table, summarise
from incfed.experiments.sweep_figures import SweepLayout, layout_of
from incfed.experiments.sweep_report import cells_frame, curves_frame
from incfed.experiments.sweeps import Swept
from incfed.results.document import Figure, Table
from support.experiments import tables
from support.past import copied, refused, sentence


def config(sweep: dict[str, Any], **run: Any) -> dict[str, Any]:
    return {**tables(**run), "sweep": sweep}


@pytest.fixture(scope="module")
def small() -> Swept:
    return incfed.sweep(
        config({"algorithm.costs": [1, 10, 100], "world.noise": [0.1, 0.3]}, seeds=[0, 5]), jobs=1
    )


def record(point: dict[str, Any], seed: int = 0, **figures: float) -> Record:
    """As if run: `figures` over zeros."""
    names = ("regret", "reward", "communication", "payment", "rounds", "participation")
    other = {"steps": 1.0, "matched": 1.0, "packed": math.nan}
    whole = dict.fromkeys(names, 0.0) | other | figures
    curve = {name: [1.0] for name in ("step", *names[:4])}
    return Record(point, seed, f"{point}{seed}", whole, curve)


def test_the_table_of_cells(small: Swept) -> None:
    frame = small.to_polars()
    assert frame.columns[:4] == ["algorithm", "costs", "noise", "seed"]
    assert frame.schema["costs"] == polars.Int64
    assert frame.schema["rounds"] == polars.Int64
    assert len(frame) == (2 + 6) * 2
    assert frame["costs"].null_count() == 4  # the altruistic ones have none
    row = frame.row(by_predicate=(polars.col("costs") == 10) & (polars.col("noise") == 0.3)
                    & (polars.col("seed") == 5), named=True)  # fmt: skip
    world = incfed.Synthetic(clients=4, dim=3, arms=3, pool=10, noise=0.3)
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=0.2, costs=10)
    alone = incfed.simulate(world, algorithm, steps=400, seed=5)
    for name, value in alone.summary().items():
        assert row[name] == value
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert isinstance(small.to_pandas(), pandas.DataFrame)
    assert list(small.to_pandas()["regret"]) == frame["regret"].to_list()


def test_the_table_of_curves(small: Swept) -> None:
    frame = small.curves()
    columns = ["algorithm", "costs", "noise", "seed"]
    assert frame.columns == [*columns, "step", "regret", "reward", "communication", "payment"]
    assert len(frame) == 16 * 200
    ends = frame.filter(polars.col("step") == 400)
    whole = small.to_polars()
    assert ends.select(columns).equals(whole.select(columns))
    assert ends["payment"].to_list() == whole["payment"].to_list()


def test_the_summary_is_mean_and_sample_deviation(small: Swept) -> None:
    one = small.summary()[-1]
    assert (dict(one.point), one.seeds) == (
        {"algorithm": "paid", "costs": 100, "noise": 0.3},
        (0, 5),
    )
    values = [r.figures["payment"] for r in small.records if r.point == one.point]
    assert one.row.payment.mean == pytest.approx(sum(values) / 2, rel=1e-12)
    assert one.row.payment.sd == pytest.approx(statistics.stdev(values), rel=1e-12)
    assert len(small.summary()) == 8


def test_columns_of_any_kind() -> None:
    given: dict[str, list[Any]] = {
        "whole": [1, 2, None],
        "number": [1, 0.5, None],
        "word": ["low", 2, None],
        "list": [[1, 2], [3], "x"],
        "table": [{"kind": "A"}, {"kind": "B", "x": 1}, None],
        "truth": [True, False, None],
    }
    rows = [{name: values[n] for name, values in given.items()} for n in range(3)]
    frame = cells_frame([record(row) for row in rows])
    assert frame["whole"].to_list() == [1, 2, None]
    assert frame["number"].to_list() == [1.0, 0.5, None]
    assert frame["word"].to_list() == ["low", "2", None]
    assert frame["list"].to_list() == ["[1, 2]", "[3]", "x"]
    assert frame["table"].to_list() == ["A", '{"kind": "B", "x": 1}', None]
    assert frame["truth"].to_list() == [True, False, None]
    long = [{"costs": [float(n)] * 100} for n in range(2)]
    assert cells_frame([record(row) for row in long])["costs"].n_unique() == 2  # not cut off
    assert len(shown(long[0]["costs"])) == 60
    assert curves_frame([]).is_empty()


def test_nan_is_not_lost_on_the_way(tmp_path: Path) -> None:
    some = [record({"x": n}, regret=math.nan) for n in (1, 2)]
    report = sweep_report.publish_sweep(tmp_path, "log", "Words.", some)
    assert polars.read_parquet(tmp_path / "cells.parquet")["regret"].is_nan().all()
    found = json.loads((tmp_path / "summary.json").read_text())
    assert [(one["point"], one["regret"]["mean"]) for one in found] == [
        ({"x": 1}, None),
        ({"x": 2}, None),
    ]
    assert "Regret" not in [column.title for column in points_table(summarise(some), {}).columns]
    assert ">Reward<" in report.read_text()


def test_two_parameters_are_a_heat_map(small: Swept, tmp_path: Path) -> None:
    page = small.save(tmp_path).read_text(encoding="utf-8")
    assert page.count('class="figure"') == 2 * 4  # altruistic has noise only, paid has both
    assert "://" not in page
    assert "cost of sharing (money, for a client and round)" in page  # not "costs"
    assert ">noise of rewards<" in page
    one = next(x for x in small.summary() if x.point == {**x.point, "costs": 100, "noise": 0.3})
    assert f">{one.row.regret.mean:.3g}<" in page  # its figure, in a cell
    assert (tmp_path / "plots" / "2-regret.png").exists()


def test_the_page_says_what_was_run(small: Swept, tmp_path: Path) -> None:
    page = small.save(tmp_path).read_text(encoding="utf-8")
    assert "Synthetic world: 4 clients, 400 steps; 8 points with 2 seeds each." in page
    assert "Swept: cost of sharing (money, for a client and round): 1, 10, 100; noise of" in page
    assert small.settings["World"] == {"kind": "Synthetic", "clients": 4, "dim": 3, "arms": 3,
                                       "pool": 10}  # fmt: skip
    assert "costs" not in small.settings["paid"]  # swept


def test_points_are_sorted() -> None:
    def values(column: str, given: list[Any]) -> list[Any]:
        some = [record({"algorithm": "a", column: value}) for value in given]
        return [one.point[column] for one in summarise(some)]

    assert values("x", [100, 1, 10.5, None, 2]) == [1, 2, 10.5, 100, None]
    assert values("w", ["low", "high", "auto"]) == ["low", "high", "auto"]  # as written
    assert values("m", [0.3, "auto", 0.1])[-1] == 0.3
    many = [record({"algorithm": a, "x": x}) for x in (2, 1) for a in ("z", "b")]
    order = [(one.point["algorithm"], one.point["x"]) for one in summarise(many)]
    assert order == [("z", 1), ("z", 2), ("b", 1), ("b", 2)]


def test_parameters_have_names_of_their_own() -> None:
    found = axes(
        {
            "run.steps": [1],
            "world.noise": [1],
            "algorithm.noise": [1],
            "algorithm[paid].mechanism.beta": [1],
            "algorithm[other].mechanism.beta": [1],
            "algorithm.mechanism.half_life": [1],
        },
        ["paid", "other"],
    )
    assert [one.axis for one in names_of(found).values()] == [
        "steps",
        "noise of rewards (standard deviation)",
        "assumed noise σ (standard deviation of a reward)",
        "wanted share β of paid (of the information of everyone)",
        "wanted share β of other (of the information of everyone)",
        "half life",
    ]
    assert in_words({"algorithm": "paid", "mechanism.beta": 1, "x": None}, {}) == "paid, beta 1"


def test_tables_are_said_in_words_and_stand_at_the_side() -> None:
    paid = {"kind": "PaymentEfficient", "beta": 0.7}
    assert value_in_words(paid) == "PaymentEfficient (beta 0.7)"
    assert value_in_words({"kind": "PaymentFree"}) == "PaymentFree"
    some = summarise([record({"m": m, "x": x}) for m in (paid, "PayEveryone", "A") for x in (1, 2)])
    assert layout_of(some) == SweepLayout("x", "m")
    columns = points_table(some, {}).columns
    assert [column.align for column in columns[:2]] == ["left", "right"]


def test_the_report_has_a_section_for_what_is_not_in_the_picture() -> None:
    many = [
        record({"algorithm": a, "x": x, "y": y, "z": z})
        for a in ("one", "two", "three")
        for x in (1, 2, 3, 4)
        for y in (1, 2, 3)
        for z in ("low", "high")
    ]
    many.append(record({"algorithm": "flat", "x": None, "y": None, "z": "low"}))
    sections = sweep_report._sections(summarise(many), {})
    # x across; 3 algorithms x 2 values of z are six lines and fit, with y there were 18
    assert [section.heading for section in sections] == ["y 1", "y 2", "y 3"]
    for section in sections:
        table, figure = section.more
        assert isinstance(figure, Figure)
        assert list(figure.keys)[-1] == "flat, z low"  # in each, to compare
        assert isinstance(table, Table)
        assert len(table.rows) == 3 * 4 * 2 + 1
        assert [column.title for column in table.columns[:3]] == ["Algorithm", "X", "Z"]


def test_without_numbers_or_matplotlib_there_is_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [section] = sweep_report._sections(summarise([record({"w": "a"}), record({"w": "b"})]), {})
    assert (section.heading, len(section.more)) == ("All points", 1)
    monkeypatch.setattr(sweep_report, "can_plot", lambda: False)
    [section] = sweep_report._sections(summarise([record({"x": 1}), record({"x": 2})]), {})
    assert len(section.more) == 1


def test_from_a_file_into_a_folder_and_on_from_there(tmp_path: Path) -> None:
    text = json.dumps([1, 10])
    (tmp_path / "study.toml").write_text(
        '[run]\nsteps = 100\n[world]\nkind = "Synthetic"\nclients = 3\ndim = 2\narms = 2\n'
        '[[algorithm]]\nkind = "IncFedUCB"\nmechanism = "PaymentFree"\nthreshold = "high"\n'
        f'[sweep]\n"algorithm.costs" = {text}\n'
    )
    out = tmp_path / "out"
    first = incfed.sweep(tmp_path / "study.toml", jobs=1, output=out, seeds=2)
    assert repr(first) == "<Sweep 'study': 4 runs>"
    assert (out / "report.html").exists()
    stamp = (out / "cells.jsonl").stat().st_mtime_ns
    again = incfed.sweep(str(tmp_path / "study.toml"), jobs=1, output=out, seeds=2)
    assert (out / "cells.jsonl").stat().st_mtime_ns == stamp
    assert again.to_polars().equals(first.to_polars())


def test_what_incfed_sweep_refuses() -> None:
    good = config({"algorithm.costs": [1]})
    with pytest.raises(InputError, match="config: got 3, must be the path"):
        incfed.sweep(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="jobs: got 0"):
        incfed.sweep(good, jobs=0)
    with pytest.raises(InputError, match="--jobs: is for processes on this machine"):
        incfed.sweep(good, jobs=2, dask="tcp://x:1")
    with pytest.raises(InputError, match="--dask: got '', must be the address"):
        incfed.sweep(good, dask="")
    with pytest.raises(InputError, match=r"config: paid, costs -1: algorithm\['paid'\]\.costs: g"):
        incfed.sweep(config({"algorithm.costs": [-1]}))


def test_ctrl_c_is_passed_on() -> None:
    def press(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        incfed.sweep(config({"algorithm.costs": [1]}), jobs=1, progress=press)


def test_names_of_points() -> None:
    point = {"algorithm": "paid", "beta": 0.7, "on": True, "mechanism": {"kind": "A"}, "no": None}
    assert named(point) == "paid, beta 0.7, on true, mechanism A"
    assert Cell({}, {}, 3, point={"x": 0.1 + 0.2}).name == "x 0.30000000000000004, seed 3"


def test_a_sweep_of_another_version_is_not_written_over(tmp_path: Path, small: Swept) -> None:
    folder = copied("experiments/data/sweep-0.2.0", tmp_path / "swept")
    with refused(folder, sentence(folder / "cells.jsonl")):
        small.save(folder)
