"""A PostgreSQL of the tests' own, in a temporary folder, run by somebody without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest


def _programs() -> Path | None:
    """The newest installed server; Debian keeps it off the PATH."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = sorted(debian, key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0)
    if found:
        return found[-1].parent
    where = shutil.which("initdb")
    return None if where is None else Path(where).parent


def _stat(pid: int | str) -> list[str]:
    """State, parent and so on (Linux)."""
    with suppress(OSError):  # gone meanwhile
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ["X", "0"]


def _children(pid: int) -> list[int]:
    every = [path.name for path in Path("/proc").glob("[0-9]*")]
    return [int(one) for one in every if _stat(one)[1] == str(pid)]


def _lives(pid: int) -> bool:
    return _stat(pid)[0] not in "ZX"


class Postgres:
    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.user: str | None = None
        if os.geteuid() == 0:  # it refuses to run as root
            names = [one.pw_name for one in pwd.getpwall()]
            self.user = next(name for name in ("postgres", "nobody") if name in names)
            shutil.chown(folder, self.user)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", "incfed", "-A", "trust", "-N"],
            check=True, capture_output=True, user=self.user, cwd=folder,
        )  # fmt: skip

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self.programs / "postgres", "-D", self.folder / "data", "-p", str(self.port),
             "-h", "127.0.0.1", "-k", self.folder,
             "-c", "fsync=off"],  # nothing here cuts the power; kill -9 loses nothing by it
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=self.user, cwd=self.folder,
        )  # fmt: skip
        for _ in range(300):
            with suppress(psycopg.OperationalError):
                self._connect("postgres").close()
                return
            time.sleep(0.1)
        raise RuntimeError("PostgreSQL did not start")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Of the server alone: its children notice, and go."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def kill_all(self) -> None:
        """kill -9 of the server and of every process that it has started."""
        assert self._process is not None
        own = [*_children(self._process.pid), self._process.pid]
        for pid in own:
            with suppress(ProcessLookupError):  # a child that has ended meanwhile
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        while any(_lives(pid) for pid in own):  # it does not start while one holds its memory
            time.sleep(0.01)

    def database(self, name: str) -> str:
        """The URL of a new, empty database."""
        with self._connect("postgres") as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql://incfed@127.0.0.1:{self.port}/{name}"

    def _connect(self, name: str) -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="incfed", dbname=name, autocommit=True
        )


@contextmanager
def running() -> Iterator[Postgres]:
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="incfed-postgres-"))
    try:
        server = Postgres(programs, folder)
        server.start()
        try:
            yield server
        finally:
            server.kill(signal.SIGINT)  # a fast, orderly end
    finally:
        shutil.rmtree(folder, ignore_errors=True)
