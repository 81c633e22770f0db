"""Databases and exports of other versions are refused in one sentence, and left as they were.

data/federation-0.2.0.db.gz and data/export-0.2.0.jsonl.gz were made with version 0.2.0, by
`support.federation.eventful` and `write_full`.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from incfed.errors import InputError
from incfed.ledger import tables
from incfed.ledger.database import Database
from incfed.ledger.full_export import reading, write_full
from incfed.support.formats import FormatError
from support.cli import invoke
from support.federation import eventful
from support.postgres import Postgres

DATA = Path(__file__).parent / "data"
CONFIG = """
[federation]
dim = 2
mechanism = "PayEveryone"
threshold = 1.0
budget = "none"
[server]
database = "sqlite:///federation.db"
port = 0
"""
SAID = "{}: has the format of incfed 0.2.0, which reads it; this version does not"
COMMANDS = (
    ("serve",),
    ("client", "enrol", "shop"),
    ("client", "list"),
    ("ledger", "audit"),
    ("ledger", "head"),
    ("ledger", "export", "payments"),
    ("ledger", "prune", "--before", "2030-01-01"),
    ("console", "sqlite:///federation.db"),
    ("operator", "list"),
)
USERS = "CREATE TABLE users (id INTEGER);"
ALEMBIC = f"{USERS} CREATE TABLE alembic_version (version_num VARCHAR);"
OTHERS = {  # databases of other programs
    "tables": USERS,
    "revision": f"{ALEMBIC} INSERT INTO alembic_version VALUES ('ae1027a6acf')",
    "our revision": f"{ALEMBIC} INSERT INTO alembic_version VALUES ('0004')",
    "no revision": ALEMBIC,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a database and an export of 0.2.0, and a config."""
    for name in ("federation.db", "export.jsonl"):
        stem, _, suffix = name.partition(".")
        packed = (DATA / f"{stem}-0.2.0.{suffix}.gz").read_bytes()
        (tmp_path / name).write_bytes(gzip.decompress(packed))
    (tmp_path / "federation.toml").write_text(CONFIG)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_earlier_database_is_refused_and_left_as_it_was(folder: Path) -> None:
    before, mode = contents(folder), (folder / "federation.db").stat()
    for new in (False, True):
        with pytest.raises(FormatError) as refused:
            Database(f"sqlite:///{folder / 'federation.db'}", new=new)
        assert str(refused.value) == SAID.format(folder / "federation.db")
    assert contents(folder) == before
    assert (folder / "federation.db").stat().st_mtime_ns == mode.st_mtime_ns


