"""The processes of `incfed up`: killed, deaf, or gone by themselves; and where they may live."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.service.tour import tour as tours
from incfed.service.tour.child import Child
from incfed.service.tour.folder import find, furnish
from incfed.service.tour.plan import Plan
from incfed.service.tour.story import Story
from incfed.service.tour.tour import Tour


def test_a_child_that_does_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it says on the way is heard; half a line is not."""
    (tmp_path / "deaf.py").write_text(
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('{\"a\": 1}\\n{', end='', flush=True)\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    heard: list[dict[str, Any]] = []
    child = Child("deaf", ["deaf"], tmp_path / "log", heard.append)
    child.start(0.0)
    while not heard:
        assert child.died() is None, (tmp_path / "log").read_text()
        time.sleep(0.01)
    pid = child.pid
    child.end(0.1)
    assert heard == [{"a": 1}]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_who_dies_young_too_often_is_given_up(tmp_path: Path) -> None:
    """By itself; whoever was killed can be killed a few times more."""
    child = Child("it", ["this"], tmp_path / "log", lambda said: None)
    assert [child.hopeless(1, 1.0) for _ in range(3)] == [False, False, True]
    assert not child.hopeless(1, 100.0)
    assert [child.hopeless(-9, 1.0) for _ in range(10)] == [False] * 9 + [True]
    assert not child.hopeless(-9, 100.0)
    assert not child.hopeless(0, 1.0)


SERVES = """
import os, pathlib, signal, socket, sys
lives = pathlib.Path(sys.argv[1]).with_name("lives")
lives.write_text(lives.read_text() + "." if lives.exists() else ".")
if len(lives.read_text()) < 3:
    {end}
socket.create_server(("127.0.0.1", {port})).accept()
"""


@pytest.mark.parametrize(
    ("end", "lives"), [("os.kill(os.getpid(), signal.SIGKILL)", 3), ("sys.exit(2)", 1)]
)
def test_a_coordinator_that_is_killed_while_it_starts(
    end: str, lives: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is started again; one that gives up by itself is not."""
    port = tours._port(None)
    (tmp_path / "coordinator_like.py").write_text(SERVES.format(end=end, port=port))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr(tours, "_warm_up", lambda plan: None)
    plan = Plan(clients=1)
    folder, story = furnish(plan, find(tmp_path / "tour"), port), Story(plan)
    tour = Tour(plan, folder, port, ["coordinator_like"], story)
    tour.members = []
    try:
        if lives == 1:
            with pytest.raises(incfed.InputError, match="ends as soon as it is started"):
                tour.open()
        else:
            tour.open()
            assert [line[:38] for line in story.words[:2]] == [
                "the coordinator died (signal 9); all t"
            ] * 2
    finally:
        tour.close()
    assert len((folder.path / "lives").read_text()) == lives
