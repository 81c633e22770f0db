"""The folder of a tour: an ordinary federation with its config, database and clients."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from ...errors import refuse
from ...ledger import clients, operators
from ...ledger.audit import AuditReport, audit
from ...ledger.chain import entries_after
from ...ledger.database import Database, check_file
from ...ledger.federation import create
from ...ledger.operators import OPERATOR
from ...rules.limits import NONE
from ...support.files import claim, write_text
from ...support.toml import toml
from .options import TourOptions

MARK = "tour.json"
LOCK = ".lock"  # of `alone_in`
CONFIG = """\
# Written by `incfed up`. Run it without the tour: incfed serve --config
[federation]
name = "{name}"
dim = {dim}
mechanism = {mechanism}
threshold = {threshold!r}     # D_c: how much a client learns before it asks for a round
budget = {budget!r}     # in total; once spent, rounds offer only data
noise = {noise!r}
arm_norm = {arm_norm!r}     # largest length of an arm
reward_bound = {reward_bound!r}     # largest size of a reward
upload_time = {upload_time!r}     # seconds
answer_time = {answer_time!r}
[federation.limits]     # what may be paid at most; "none": no limit but the budget
{limits}
[server]
database = "sqlite:///federation.db"
host = "127.0.0.1"
port = {port}
operator_port = {operator_port}     # /docs and /metrics
"""


def find_folder(path: Path | None) -> Path:
    """The folder, created if needed; None: a new temporary one, which is kept."""
    if path is None:
        return Path(tempfile.mkdtemp(prefix="incfed-up-"))
    claim(path, mark=MARK, ours=())
    others = sorted({one.name for one in path.iterdir()} - {LOCK})
    if others and not (path / MARK).exists():
        more = ", ..." if len(others) > 3 else ""
        allowed = "a new or empty folder, or one of an earlier tour"
        raise refuse("--output", str(path), f"{allowed}: it has {', '.join(others[:3])}{more}")
    return path


class TourFolder:
    """The config, the database and the clients' tokens, written here or by an earlier tour."""

    def __init__(self, options: TourOptions, path: Path, port: int, operator_port: int = 0) -> None:
        self.again = (path / MARK).exists()  # is there an earlier tour in it?
        fixed = {"clients": options.clients, "seed": options.seed}
        self.path = path.resolve()
        database = self.path / "federation.db"
        if self.again:
            check_file(database)  # before anything is written
            _check_same(path, fixed)
        write_text(path / MARK, json.dumps(fixed))
        self.config, self.log = self.path / "federation.toml", self.path / "coordinator.log"
        given = options.settings.body()
        given["mechanism"] = toml(given["mechanism"])
        limits = {key: NONE if one is None else one for key, one in given["limits"].items()}
        given["limits"] = "\n".join(f"{key} = {toml(one)}" for key, one in limits.items())
        write_text(self.config, CONFIG.format(**given, port=port, operator_port=operator_port))
        self._store = Database(f"sqlite:///{database}")
        self.token = self.path / "console-token"  # of the operator "tour"
        self._read = 0  # the number of the last entry
        with self._store.write() as connection:
            create(connection, options.settings, time.time())
            known = {one.name for one in clients.members(connection)}
            for name in options.names:
                if name not in known:
                    _, token = clients.enrol(connection, name, time.time())
                    _write_token(self.client(name) / "token", token)
            if not self.token.exists() and operators.find(connection, name="tour") is None:
                _write_token(self.token, operators.add(connection, "tour", OPERATOR, time.time()))

    def console(self, port: int) -> str:
        """The link to the console. The token is in the part that browsers do not send."""
        token = self.token.read_text(encoding="ascii") if self.token.exists() else ""
        return f"http://127.0.0.1:{port}/console/" + (f"#token={token}" if token else "")

    def close(self) -> None:
        self._store.close()

    def client(self, name: str) -> Path:
        return self.path / "clients" / name

    def new_entries(self) -> list[dict[str, Any]]:
        """The entries of the ledger since the last call; at first, all."""
        with self._store.read() as connection:
            found = entries_after(connection, self._read)
        self._read += len(found)
        return found

    def audit(self) -> AuditReport:
        with self._store.read() as connection:
            return audit(connection)


def _check_same(path: Path, fixed: dict[str, int]) -> None:
    try:
        found = json.loads((path / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise refuse("--output", str(path), "a new folder, or one of an earlier tour") from None
    for name, value in fixed.items():
        if found.get(name) != value:
            allowed = f"{found.get(name)}, as in {path}; for another value use a new folder"
            raise refuse(f"--{name}", value, allowed)


def _write_token(file: Path, token: str) -> None:
    """Readable by its owner only."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(token, encoding="ascii")
