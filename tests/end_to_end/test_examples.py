"""The scripts and notebooks of examples/ run, and the notebooks show what they give."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from generate.examples import examples_page
from support.docs import ROOT

FOLDER = ROOT / "examples"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
NOTEBOOKS = sorted(path.stem for path in (FOLDER / "notebooks").glob("*.ipynb"))
# The other two depend on what a search finds, and on when messages arrive.
EXACT = ("first_run", "own_mechanism")


def test_all_are_listed() -> None:
    listed = re.findall(r"\]\((\S+)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(Path(one).stem for one in listed if one.endswith(".py")) == SCRIPTS
    assert sorted(Path(one).stem for one in listed if one.endswith(".ipynb")) == NOTEBOOKS
    assert (len(SCRIPTS), len(NOTEBOOKS)) == (10, 4)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= 55, "short"


def printed(notebook: Any) -> list[str]:
    outputs = (one for cell in notebook["cells"] for one in cell.get("outputs", ()))
    return ["".join(one["text"]) for one in outputs if one["output_type"] == "stream"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_and_is_stored_with_its_output(name: str, tmp_path: Path) -> None:
    path = FOLDER / "notebooks" / f"{name}.ipynb"
    command = [sys.executable, FOLDER / "notebooks/run.py", name, "--into", tmp_path]
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    stored, found = (printed(json.loads(one.read_text())) for one in (path, tmp_path / path.name))
    assert len(found) == len(stored) > 0
    if name in EXACT:
        assert found == stored
    assert path.stat().st_size < 60_000, "small"


def test_the_first_run_shows_a_comparison_as_notebooks_do() -> None:
    """Tables and a curve, in the notebook and on the page of examples; ids are not drawn anew."""
    stored = (FOLDER / "notebooks/first_run.ipynb").read_text(encoding="utf-8")
    [shown] = [
        "".join(one["data"]["text/html"])
        for cell in json.loads(stored)["cells"]
        for one in cell.get("outputs", ())
        if "text/html" in one.get("data", {})
    ]
    assert shown.count("<table>") == 3
    assert shown.count("<svg") == 1
    assert set(re.findall(r"url\(#(cell-\d+)-", shown)) == {"cell-5"}
    assert shown.strip() in examples_page()


def test_a_mistake_is_named_as_the_text_says() -> None:
    stored = json.loads((FOLDER / "notebooks/own_mechanism.ipynb").read_text(encoding="utf-8"))
    assert any("not individually rational" in text for text in printed(stored))
