"""The README and the docs say what is so: their code runs, their output is compared, their configs
are read, and the files, functions and commands that they name exist."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

import hooks
import incfed
from generate import files
from incfed.cli.commands import app
from incfed.experiments import Recipe, build
from incfed.experiments.engine import Local, run_cells
from incfed.experiments.paper import document
from incfed.experiments.paper.settings import Mode, cell
from incfed.experiments.paper.tables import TABLES
from incfed.experiments.paper.verdicts import judge
from incfed.experiments.sweeps import build_sweep
from incfed.planning.case import build_case
from incfed.results import ComparisonRow, compare, markdown
from incfed.results.membership import membership_table, memberships
from support.docs import ROOT, blocks
from support.movielens import Sample

README = "README.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
OUTPUTS = ("plots/", "figures/", "site/", "dist/")  # named in the docs, made by a run
GENERATED = {ROOT.resolve() / "docs" / name for name in hooks.PAGES}
SOURCE = "\n".join(file.read_text() for file in (ROOT / "src/incfed").rglob("*.py"))


def play(page: str) -> dict[str, Any]:
    """Run a page's Python in one go, in the present folder; a block that begins with the name of a
    file is a file. Whatever is printed must be shown, and the other way round. Returns its
    names."""
    scope: dict[str, Any] = {}
    for block in blocks(page, "python"):
        if name := re.match(r"# (\w+\.py)\n", block.code):
            Path(name[1]).write_text(block.code, encoding="utf-8")
        code = "\n" * (block.line - 1) + block.code  # so that an error names the page's line
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, page, "exec"), scope)
        assert printed.getvalue() == block.output, f"{page}, line {block.line}"
    return scope


def test_there_is_something_to_test() -> None:
    assert len(blocks("README.md", "python")) == 1
    assert blocks("README.md", "python")[0].output.count("\n") == 3
    assert len(blocks("docs/mechanisms.md", "python")) == 6
    assert len(blocks("docs/configuration.md", "toml")) == 2


@pytest.mark.parametrize("page", [name for name in NAMES if name != README])
def test_code_runs_and_prints_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    if page == "docs/movielens.md":  # stands in for a download
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        Sample(users=4, movies=2500).write(tmp_path / "ml-latest-small")
    before = set(sys.modules)
    try:
        play(page)
        # What a config leaves out, and what its neighbour made above, are there.
        whole = {
            "run": {"steps": 100},
            "world": {"kind": "Synthetic"},
            "algorithm": [{"kind": "Independent"}],
        }
        for block in blocks(page, "toml"):
            tables = tomllib.loads(block.code)
            recipe = Recipe({**whole, **tables}, tmp_path, f"line {block.line}")
            if "costs" in tables:  # a case for `incfed plan`
                build_case(Recipe(tables, tmp_path, recipe.name))
            elif "sweep" in recipe.tables:
                build_sweep(recipe)
            else:
                build(recipe)
    finally:
        for name in set(sys.modules) - before:  # a page's own modules are not the next page's
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def test_the_readme_makes_its_picture_and_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its Python; its config, for `incfed run`, describes the same runs."""
    monkeypatch.chdir(tmp_path)
    scope = play(README)
    check_table(scope["comparison"].rows, README, "payment", "participation")
    picture = (ROOT / "docs/images/sharing.png").read_bytes()
    assert Path("sharing.png").read_bytes()[:24] == picture[:24]  # a PNG of the same size
    tables = tomllib.loads((ROOT / "docs/images/sharing.toml").read_text())
    experiment = build(Recipe(tables, ROOT, "sharing.toml"))
    assert (experiment.steps, experiment.seeds) == (5000, (0, 1, 2, 3, 4))
    assert experiment.world == scope["world"]
    size = {"steps": 5000, "clients": 50, "dim": 25}
    by_python = {label: one.for_run(**size) for label, one in scope["algorithms"].items()}
    assert experiment.algorithms == by_python


def test_the_table_beside_the_picture_of_protocols() -> None:
    """Seeds 0 to 4 again: the page shows what its config gives."""
    rows = compare(run_config("protocols.toml"))
    check_table(rows, "docs/protocols.md", "packed", "payment")


def check_table(rows: Sequence[ComparisonRow], page: str, *more: str) -> None:
    columns = ("regret", "communication", *more)
    lines = [
        f"| {' | '.join([r.label, *(str(getattr(r, name)) for name in columns)])} |\n" for r in rows
    ]
    assert "".join(lines) in (ROOT / page).read_text(encoding="utf-8")


def test_the_table_of_trust_beside_the_picture() -> None:
    tables = tomllib.loads((ROOT / "docs/images/trust.toml").read_text())
    spreads = tables["sweep"]["world.spread"]
    regrets: dict[str, list[str]] = {}
    for spread in spreads:
        tables["world"]["spread"] = spread
        for row in compare(run_tables({**tables, "sweep": None}, "trust.toml")):
            regrets.setdefault(row.label, []).append(f"{row.regret.mean:.0f}")
    rows = [f"| {' | '.join([label, *figures])} |\n" for label, figures in regrets.items()]
    assert "".join(rows) in (ROOT / "docs/trust.md").read_text(encoding="utf-8")


def run_config(config: str) -> dict[str, list[incfed.Result]]:
    return run_tables(tomllib.loads((ROOT / "docs/images" / config).read_text()), config)


def run_tables(tables: dict[str, Any], name: str) -> dict[str, list[incfed.Result]]:
    kept = {key: table for key, table in tables.items() if table is not None}
    experiment = build(Recipe(kept, ROOT, name))
    assert experiment.seeds == (0, 1, 2, 3, 4)
    return {
        label: [
            incfed.simulate(experiment.world, algorithm, steps=experiment.steps, seed=seed)
            for seed in experiment.seeds
        ]
        for label, algorithm in experiment.algorithms.items()
    }


