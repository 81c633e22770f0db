"""`incfed up` with real processes: killed, gone on with, interrupted; and what it refuses."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from incfed.support.extras import install
from incfed.support.locks import Lock, Locked
from support.cli import INCFED, invoke

UP = ["up", "--clients", "1", "--pace", "60", "--seconds", "100"]


CLOSED = r"^Round \d+: .* shared for "


class Tour:
    """A tour without a terminal; its output up to a line that matches."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [*INCFED, *UP, "-o", str(folder)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.said: list[str] = []

    def until(self, pattern: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if re.search(pattern, line):
                return
        raise AssertionError("".join(self.said))

    def children(self) -> dict[str, int]:
        """What each runs, and its process id."""
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
        mine = [row for row in rows if row[1] == str(self.process.pid)]
        return {row[2]: int(row[0]) for row in mine}


@contextmanager
def up(folder: Path) -> Iterator[Tour]:
    tour = Tour(folder)
    with tour.process:
        try:
            yield tour
        finally:
            tour.process.kill()


def gone(folder: Path, port: int) -> bool:
    """Does nobody hold the client's folder, nor listen?"""
    try:
        Lock(folder / "clients" / "shop-1" / "state" / "lock").release()
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except ConnectionRefusedError:
        return True
    except Locked:
        pass
    return False


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9 and ps")
def test_killed_gone_on_with_and_interrupted(tmp_path: Path) -> None:
    folder = tmp_path / "tour"
    with up(folder) as first:
        first.until(CLOSED)
        port = int(re.findall(r"port = (\d+)", (folder / "federation.toml").read_text())[0])
        assert len(first.children()) == 2
        assert not gone(folder, port)
        first.process.kill()  # -9: its children have to notice by themselves
    end = time.monotonic() + 30.0
    while not gone(folder, port):
        assert time.monotonic() < end, "left behind"
        time.sleep(0.05)

    with up(folder) as second:
        second.until("continues where it stopped")
        second.until(CLOSED)
        [victim] = [pid for args, pid in second.children().items() if "shop-1" in args]
        os.kill(victim, signal.SIGKILL)
        second.until(r"^shop-1 died \(signal 9\); everything is on disk, so it is restarted")
        second.until(CLOSED)
        children = second.children()
        second.process.send_signal(signal.SIGINT)
        rest, _ = second.process.communicate(timeout=60)
    assert second.process.returncode == 0, rest
    assert re.search(r"^Stopped: ", rest, re.M)
    audited = re.search(r"^Audit: [\d,]+ entries, (\d+) rounds closed, .*: clean\.$", rest, re.M)
    assert audited, rest
    assert int(audited[1]) >= 3
    assert re.search(rf"^In total: [\d,]+ steps, {audited[1]} rounds, ", rest, re.M)
    assert "Traceback" not in rest
    for pid in children.values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    advice = re.findall(r"(?m)^  incfed (.*?)(?:   .*)?$", rest)
    assert len(advice) == 4
    done = invoke(Path(), *advice[0].split())  # where the tour was started
    assert (done.returncode, "clean" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--clients 0", "--clients: got 0, must be a whole number from 1 to 40"),
        ("--seconds nan", "--seconds: got nan"),
        ("--steps 0", "--steps: got 0"),
        ("--pace 0", "--pace: got 0.0"),
        ("--mechanism Mine", "--mechanism: got 'Mine', must be one of 'BudgetFeasible'"),
        ("--beta 2", "--beta: got 2.0"),
        ("--mechanism PaymentFree --beta 0.5", "--beta: got 0.5, must be left out"),
        ("--threshold -1", "--threshold: got -1.0"),
        ("--cost -1", "--cost: got -1.0"),
        ("--budget inf", "--budget: got inf"),
        ("--seed -1", "--seed: got -1"),
        ("--port 0", "--port: got 0"),
        ("--port 70000", "--port: got 70000"),
        ("--port TAKEN", "must be a free port (address already in use)"),
        ("-o FILE", "output: got"),
        ("-o OTHER", "a new or empty folder, or one of an earlier tour: it has file, notes"),
    ],
)
def test_bad_flags(arguments: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "notes").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = {"TAKEN": port, "FILE": str(tmp_path / "file"), "OTHER": str(tmp_path)}
        given = [words.get(word, word) for word in arguments.split()]
        done = invoke(tmp_path, "up", "--steps", "1", *given)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr.replace("\n", " ")
    assert not list(tmp_path.glob("**/federation.db"))


@pytest.mark.parametrize("package", ["httpx", "sqlalchemy", "uvicorn"])
def test_without_the_extras(package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from incfed.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "up"], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"{package}: is missing" in done.stderr
    assert install("service", "client") in done.stderr.replace("\n", " ")
