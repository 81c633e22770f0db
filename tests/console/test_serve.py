"""`incfed console` on one's own machine."""

from __future__ import annotations

import getpass
import socket
import subprocess
from pathlib import Path
from typing import cast

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from incfed.console.serve import serve
from incfed.support.terminal import Terminal
from support.cli import INCFED
from support.console import small
from support.serving import serving


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((".", "--port", "99999"), "--port: got 99999, must be"),
        (("nowhere",), "FOLDER_OR_DATABASE_URL: got 'nowhere', must be a folder"),
        (("sqlite:///none.db",), "database not found: sqlite:///none.db"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], said: str) -> None:
    command = [*INCFED, "console", *arguments, "--no-open"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_it_listens_on_this_machine_only_and_needs_no_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    four = small(tmp_path / "books.db", rounds=1)
    apps: list[FastAPI] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        assert [one.getsockname()[0] for one in sockets] == ["127.0.0.1"]
        apps.append(cast(FastAPI, server.config.app))

    with monkeypatch.context() as patch:
        patch.setattr(uvicorn.Server, "run", run)
        serve(Terminal(), store=four.store, browser=False, view="runs?id=.")
    words = capsys.readouterr().err.split()
    assert any(one.endswith("/console/runs?id=.") for one in words)  # nothing sticks to the link
    with serving(apps[0]) as url:
        now, me = (httpx.get(f"{url}/console/api/{path}").json() for path in ("now", "me"))
    four.store.close()
    assert now["rounds"] == 1
    assert me == {"name": getpass.getuser(), "role": "operator", "revoked": False}
