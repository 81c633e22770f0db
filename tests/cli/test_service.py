"""A federation from the command line: real processes, real signals."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from support.cli import INCFED, incfed, invoke

TOML = """
[federation]
dim = 2
mechanism = { kind = "PaymentEfficient", beta = 0.7 }
threshold = 0.5
budget = 100.0
[server]
database = "sqlite:///books.db"
operator_port = 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "federation.toml").write_text(TOML)
    return tmp_path


Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(folder: Path) -> Here:
    """A command in this process, with some config: exit code, standard output and error."""

    def run(*arguments: str, config: str = TOML) -> tuple[int, str, str]:
        (folder / "federation.toml").write_text(config)
        done = invoke(folder, *arguments)
        return done.returncode, done.stdout, done.stderr

    return run


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A coordinator process and its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*INCFED, "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            try:
                httpx.get(f"{address}/healthz").raise_for_status()
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address, process
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def heard_of(folder: Path) -> int:
    """How many clients the coordinator has heard of."""
    with closing(sqlite3.connect(folder / "books.db")) as database:
        [count] = database.execute("SELECT count(heard) FROM presence").fetchone()
        return int(count)


def test_enrol_serve_stop_audit(folder: Path, here: Here) -> None:
    enrolled = incfed(folder, "client", "enrol", "shop 1")
    assert enrolled.returncode == 0, enrolled.stderr
    token = enrolled.stdout.strip()
    assert re.fullmatch(r"incfed_[\w-]{43}", token)
    assert here("client", "enrol", "shop 1")[:2] == (2, "")
    other = here("client", "enrol", "shop 2")[1].strip()
    with served(folder) as (address, process):
        headers = {"Authorization": f"Bearer {token}", "Incfed-Protocol": "1"}
        with httpx.Client(base_url=address, headers=headers, timeout=30.0) as http:
            assert http.get("/v1/federation").json()["client"]["name"] == "shop 1"
            assert http.post("/v1/rounds").json() == {"round": 1}
        # it stops at once, though somebody waits for news
        waiting = subprocess.Popen(
            [sys.executable, "-c", "import httpx, sys; print(httpx.get(sys.argv[1], headers={"
             "'Authorization': sys.argv[2], 'Incfed-Protocol': '1'}, timeout=60).status_code)",
             f"{address}/v1/state?after=99&wait=30", f"Bearer {other}"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        while heard_of(folder) < 2:  # until it is there
            assert waiting.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        assert process.returncode == 0, log
        assert waiting.communicate(timeout=60)[0] == "200\n"  # not cut off when patience ends
    lines = [json.loads(line) for line in log.splitlines()]
    assert any(line.get("event") == "opened" and line["round"] == 1 for line in lines)
    assert lines[-1]["message"] == "stopped"
    assert token not in log

    head = here("ledger", "head")[1]
    (folder / "head.json").write_text(head)
    clean = incfed(folder, "ledger", "audit", "--head", "head.json")
    assert (clean.returncode, "clean" in clean.stdout) == (0, True), clean.stderr
    kept = json.loads(head)
    (folder / "head.json").write_text(json.dumps({**kept, "hash": kept["hash"][::-1]}))
    status, said, why = here("ledger", "audit", "--head", "head.json")
    assert (status, "NOT CLEAN" in said, "kept head" in why) == (1, True, True)

    columns = "federation,round,closed,client,name,units,digits,amount,paid_out,paid_out_by\n"
    assert here("ledger", "export", "payments", "paid.csv")[0] == 0
    assert (folder / "paid.csv").read_text() == columns
    assert here("ledger", "export", "payments")[:2] == (0, columns)
    rounds = here("ledger", "export", "rounds")[1].splitlines()
    assert rounds[0].startswith("round,stage,opened,")
    assert rounds[1].startswith("1,")
    assert here("ledger", "export", "full", "all.jsonl")[0] == 0
    assert '"table"' in (folder / "all.jsonl").read_text()
    assert "file: is missing" in here("ledger", "export", "full")[2]
    assert "kind: got 'paid', must be one of" in here("ledger", "export", "paid")[2]
    assert here("ledger", "prune", "--before", "2000-01-01")[0] == 0
    assert here("ledger", "prune", "--before", "soon")[0] == 2
    status, _, why = here("client", "revoke", "shop 1")
    assert (status, "warning: the federation has 1 member: limits.least_sharers" in why) == (
        0,
        True,
    )
    listed = here("client", "list")[1]
    assert re.search(r"^0,shop 1,revoked,2\d{3}-.*,0,0\.00,0\.00$", listed, re.M)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dim = 2", "dim = 0", "federation.dim: got 0, must be a whole number from 1"),
        ("dim = 2", "", "federation.dim: is missing"),
        ("beta = 0.7", "beta = 7", "federation.mechanism.beta: got 7, must be"),
        ('"PaymentEfficient", beta = 0.7', '"Mine"', "federation.mechanism.kind: got 'Mine'"),
        ("budget = 100.0", "bugdet = 1.0", "federation.bugdet: got 1.0, but there is no such"),
        ("budget = 100.0", "budget = -1", "federation.budget: got -1, must be"),
        ("[server]", "[server]\nport = 70000", "server.port: got 70000, must be"),
        ("[server]", "[server]\nkey = 'no.pem'", "server.key: got"),
        ("sqlite:///books.db", "mysql://here", "database: got 'mysql://here', must be 'sqlite"),
        ("sqlite:///books.db", "sqlite:///no/such/books.db", "database not found: sqlite:"),
        ("[server]", "[serve]", "serve: got a table, but there is no such setting"),
    ],
)
def test_bad_configs_are_refused(here: Here, old: str, new: str, said: str) -> None:
    status, _, stderr = here("client", "list", config=TOML.replace(old, new))
    assert status == 2
    assert said in stderr.replace("\n", " ")


