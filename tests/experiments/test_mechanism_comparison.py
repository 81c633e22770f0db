"""`incfed compare mechanisms`: honest runs, one liar at a time, a table, a figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.experiments.engine import Local, run_cells
from incfed.experiments.mechanism_comparison import FACTORS, LINE_UP, compare_mechanisms
from incfed.mechanisms.registry import BUILT_IN
from incfed.results import utilities
from incfed.results.lies import lies_figure, lies_table
from support.cli import invoke

CONFIG = """
[run]
steps = 120
[world]
kind = "Synthetic"
clients = 5
dim = 3
arms = 4
pool = 30
[[algorithm]]
label = "paid"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.9 }
threshold = 0.3
costs = [4.0, 5.0, 6.0, 7.0, 8.0]
[[algorithm]]
label = "price"
kind = "IncFedUCB"
mechanism = { kind = "PostedPrice", price = 8.0 }
threshold = 0.3
costs = [4.0, 5.0, 6.0, 7.0, 8.0]
"""


def test_every_mechanism_is_in_the_line_up() -> None:
    assert sorted(LINE_UP) == sorted(BUILT_IN)
    suite = compare_mechanisms(Path("x"), quick=True)
    assert list(suite.lies) == list(LINE_UP)
    assert len(suite.cells) == len(LINE_UP) * (1 + 3 * len(FACTORS))


def test_what_the_best_liar_gains(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(CONFIG)
    suite = compare_mechanisms(tmp_path / "out", config=tmp_path / "two.toml", seeds=2)
    outcome = run_cells(suite.cells, checkpoint=suite.checkpoint(), executor=Local(1))
    paid, price = suite.rows(outcome)
    assert (paid.label, price.label) == ("paid", "price")
    found: list[float] = []
    for seed in range(2):
        honest = outcome.runs["paid"][seed]
        gains = [
            float(utilities(outcome.runs[lie][seed], honest).gained[client])
            for lie, [client] in suite.lies["paid"].items()
        ]
        assert len(gains) == 9
        found.append(max(gains))
    assert paid.best.mean == pytest.approx(sum(found) / 2)
    assert paid.best.mean > 0.0
    assert price.best.mean <= 1e-9, "who asks more than the price sells less often"
    table = lies_table([paid, price])
    assert [str(row.cells[0]) for row in table.rows] == ["paid", "price"]
    assert len(lies_figure([paid, price]).axes) == 4


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(CONFIG)
    done = invoke(tmp_path, "compare", "mechanisms", "two.toml", "-o", "out", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "| paid |" in done.stdout
    assert (tmp_path / "out/report.html").exists()
    assert (tmp_path / "out/plots/mechanisms.png").exists()
    rows: list[dict[str, Any]] = json.loads((tmp_path / "out/summary.json").read_text())
    assert [row["mechanism"] for row in rows] == ["paid", "price"]


def test_only_algorithms_whose_clients_can_lie(tmp_path: Path) -> None:
    text = CONFIG + '[[algorithm]]\nlabel = "alone"\nkind = "Independent"\n'
    (tmp_path / "alone.toml").write_text(text)
    done = invoke(tmp_path, "compare", "mechanisms", "alone.toml")
    assert done.returncode == 2
    said = "alone.toml: algorithm[3].kind: got 'Independent', must be IncFedUCB, whose clients can"
    assert said in " ".join(done.stderr.split())
    done = invoke(tmp_path, "compare", "mechanisms", "alone.toml", "--quick")
    assert done.returncode == 2
    assert "--quick: must be left out: alone.toml says" in done.stderr.replace("\n", " ")
    assert not (tmp_path / "mechanisms").exists()
    with pytest.raises(incfed.InputError, match="config file not found"):
        compare_mechanisms(tmp_path, config=tmp_path / "none.toml")


SET = '[{ kind = "Shading", factor = 3.0, clients = [1, 4] }, { kind = "Refusing", clients = [2] }]'


def test_one_set_of_behaviours(tmp_path: Path) -> None:
    """From the command line and from the config; against the same mechanism with honest clients."""
    (tmp_path / "two.toml").write_text(CONFIG)
    (tmp_path / "own.toml").write_text(CONFIG.replace("threshold", f"reports = {SET}\nthreshold"))
    found = []
    for name, reports in (("two.toml", SET), ("own.toml", None)):
        suite = compare_mechanisms(tmp_path / "out", config=tmp_path / name, reports=reports)
        assert suite.behaviours == (
            "clients 1, 4 act as Shading (factor 3); client 2 acts as Refusing"
        )
        assert len(suite.cells) == 4
        outcome = run_cells(suite.cells, checkpoint=suite.checkpoint(), executor=Local(1))
        found.append(suite.rows(outcome))
    assert repr(found[0]) == repr(found[1])  # one run each: sd is NaN, which equals nothing
    paid = found[0][0]
    [behaving], [honest] = outcome.runs["paid"], outcome.runs["paid: honest"]
    gained = utilities(behaving, honest).gained
    assert paid.payment.mean == behaving.payment[-1] != honest.payment[-1]
    assert paid.best.mean == pytest.approx(max(gained[[1, 2, 4]]))


def test_the_command_takes_behaviours(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(CONFIG)
    command = ("compare", "mechanisms", "two.toml", "-o", "out", "--jobs", "1", "--reports")
    done = invoke(tmp_path, *command, '{ kind = "BestResponse" }')
    assert done.returncode == 0, done.stderr
    assert "In all of them, all clients act as BestResponse (step 0.1)" in " ".join(
        done.stdout.split()
    )
    for reports, said in (
        ("lies", "--reports: got 'lies', must be a list of tables, such as"),
        ('[{ kind = "Lying" }]', "--reports[0].kind: got 'Lying'"),
        ('[{ kind = "Refusing", clients = [9] }]', "--reports[0].clients: got 9, must be an id"),
    ):
        done = invoke(tmp_path, *command, reports)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())


def test_sets_of_behaviours_do_not_mix(tmp_path: Path) -> None:
    text = CONFIG.replace("threshold", f"reports = {SET}\nthreshold", 1)
    (tmp_path / "mixed.toml").write_text(text)
    with pytest.raises(incfed.InputError, match=r"mixed.toml: algorithm\[2\].reports: got None"):
        compare_mechanisms(tmp_path, config=tmp_path / "mixed.toml")
    with pytest.raises(incfed.InputError, match="--reports: must be left out: algorithm 'paid'"):
        compare_mechanisms(tmp_path, config=tmp_path / "mixed.toml", reports=SET)