def test_also_if_its_coordinator_was_killed(tmp_path: Path) -> None:
    """Its last changes are then in a file beside it, here even the revision."""
    place, alive = tmp_path / "killed", tmp_path / "alive.db"
    place.mkdir()
    with closing(sqlite3.connect(alive)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('0003')")
        connection.commit()
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(f"{alive}{suffix}", place / f"federation.db{suffix}")
    files = [place / "federation.db", place / "federation.db-wal"]
    before = [file.read_bytes() for file in files]
    with pytest.raises(FormatError) as refused:
        Database(f"sqlite:///{files[0]}")
    assert str(refused.value) == SAID.format(files[0])
    assert [file.read_bytes() for file in files] == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_refuses_it(folder: Path, command: tuple[str, ...]) -> None:
    before = contents(folder)
    done = invoke(folder, *command)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "federation.db: has the format of incfed 0.2.0" in " ".join(done.stderr.split())
    assert contents(folder) == before


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    Database(f"sqlite:///{tmp_path / 'federation.db'}").close()
    with closing(sqlite3.connect(tmp_path / "federation.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0005'")
        connection.commit()
    before = contents(tmp_path)
    with pytest.raises(FormatError, match="has the format of a newer incfed, which reads it; this"):
        Database(f"sqlite:///{tmp_path / 'federation.db'}")
    assert contents(tmp_path) == before


def test_a_database_in_the_log_beside_its_file_is_refused_and_left_as_it_was(folder: Path) -> None:
    """As of a coordinator that was killed soon after it had made the database."""
    whole = folder / "federation.db"
    with closing(sqlite3.connect(folder / "young.db")) as young:
        young.execute("PRAGMA journal_mode = WAL")
        with closing(sqlite3.connect(whole)) as earlier:
            young.executescript("\n".join(earlier.iterdump()))
        whole.unlink()
        for suffix in ("", "-wal", "-shm"):
            (folder / f"federation.db{suffix}").write_bytes(
                (folder / f"young.db{suffix}").read_bytes()
            )
    before = contents(folder)
    with pytest.raises(FormatError) as refused:
        Database(f"sqlite:///{whole}")
    assert str(refused.value) == SAID.format(whole)
    assert contents(folder) == before


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("other", OTHERS)
def test_a_database_of_another_program_is_left_as_it_was(
    tmp_path: Path, other: str, new: bool
) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.executescript(OTHERS[other])
    before = contents(tmp_path)
    with pytest.raises(InputError, match="of something else: it has a table 'users'"):
        Database(f"sqlite:///{tmp_path / 'other.db'}", new=new)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("revision", ["4", "\u00b2", "9" * 5000, ""])
def test_a_revision_that_no_version_has_made_is_refused(tmp_path: Path, revision: str) -> None:
    Database(f"sqlite:///{tmp_path / 'federation.db'}").close()
    with closing(sqlite3.connect(tmp_path / "federation.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
        connection.commit()
    before = contents(tmp_path)
    with pytest.raises(FormatError, match="which reads it; this version does not"):
        Database(f"sqlite:///{tmp_path / 'federation.db'}")
    assert contents(tmp_path) == before


def test_a_file_without_tables_is_no_database_yet(tmp_path: Path) -> None:
    (tmp_path / "federation.db").touch()
    with pytest.raises(InputError, match="database not found"):
        Database(f"sqlite:///{tmp_path / 'federation.db'}", new=False)
    assert contents(tmp_path) == {"federation.db": b""}


@pytest.mark.parametrize(("revision", "said"), [("0003", "incfed 0.2.0"), ("0005", "a newer")])
def test_on_postgresql(postgres: Postgres, revision: str, said: str) -> None:
    url = postgres.database(f"version_{revision}")
    Database(url).close()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
    with pytest.raises(FormatError, match=f"has the format of {said}"):
        Database(url)
    with engine.begin() as connection:
        found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    engine.dispose()
    assert found == revision


def test_an_earlier_export_is_refused_and_left_as_it_was(folder: Path) -> None:
    before = contents(folder)
    with pytest.raises(FormatError) as refused, reading(folder / "export.jsonl"):
        pass
    assert str(refused.value) == SAID.format(folder / "export.jsonl")
    done = invoke(folder, "ledger", "audit", "--export", "export.jsonl")
    assert (done.returncode, SAID.format("export.jsonl") in done.stderr) == (2, True), done.stderr
    assert contents(folder) == before


def test_a_newer_export_is_refused(tmp_path: Path) -> None:
    federation = eventful(tmp_path / "ledger.db")
    with federation.store.read() as connection:
        write_full(connection, tmp_path / "export.jsonl")
    federation.store.close()
    first, *rows = (tmp_path / "export.jsonl").read_text().splitlines()
    newer = first.replace('"version": 2', '"version": 3').replace("0.3.0.dev0", "0.9.1")
    (tmp_path / "export.jsonl").write_text("\n".join([newer, *rows]) + "\n")
    with (
        pytest.raises(FormatError, match=r"has the format of incfed 0\.9\.1, which reads it"),
        reading(tmp_path / "export.jsonl"),
    ):
        pass


def test_the_tables_are_those_of_the_migration() -> None:
    """The migration makes whatever `tables` has. If this fails, they have changed: give the change
    a revision of its own, and write down in revision 0004 what it made."""
    said = [
        (table.name, column.name, type(column.type).__name__, column.nullable, column.primary_key,
         sorted(key.target_fullname for key in column.foreign_keys))
        for table in tables.metadata.sorted_tables
        for column in table.columns
    ]  # fmt: skip
    indexes = [
        (table.name, index.name, [column.name for column in index.columns])
        for table in tables.metadata.sorted_tables
        for index in table.indexes
    ]
    digest = hashlib.sha256(repr((sorted(said), sorted(indexes))).encode()).hexdigest()
    assert digest[:16] == "dcb9713a073d3734"