def test_what_did_not_start_has_not_stopped(here: Here) -> None:
    status, _, stderr = here("serve", "--port", "0", config=TOML.replace("budget = 100.0", ""))
    assert (status, "federation.budget: is missing" in stderr) == (2, True)
    assert "stopped" not in stderr


def test_settings_that_cannot_change(here: Here) -> None:
    assert here("client", "enrol", "a")[0] == 0
    status, _, stderr = here("serve", "--port", "0", config=TOML.replace("dim = 2", "dim = 3"))
    assert status == 2
    assert "dim: got 3, must be 2, as in the database" in stderr


@pytest.mark.parametrize(
    "command",
    [("ledger", "audit"), ("client", "enrol", "b"), ("ledger", "head"), ("serve", "--port", "0")],
)
def test_a_database_of_something_else_is_left_alone(
    folder: Path, here: Here, command: tuple[str, ...]
) -> None:
    with sqlite3.connect(folder / "books.db") as other:
        other.execute("CREATE TABLE music (title TEXT)")
    other.close()
    status, _, stderr = here(*command)
    assert status == 2
    assert "it has a table 'music'" in stderr.replace("\n", " ")
    with sqlite3.connect(folder / "books.db") as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("music",)]
    other.close()


@pytest.mark.parametrize("command", [("ledger", "audit"), ("client", "list"), ("ledger", "head")])
def test_a_damaged_database_is_said_in_a_line(
    folder: Path, here: Here, command: tuple[str, ...]
) -> None:
    assert here("client", "enrol", "a", config=TOML)[0] == 0
    with sqlite3.connect(folder / "books.db") as other:
        for table in ("entries", "clients"):
            other.execute(f"ALTER TABLE {table} RENAME TO {table}_gone")
    other.close()
    status, _, stderr = here(*command)
    assert status == 2
    assert stderr.startswith("error: database: no such table")
