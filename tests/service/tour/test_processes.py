"""The processes of `incfed up`: killed, deaf, or gone by themselves; and where they may live."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

import incfed
from incfed.service.tour import tour as tours
from incfed.service.tour.folder import TourFolder, find_folder
from incfed.service.tour.options import TourOptions
from incfed.service.tour.processes import ChildProcess
from incfed.service.tour.tour import Tour


def test_a_child_that_does_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it says on the way is in its log."""
    (tmp_path / "deaf.py").write_text(
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    log = tmp_path / "log"
    child = ChildProcess("deaf", ["deaf"], log)
    child.start(0.0)
    while log.read_text() != "deaf\n":
        assert child.exit_code() is None, log.read_text()
        time.sleep(0.01)
    pid = child.pid
    child.stop(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_keeps_failing_is_not_restarted(tmp_path: Path) -> None:
    """By itself; whoever was killed can be killed a few times more."""
    child = ChildProcess("it", ["this"], tmp_path / "log")
    assert [child.keeps_failing(1, 1.0) for _ in range(3)] == [False, False, True]
    assert not child.keeps_failing(1, 100.0)
    assert [child.keeps_failing(-9, 1.0) for _ in range(10)] == [False] * 9 + [True]
    assert not child.keeps_failing(-9, 100.0)
    assert not child.keeps_failing(0, 1.0)


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
    port = tours._find_port(None)
    (tmp_path / "coordinator_like.py").write_text(SERVES.format(end=end, port=port))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr(tours, "_warm_up", lambda options: None)
    options = TourOptions(clients=1)
    folder = TourFolder(options, find_folder(tmp_path / "tour"), port)
    tour = Tour(options, folder, port, ["coordinator_like"])
    tour.clients = []
    try:
        if lives == 1:
            with pytest.raises(incfed.InputError, match="stops right after its start"):
                tour.start()
        else:
            tour.start()
            assert [line[:38] for line in tour.state.messages[:2]] == [
                "the coordinator died (signal 9); every"
            ] * 2
    finally:
        tour.stop()
        folder.close()
    assert len((folder.path / "lives").read_text()) == lives


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()  # of a tour that was killed before it began
    assert find_folder(tmp_path) == tmp_path
    for name in "dcba":
        (tmp_path / name).touch()
    with pytest.raises(incfed.InputError, match=r"--output: got .* it has a, b, c, \.\.\.$"):
        find_folder(tmp_path)
    (tmp_path / "tour.json").touch()
    assert find_folder(tmp_path) == tmp_path
