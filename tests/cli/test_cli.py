"""The command line as people meet it: real processes, their output and their exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

from incfed.cli.base import path
from incfed.cli.commands import app
from support.cli import INCFED, alive, incfed, invoke
from support.experiments import OWN, TOML
from support.past import contents, copied, sentence


def test_help_teaches_and_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "from incfed.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'numpy', 'polars', 'pydantic', 'matplotlib', 'pandas', 'sklearn'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for word in ("demo", "run", "init", "show", "data", "--version", "incfed init"):
        assert word in done.stdout


def test_version(tmp_path: Path) -> None:
    assert re.fullmatch(r"incfed \d+\.\d+\S*\n", incfed(tmp_path, "--version").stdout)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", [["--version"], ["--help"], ["run", "--help"], ["init", "a.toml"]], ids=" ".join
)
def test_output_that_cannot_be_written(tmp_path: Path, command: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*INCFED, *command], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("command", ["--version", "--help"])
def test_a_reader_that_has_gone_is_no_reason_to_complain(tmp_path: Path, command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*INCFED, command], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("loaded", ["signal", "typer", "rich.console", "numpy"])
def test_ctrl_c_while_it_is_loading(tmp_path: Path, loaded: str) -> None:
    code = (
        "import sys; sys.argv[1:] = ['show', 'nothing']\n"
        f"loaded = {loaded!r}\n"
        "class CtrlC:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == loaded: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, CtrlC())\n"
        "from incfed.cli import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode in (130, -signal.SIGINT)  # both are 130 to a shell
    assert done.stderr in ("", "error: stopped\n")


def test_ctrl_c_while_python_ends_changes_nothing() -> None:
    """All is done then; Python's own handler is gone, and the signal would kill the process."""
    late = (
        "import os, signal, sys\n"
        "class Late:\n"
        "    def __del__(self, kill=os.kill, own=os.getpid(), sent=signal.SIGINT):\n"
        "        kill(own, sent)\n"
        "late = Late()\n"
        "sys.argv[1:] = ['--version']\n"
        "from incfed.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", late], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_init_then_run_then_show(tmp_path: Path) -> None:
    assert "incfed run study.toml" in incfed(tmp_path, "init", "study.toml").stdout
    again = invoke(tmp_path, "init", "study.toml")
    assert (again.returncode, again.stdout) == (2, "")
    assert "--force" in again.stderr

    done = incfed(tmp_path, "run", "study.toml", "--seeds", "2", "--output", "there")
    assert done.returncode == 0, done.stderr
    assert "10 runs of 2,000 steps: 5 algorithms, 2 seeds" in done.stderr
    for label in ("altruistic", "payment-efficient, beta 0.7", "alone"):
        assert re.search(rf"^\| {label} \| 2 \| \d+\.\d+ ± ", done.stdout, re.MULTILINE)
    there = tmp_path / "there"
    assert not (tmp_path / "results").exists()
    assert "there/report.html" in done.stderr
    assert {path.name for path in there.iterdir()} == {
        "experiment.json", "plots", "report.html", "runs", "summary.json", "summary.md",
    }  # fmt: skip
    assert (there / "plots/overview.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (there / "plots/payment.svg").read_text()
    figures = json.loads((there / "summary.json").read_text())["Comparison"]
    assert [run["seed"] for run in figures["alone"]] == [0, 1]
    assert figures["alone"][0]["participation"] is None

    table = done.stdout[done.stdout.index("| Algorithm") :]
    assert table.strip() in (there / "summary.md").read_text()
    assert table.strip() in incfed(tmp_path, "show", "there").stdout
    one = invoke(tmp_path, "show", "there/runs/alone/seed-1").stdout
    assert one.startswith("Independent, seed 1\n")
    assert re.search(r"^- clients: 20$", one, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (
            "beta = 0.7",
            "beta = 7",
            "bad.toml: algorithm[2].mechanism.beta: got 7, must be a number",
        ),
        ("steps = 400", "step = 400", "bad.toml: run.step: got 400, but there is no such setting"),
        ("[run]", '[run]\noutput = "bad.toml/x"', "bad.toml/x', must be a folder that can be"),
    ],
)
def test_mistakes_end_with_2_and_a_line(tmp_path: Path, old: str, new: str, place: str) -> None:
    (tmp_path / "bad.toml").write_text(TOML.replace(old, new, 1))
    done = invoke(tmp_path, "run", "bad.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert place in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


def test_things_that_are_not_there(tmp_path: Path) -> None:
    for arguments in (("run", "no.toml"), ("show", "no"), ("show", "."), ("run",), ("rnu",)):
        done = invoke(tmp_path, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert done.stderr


EMPTY = [
    ["demo", "--output"], ["run"], ["run", "a.toml", "-o"], ["init"], ["show"], ["sweep"],
    ["sweep", "a.toml", "--output"], ["reproduce", "all", "--movielens"],
    ["reproduce", "all", "-o"], ["plan"], ["plan", "a.toml", "--output"],
    ["data", "movielens", "ml-100k", "--folder"], ["serve", "--config"], ["up", "-o"],
    ["client", "enrol", "one", "-c"], ["client", "list", "-c"],
    ["ledger", "audit", "--head"], ["ledger", "head", "--config"],
]  # fmt: skip


@pytest.mark.parametrize("command", EMPTY, ids=" ".join)
def test_an_empty_path_is_not_the_current_folder(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    done = invoke(tmp_path, *command, "")
    assert done.returncode == 2
    assert "must be a path, not empty" in done.stderr
    assert command[-1].strip("-") in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["a.toml"]


def test_no_path_is_taken_without_that_check() -> None:
    found = 0
    groups = [app, *(one.typer_instance for one in app.registered_groups)]
    for command in [one for group in groups if group for one in group.registered_commands]:
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            if "Path" in str(getattr(hint, "__origin__", hint)):  # also Path | None
                assert hint.__metadata__[0].parser is path, (command.callback, name)
                found += 1
    assert found >= len(EMPTY)


def test_a_mechanism_that_fails_spoils_only_its_own_runs(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    mine = '"own.py:Mine", at = 1, trouble = "raise"'
    text = TOML.replace('"PaymentEfficient", beta = 0.7', mine).replace('"paid"', '"[b]mine"')
    (tmp_path / "a.toml").write_text(text)
    done = incfed(tmp_path, "run", "a.toml", "--jobs", "1")
    assert done.returncode == 1
    assert "error: [b]mine, seeds 0, 1: KeyError: 'lost it' (own.py, line 12)\n" in done.stderr
    assert "2 of 4 runs failed" in done.stderr
    assert "| altruistic | 2 |" in done.stdout
    page = (tmp_path / "results/report.html").read_text()
    assert "Not included: 2 of 4 runs, which failed." in page


def test_the_demo_is_one_page_that_needs_no_network(tmp_path: Path) -> None:
    done = incfed(tmp_path, "demo", "--quick", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^## (.*)$", done.stdout, re.MULTILINE) == ["Cost 1", "Cost 10", "Cost 100"]
    rows = re.findall(r"^\| (.*?) \| 2 \|", done.stdout, re.MULTILINE)
    assert rows == ["altruistic", "payment-free", "beta 1", "beta 0.7", "beta 0.3"] * 3
    free = re.findall(r"^\| altruistic .*$", done.stdout, re.MULTILINE)
    assert len(set(free)) == 1  # run once, shown everywhere
    page = (tmp_path / "demo/report.html").read_text(encoding="utf-8")
    # of each cost four panels of curves, gains, and regret against traffic
    assert page.count("<figure") >= 6
    assert page.count("<svg") == 30
    assert "://" not in page
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\((?!#)", page)
    assert len(list((tmp_path / "demo/runs").glob("*/seed-*"))) == 26


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Ctrl-C is sent to a process group")
def test_ctrl_c_keeps_finished_seeds(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML.replace("steps = 400", "steps = 30_000"))
    command = [*INCFED, "run", "a.toml", "--seeds", "200", "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    runs, limit = tmp_path / "results/runs", time.monotonic() + 600
    while not list(runs.glob("*/seed-1/result.json")):
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: parent and workers alike
    assert process.wait(timeout=60) == 130  # 3 s of grace, and a slow machine
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read()
    assert "Traceback" not in said
    for _ in range(100):  # multiprocessing's own helper leaves a moment after its parent
        if not alive(process.pid):
            break
        time.sleep(0.1)
    assert not alive(process.pid)  # no worker is left behind

    kept = {path: path.stat().st_mtime_ns for path in runs.glob("*/seed-*/result.json")}
    assert f"stopped: {len(kept)} of 400 runs finished and kept in {runs.parent};" in said
    assert "continue with: incfed run a.toml --seeds 200 --jobs 2" in said
    assert not list(runs.rglob(".*"))

    seeds = max(int(path.parent.name.removeprefix("seed-")) for path in kept) + 1
    on = invoke(tmp_path, "run", "a.toml", "--seeds", str(seeds), "--jobs", "1")
    assert on.returncode == 0, on.stderr
    assert f"{len(kept)} of {2 * seeds} runs already there" in on.stderr
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    assert f"| paid | {seeds} |" in on.stdout


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("incfed.experiments.runs.read", "stopped before the first run; nothing new was kept"),
        (
            "incfed.support.terminal.Bar.update",
            "stopped before the first of 4 runs was finished; nothing was kept",
        ),
        ("incfed.experiments.runs.Experiment.report", "stopped: 4 of 4 runs finished and kept in"),
    ],
    ids=["reading", "running", "reporting"],
)
def test_ctrl_c_says_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, said: str
) -> None:
    def press(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, press)
    (tmp_path / "a.toml").write_text(TOML)
    done = invoke(tmp_path, "run", "a.toml", "--jobs", "1")
    assert (done.returncode, done.stdout) == (130, "")
    assert f"error: {said}" in done.stderr
    assert ("continue with: incfed" in done.stderr) == ("kept in" in said)


def test_resume_goes_on_and_never_starts(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    nothing = incfed(tmp_path, "run", "a.toml", "--resume")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "results has no runs to continue (experiment.json is missing)" in nothing.stderr
    assert not (tmp_path / "results").exists()
    assert incfed(tmp_path, "run", "a.toml", "--jobs", "1").returncode == 0
    shutil.rmtree(tmp_path / "results/runs/paid/seed-1")
    assert "3 of 4 runs finished" in incfed(tmp_path, "show", "results").stderr
    on = incfed(tmp_path, "run", "a.toml", "--resume", "--jobs", "1")
    assert on.returncode == 0, on.stderr
    assert "3 of 4 runs already there" in on.stderr
    assert "| paid | 2 |" in on.stdout
    both = incfed(tmp_path, "run", "a.toml", "--resume", "--fresh")
    assert (both.returncode, both.stdout) == (2, "")
    assert "--resume and --fresh: got both" in both.stderr


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    invoke(tmp_path, "init", "study.toml")
    (tmp_path / "there").mkdir()
    with (tmp_path / "there/.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = invoke(tmp_path, "run", "study.toml", "--output", "there")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no other run is writing to" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_begins_with_a_verb() -> None:
    """Of every command and group, as in `Print the version.`"""
    nouns = {"The", "A", "An", "One", "What", "Who", "How", "Where", "Some", "All"}

    def first_words(command: Any, name: str) -> Iterator[tuple[str, str]]:
        yield name, (command.help or "").split()[0]
        for below, one in getattr(command, "commands", {}).items():
            yield from first_words(one, f"{name} {below}")

    found = dict(first_words(typer.main.get_command(app), "incfed"))
    assert {name: word for name, word in found.items() if word in nouns} == {}
    assert "incfed operator" in found


def test_show_compares_and_lists(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    (tmp_path / "b.toml").write_text(TOML.replace("steps = ", "steps = 1"))
    for name in "ab":
        assert invoke(tmp_path, "run", f"{name}.toml", "-o", name, "--seeds", "1").returncode == 0
    listed = invoke(tmp_path, "show", ".").stdout
    assert re.fullmatch(r"folder,kind,finished_runs\na,experiment,\d+\nb,experiment,\d+\n", listed)
    assert invoke(tmp_path, "show").stdout == listed
    both = invoke(tmp_path, "show", "a", "b").stdout
    labels = re.findall(r"^\| (\w): [^|]+\|", both, re.M)
    assert {"a", "b"} == set(labels)
    assert re.search(r"^Not the same: steps is 400 in a; 1,400 in b\.$", both, re.M)
    [first, second] = json.loads(invoke(tmp_path, "show", "a", "b", "--json").stdout)
    assert (first["folder"], second["folder"]) == ("a", "b")
    assert first["runs"][0]["steps"] != second["runs"][0]["steps"]
    one = tmp_path / "a/runs"
    run = next(path.parent for path in sorted(one.rglob("result.json")))
    [single] = json.loads(invoke(tmp_path, "show", str(run), "--json").stdout)
    assert len(single["runs"]) == 1
    refused = invoke(tmp_path, "show", "a", "nowhere")
    assert refused.returncode == 2
    assert "folder not found: nowhere. To list what there is here: incfed show" in refused.stderr
    assert invoke(tmp_path, "run", "b.toml", "-o", "a", "--seeds", "1").returncode == 0
    assert "\na/earlier/1,experiment," in invoke(tmp_path, "show").stdout


PAST = {
    "experiments/data/run-0.2.0": "experiment.json",
    "experiments/data/sweep-0.2.0": "cells.jsonl",
    "planning/data/plan-0.2.0": "plan.json",
    "results/data/result-0.2.0": "result.json",
}


def test_show_names_the_version_that_reads_a_folder(tmp_path: Path) -> None:
    for data, file in PAST.items():
        folder = copied(data, tmp_path / Path(data).name.removesuffix("-0.2.0")).name
        told = invoke(tmp_path, "show", folder)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr == f"error: {sentence(f'{folder}/{file}')}\n"
    before = contents(tmp_path)
    listed = invoke(tmp_path, "show")
    assert (listed.returncode, listed.stdout) == (0, "")
    assert listed.stderr.splitlines() == [
        sentence("plan/cells.jsonl"),
        sentence("run/earlier/1/experiment.json"),
        sentence("run/experiment.json"),
        sentence("sweep/cells.jsonl"),
    ]
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("command", "data"),
    [
        (("run", "a.toml"), "experiments/data/run-0.2.0"),
        (("run", "a.toml", "--resume"), "experiments/data/run-0.2.0"),
        (("run", "a.toml", "--dry-run"), "experiments/data/run-0.2.0"),
        (("sweep", "s.toml"), "experiments/data/sweep-0.2.0"),
        (("sweep", "s.toml", "--dry-run"), "experiments/data/sweep-0.2.0"),
        (("sweep", "s.toml", "--fresh"), "experiments/data/sweep-0.2.0"),
        (("reproduce", "table1"), "experiments/data/sweep-0.2.0"),
        (("demo", "--quick", "--fresh"), "experiments/data/run-0.2.0"),
    ],
)
def test_nothing_is_written_to_a_folder_of_an_earlier_version(
    tmp_path: Path, command: tuple[str, ...], data: str
) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    (tmp_path / "s.toml").write_text(TOML + '[sweep]\n"run.steps" = [10, 20]\n')
    output = copied(data, tmp_path / "old")
    before = contents(output)
    told = invoke(tmp_path, *command, "--output", "old")
    assert (told.returncode, told.stdout) == (2, "")
    said = f"output: .*{sentence(Path('old') / PAST[data])}; choose another folder"
    assert re.fullmatch(f"error: {said}\n", told.stderr)
    assert contents(output) == before


def test_show_opens_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def note(page: str) -> bool:
        opened.append(page)
        return True

    monkeypatch.setattr("webbrowser.open", note)
    (tmp_path / "report.html").write_text("page")
    assert invoke(tmp_path, "show", ".", "--open").returncode == 0
    assert opened == [(tmp_path / "report.html").as_uri()]
    (tmp_path / "report.html").unlink()
    assert "has no page to open" in invoke(tmp_path, "show", ".", "--open").stderr


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    said = invoke(tmp_path, "run", "a.toml", "--dry-run")
    assert (said.returncode, "to results (a new folder)" in said.stdout) == (0, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]
    (tmp_path / "a.toml").write_text(TOML.replace('kind = "Synthetic"', 'kind = "Synthetik"'))
    assert invoke(tmp_path, "run", "a.toml", "--dry-run").returncode == 2


@pytest.mark.parametrize(
    ("text", "command", "right"),
    [
        ("costs = 1\n[world]\nkind = 'Synthetic'", "run", "plan"),
        ("[[algorithm]]\nkind = 'Independent'", "plan", "run"),
        ("[sweep]\n'world.noise' = [1]", "run", "sweep"),
        ("[federation]\ndim = 3", "run", "serve --config"),
        ("[federation]\ndim = 3", "sweep", "serve --config"),
    ],
)
def test_a_config_of_another_command(tmp_path: Path, text: str, command: str, right: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    more = ("--minimize", "regret") if command == "plan" else ()
    said = invoke(tmp_path, command, "a.toml", *more)
    assert said.returncode == 2
    assert f"a.toml: is a config for another command: incfed {right} a.toml" in said.stderr


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "incfed", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == incfed(tmp_path, "--version").stdout