def test_who_is_better_off_beside_the_picture() -> None:
    found = memberships(run_config("members.toml"))
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    assert markdown.render_table(membership_table(found)) in page
    paper = found[0]
    losers = sorted(client for client, _, _ in paper.losers())
    assert losers == list(range(6))
    steps = np.sum([one.steps for one in paper.gains], axis=0)
    share = 100 * steps[losers].sum() / steps.sum()
    assert f"clients 0 to 5, with {share:.0f} % of the steps" in page


def test_the_paper_run_again() -> None:
    """Ten seeds of the four settings that the README shows, as published."""
    places = [("table1", "100", beta) for beta in ("1", "0.7", "0.3")] + [
        ("table5", "theory", "0.7")
    ]
    mode = Mode()
    rows = []
    for name, block, column in places:
        table = TABLES[name]
        setting = table.setting(block, column)
        cells = [cell(setting, seed, mode) for seed in range(10)]
        records = run_cells(cells, executor=Local(1)).records
        found = judge(table, {setting: records}, mode)
        place = document.place(table, found[0]).removesuffix(", regret")
        pairs = " | ".join(f"{document.published(one)} | {one.ours}" for one in found)
        rows.append(f"| {name.replace('table', 'Table ')}, {place} | {pairs} |\n")
    assert "".join(rows) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_refusal_is_worded_as_shown() -> None:
    tables = tomllib.loads(blocks("docs/configuration.md", "toml")[0].code)
    tables["algorithm"][0]["mechanism"]["beta"] = 1.7
    with pytest.raises(incfed.InputError) as refused:
        build(Recipe(tables, name="study.toml"))
    [console] = blocks("docs/configuration.md", "console")
    assert console.code.splitlines()[1] == f"error: {refused.value}"


@pytest.mark.parametrize("page", NAMES)
def test_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        if not link.startswith("https://"):
            path, _, heading = link.partition("#")
            target = ((ROOT / page).parent / path if path else ROOT / page).resolve()
            if target in GENERATED:  # made when the site is built, which checks it
                continue
            assert target.exists(), link
            if heading:
                text = target.read_text(encoding="utf-8")
                titles = re.findall(r"(?m)^#+ (.*)", text)
                slugs = [re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in titles]
                assert heading in [*slugs, *re.findall(r'<a id="([^"]+)">', text)], link


@pytest.mark.parametrize("page", NAMES)
def test_commands_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text())
    for target in re.findall(r"(?m)(?:^|`)make ([a-z]+)", text):
        assert target in targets, target
    command: Any = get_command(app)
    for line in re.findall(r"(?m)(?:^(?:\$ )?|`(?:\.venv/bin/)?)incfed ([a-z]+\b[^`#\n]*)", text):
        name, *options = shlex.split(line)
        if options:  # parsed, not carried out; click complains about what it does not know
            command.commands[name].make_context(name, options)
        assert name in command.commands, line


def test_files_and_names_exist() -> None:
    """What the docs call by name is still called so."""
    for page in NAMES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for path in re.findall(r"`((?:[a-z_]+/)+[a-z_]*\.?[a-z]*)`", text):
            places = (ROOT / path, ROOT / "src" / path, ROOT / "src/incfed" / path)
            assert path in OUTPUTS or any(place.exists() for place in places), (page, path)
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(?:\w+\.)?(\w+)(?:\([\w, ]*\)|\[0\])?`", text):
        assert re.search(rf"\b{name}\b", SOURCE), name


def test_every_reading_is_explained() -> None:
    """The code says "reading 7"; the docs say what that is."""
    table = (ROOT / "docs/paper.md").read_text(encoding="utf-8")
    explained = re.findall(r"(?m)^\| (\d+) \|", table)
    assert explained == [str(n) for n in range(1, 17)]
    found = set(re.findall(r"(?i)\breading (\d+)", SOURCE))
    assert len(found) > 5
    assert found <= set(explained)


def test_what_is_said_of_the_paper_can_be_looked_up() -> None:
    """By users, too: numbers as printed, and no word of papers that only we have."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "tests").glob("*.py")]
    pages += (path for path in (ROOT / "src").rglob("*.py") if path.parent.name != "kernels")
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert "READ" + "ING" not in text, path
        for line in text.splitlines():
            if "data incentive" in line.lower() or "I^d_i(S) of" in line:
                assert "Eq. 3" not in line, (path, line)
            for last in re.findall(r"Alg(?:\.|orithm) 1 \(?lines? (?:[\d, -]+-)?(\d+)", line):
                assert int(last) <= 19, (path, line)


def test_the_list_of_files_says_what_each_is_about() -> None:
    listed = {
        name: about for room in files.rooms() for name, about in files.described(room).items()
    }
    source = ROOT / "src/incfed"
    for file in source.rglob("*.py"):
        name = file.relative_to(source).as_posix()
        if file.name != "__init__.py" and "migrations" not in name and name.count("/") <= 1:
            assert listed.pop(name).endswith((".", "?")), name
    assert files.files_page().count("| `protocol/client.py` |") == 1


def test_the_picture_of_the_rooms_has_them_all() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    drawn = re.findall(r"<!-- (\w+) -->", (ROOT / "docs/images/rooms.svg").read_text())
    assert drawn == [layer for layer in layers if (ROOT / "src/incfed" / layer).is_dir()]


def test_the_tests_that_pages_name_exist() -> None:
    named = 0
    for page in PAGES:
        for found in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text("utf-8")):
            file, test = found
            source = (ROOT / file).read_text(encoding="utf-8")
            assert not test or f"def {test}(" in source, f"{page.name}: {file}::{test}"
            named += 1
    assert named > 20
