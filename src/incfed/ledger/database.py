"""The database: a SQLite file, or PostgreSQL. `changes` reports what other processes changed:
PostgreSQL notifies, SQLite is polled."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from ..errors import InputError, refuse
from ..support.formats import check_format
from .migrations.versions.v0004 import revision as REVISION
from .tables import federation

MIGRATIONS = Path(__file__).parent / "migrations"
BUSY = 30.0  # seconds to wait for another process's transaction
CONNECT = 5  # seconds to wait for a server to answer
VERSIONS = "alembic_version"  # the table with the revision of the schema
CHANNEL = "incfed"  # of notifications (PostgreSQL)
POLL = 0.25  # seconds between looks at SQLite, and at whether to stop
RETRY = 1.0  # seconds before an unreachable database is tried again
LOCK = 41969  # of the advisory lock that processes take when they start (PostgreSQL)


DatabaseError = SQLAlchemyError  # whatever goes wrong with it


class Database:
    """Transactions over the database at `url`, whose schema is migrated to the latest. `new`: a
    missing file is created."""

    def __init__(self, url: str, *, new: bool = True) -> None:
        parsed = _parse(url)
        self.name = secrets.token_hex(8)  # of this process, to others over the same database
        self.sqlite = parsed.get_backend_name() == "sqlite"
        # SQLite has one writer, and those who wait sleep for too long: threads take turns here.
        self._turn: AbstractContextManager[Any] = threading.Lock() if self.sqlite else nullcontext()
        if self.sqlite:
            file = Path(parsed.database or "")
            if not new and (not file.exists() or file.stat().st_size == 0):
                raise _missing(url)
            check_file(file)  # opening it may change it
            _create_private(file)
        self.engine = _sqlite(parsed) if self.sqlite else _postgresql(parsed)
        weakref.finalize(self, self.engine.dispose)  # if nobody calls `close`
        try:
            self._migrate(new)
        except DBAPIError as error:
            self.engine.dispose()
            where = _shown(parsed)
            why = " ".join(str(error.orig).split())
            raise InputError(f"database: cannot open {where}: {why}") from None
        except InputError:
            self.engine.dispose()
            raise
        if self.sqlite:
            _keep_private(Path(parsed.database or ""))

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """An exclusive transaction: other writers wait for its end."""
        with self.touch() as connection:
            if not self.sqlite:
                _lock_row(connection)
            yield connection

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """An exclusive transaction that other processes are told of."""
        with self.write() as connection:
            yield connection
            notify(connection, self.name)

    @contextmanager
    def touch(self) -> Iterator[Connection]:
        """A transaction without the lock, for when clients were last seen."""
        with (
            self._turn,
            self.engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction over one snapshot."""
        level: Any = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**level) as connection, connection.begin():
            yield connection

    def _migrate(self, new: bool) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            if not self.sqlite:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
            names = inspect(connection).get_table_names()
            if not names and not new:
                raise _missing(self.engine.url.render_as_string())
            found = MigrationContext.configure(connection).get_current_heads()
            _check(_shown(self.engine.url), names, max(found, default=None))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors of the database into InputErrors."""
    try:
        yield
    except SQLAlchemyError as error:
        why = " ".join(str(getattr(error, "orig", None) or error).split())
        raise InputError(f"database: {why}") from None


def notify(connection: Connection, sender: str) -> None:
    """Notify the other processes, once this transaction is committed."""
    if connection.dialect.name == "postgresql":
        values = {"channel": CHANNEL, "sender": sender}
        connection.execute(text("SELECT pg_notify(:channel, :sender)"), values)


def changes(database: Database, stop: Callable[[], bool]) -> Iterator[None]:
    """Yields whenever another process has changed something; blocks meanwhile."""
    away = (SQLAlchemyError, database.engine.dialect.loaded_dbapi.Error)
    while not stop():
        try:
            yield from _poll(database, stop) if database.sqlite else _listen(database, stop)
        except away:  # requests report it
            time.sleep(RETRY)


def _poll(database: Database, stop: Callable[[], bool]) -> Iterator[None]:
    seen = None
    while not stop():
        with database.read() as connection:
            version = connection.scalar(select(federation.c.version))
        if version != seen:
            seen = version
            yield
        time.sleep(POLL)


def _listen(database: Database, stop: Callable[[], bool]) -> Iterator[None]:
    pooled = database.engine.raw_connection()
    listening: Any = pooled.driver_connection
    pooled.detach()  # it must not return to the pool
    try:
        listening.autocommit = True
        listening.execute(f"LISTEN {CHANNEL}")
        yield  # for what happened before
        while not stop():
            for word in listening.notifies(timeout=POLL, stop_after=1):
                if word.payload != database.name:
                    yield
    finally:
        listening.close()


def _create_private(file: Path) -> None:
    """Readable by its owner only: it has what clients shared and were paid. SQLite gives the files
    that it puts beside the database the same mode."""
    with suppress(OSError):  # it exists, or there is no such folder: opening it says more
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _keep_private(file: Path) -> None:
    """Also if a copy left it open to others."""
    for path in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        with suppress(OSError):
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)


def _check(database: str | Path, names: Collection[str], revision: str | None) -> None:
    """Refuse a database with tables of something else, or of another version of incfed."""
    others = set(names) - {VERSIONS}
    if others and not {VERSIONS, federation.name} <= set(names):
        found = f"of something else: it has a table {min(others)!r}"
        raise refuse("database", found, "incfed's own, or an empty one")
    if others or revision is not None:
        known = re.fullmatch("[0-9]{4}", revision or "")
        check_format(database, int(known[0]) if known else revision, int(REVISION))


def check_file(file: Path) -> None:
    """Refuse a SQLite file, which is only read, like `_check`.

    All of a young database is in the log beside the file. SQLite reads that only where it may
    write, so it gets a copy.
    """
    log = Path(f"{file}-wal")
    with suppress(sqlite3.Error, OSError):  # opening it says more
        if not file.is_file():
            return
        names, revision = _look(f"{file.absolute().as_uri()}?mode=ro&immutable=1")
        if not names and log.is_file():
            with tempfile.TemporaryDirectory(prefix="incfed-") as folder:
                copy, _ = (Path(shutil.copy(path, folder)) for path in (file, log))
                names, revision = _look(copy.as_uri())
        _check(file, names, revision)


def _look(address: str) -> tuple[list[str], str | None]:
    """The tables of a SQLite database, and the revision of their schema."""
    with closing(sqlite3.connect(address, uri=True)) as connection:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        names = [name for (name,) in connection.execute(tables)]
        if VERSIONS not in names:
            return names, None
        (revision,) = connection.execute(f"SELECT max(version_num) FROM {VERSIONS}").fetchone()
        return names, None if revision is None else str(revision)


def _shown(url: URL) -> str:
    """The address of a database, without the password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def _missing(url: str) -> InputError:
    return InputError(
        f"database not found: {url}. Create it with: incfed client enrol, or incfed serve"
    )


def _lock_row(connection: Connection) -> None:
    row = select(federation.c.id).with_for_update()
    if connection.scalar(row) is None:  # not founded yet: two processes may be about to
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        connection.execute(row)


def _parse(url: str) -> URL:
    allowed = "'sqlite:///file.db' or 'postgresql://user@host/database'"
    try:
        if "\0" in url:
            raise ArgumentError
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise refuse("database", "an invalid address", allowed) from None
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername != "sqlite" or parsed.database in (None, "", ":memory:"):
        raise refuse("database", parsed.render_as_string(hide_password=True), allowed)
    return parsed


# Errors go to logs, and values (what clients sent) must not.
POOL: dict[str, Any] = {"pool_size": 20, "max_overflow": 20, "hide_parameters": True}


def _postgresql(url: URL) -> Engine:
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(CONNECT)})
    return create_engine(url, pool_pre_ping=True, **POOL)


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY}, **POOL)

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves, see below
        cursor = connection.cursor()
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # IMMEDIATE takes the lock before the first read, so that nothing changes in between.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
