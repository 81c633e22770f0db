"""How to install what is missing: a command that works where this incfed came from."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from incfed.support import extras

ROOT = Path(__file__).parents[2]


def test_in_a_clone_it_is_installed_from_there() -> None:
    assert extras.install("plot") == f"pip install -e '{ROOT}[plot]'"


COMMIT = "0" * 40
VCS = {"vcs": "git", "commit_id": COMMIT}


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({}, "pip install 'incfed[plot,plan]'"),
        ({"url": "file:///not/there", "dir_info": {}}, "pip install 'incfed[plot,plan]'"),
        ({"url": ROOT.as_uri(), "dir_info": {}}, f"pip install '{ROOT}[plot,plan]'"),
        (
            {"url": "https://host/incfed.git", "vcs_info": VCS},
            f"pip install 'incfed[plot,plan] @ git+https://host/incfed.git@{COMMIT}'",
        ),
        (
            {"url": "https://host/incfed.whl", "archive_info": {}},
            "pip install 'incfed[plot,plan] @ https://host/incfed.whl'",
        ),
    ],
    ids=["index", "folder gone", "folder", "repository", "archive"],
)
def test_elsewhere_from_where_pip_took_it(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any], command: str
) -> None:
    monkeypatch.setattr(extras, "_source_tree", lambda: None)
    monkeypatch.setattr(extras, "_origin", lambda: origin)
    assert extras.install("plot", "plan") == command


def test_no_other_way_is_told() -> None:
    """Every hint in the package comes from there, and every extra it names exists."""
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    source = ROOT / "src/incfed"
    for file in sorted(source.rglob("*.py")):
        if file.name != "extras.py":
            assert "pip install" not in file.read_text(encoding="utf-8"), file
    assert {"plot", "pandas", "dask", "movielens", "plan", "client", "console", "service"} <= set(
        extra["optional-dependencies"]
    )
