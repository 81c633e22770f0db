"""What a release is checked for; the check itself is `make release`."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import incfed
from incfed.cli.base import app
from incfed.cli.commands import *  # noqa: F403

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check", ROOT / "release" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_tag_is_the_version_and_in_the_changelog(check: ModuleType) -> None:
    changelog = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-17\n"
    assert check.tag_faults("v0.2.0", "0.2.0", changelog) == []
    assert len(check.tag_faults("v0.2.1", "0.2.0", changelog)) == 1
    assert check.tag_faults("v0.3.0", "0.3.0", changelog) == ["CHANGELOG.md has no section [0.3.0]"]
    assert len(check.tag_faults("0.2", "0.2.1", "")) == 2
    assert check.version() == incfed.__version__


def test_the_readme_has_commands_to_run(check: ModuleType) -> None:
    text = (
        "```sh\nincfed plan a.toml --budget 3   # cheap\nmake demo\n```\n\n```text\nincfed x\n```\n"
    )
    assert list(check.readme_commands(text)) == [
        "incfed plan a.toml --budget 3 --trials 16 --held-out 2"
    ]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [*check.SESSION[1:], *check.readme_commands(readme)]
    assert len(commands) > len(check.SESSION) - 1
    known = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback}
    known |= {str(one.name) for one in app.registered_groups}
    assert {command.split()[1] for command in commands} <= known
    assert check.readme_python(readme)


def test_the_workflow_checks_every_python_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = [one.rpartition(" ")[2] for one in project["classifiers"] if ":: 3." in one]
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    matrices = re.findall(r"python: \[(.*)\]", workflow)
    assert matrices == [", ".join(f'"{one}"' for one in promised)] * 2
    assert project["requires-python"] == f">={promised[0]}"
    assert "id-token: write" in workflow
    assert "secrets." not in workflow  # trusted publishing needs none
