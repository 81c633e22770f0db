"""The first schema."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
)

revision = "0001"
down_revision = None

SQLITE = """
CREATE TRIGGER {table}_{event} BEFORE {event} ON {table}
BEGIN SELECT RAISE(ABORT, '{table}: rows are only ever added'); END
"""
# INSERT OR REPLACE removes a row without a DELETE that a trigger sees.
SQLITE_REPLACE = """
CREATE TRIGGER {table}_REPLACE BEFORE INSERT ON {table}
WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})
BEGIN SELECT RAISE(ABORT, '{table}: rows are only ever added'); END
"""
FUNCTION = """
CREATE FUNCTION incfed_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '%: rows are only ever added', TG_TABLE_NAME; END $$
"""
POSTGRESQL = """
CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION incfed_append_only()
"""


def upgrade() -> None:
    op.create_table(
        "federation",
        Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        Column("name", Text, nullable=False),
        Column("settings", Integer, nullable=False),
        Column("version", BigInteger, nullable=False),
        Column("round", Integer, nullable=False),
        Column("epoch", Integer, nullable=False),
        Column("spent", Double, nullable=False),
    )
    op.create_table(
        "settings",
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("body", Text, nullable=False),
    )
    op.create_table(
        "clients",
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("name", Text, nullable=False, unique=True),
        Column("token", Text, nullable=False, unique=True),
        Column("revoked", Boolean, nullable=False),
        Column("barred", Integer, nullable=False),
    )
    op.create_table(
        "presence",
        Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
        Column("heard", Double),
    )
    op.create_table(
        "rounds",
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("stage", Text, nullable=False),
        Column("settings", Integer, ForeignKey("settings.number"), nullable=False),
        Column("epoch", Integer, nullable=False),
        Column("trigger", Integer, ForeignKey("clients.id"), nullable=False),
        Column("opened", Double, nullable=False),
        Column("deadline", Double),
        Column("attempt", Integer, nullable=False),
        Column("ended", Double),
    )
    op.create_table(
        "uploads",
        Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("epoch", Integer, nullable=False),
        Column("steps", BigInteger, nullable=False),
        Column("cost", Double, nullable=False),
        Column("form", Text, nullable=False),
        Column("numbers", LargeBinary),
        PrimaryKeyConstraint("round", "client"),
    )
    op.create_table(
        "offers",
        Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("payment", Double, nullable=False),
        Column("accepted", Boolean),
        Column("failed", Boolean, nullable=False),
        PrimaryKeyConstraint("round", "client"),
    )
    op.create_table(
        "deliveries",
        Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("db", LargeBinary),
        PrimaryKeyConstraint("round", "client"),
    )
    op.create_table(
        "epochs",
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("round", Integer, nullable=False),
        Column("V", LargeBinary),
        Column("b", LargeBinary),
    )
    op.create_table(
        "payments",
        Column("federation", Text, nullable=False),
        Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("epoch", Integer, nullable=False),
        Column("amount", Double, nullable=False),
        PrimaryKeyConstraint("federation", "round", "client"),
    )
    op.create_index("payments_of_client", "payments", ["client", "epoch"])
    op.create_table(
        "entries",
        Column("number", BigInteger, primary_key=True, autoincrement=False),
        Column("body", Text, nullable=False),
        Column("hash", Text, nullable=False),
    )
    if op.get_bind().dialect.name != "sqlite":
        op.execute(FUNCTION)
    append_only("entries", "number")
    append_only("payments", "federation", "round", "client")


def append_only(table: str, *key: str) -> None:
    """No program, this one included, changes or removes a row."""
    if op.get_bind().dialect.name == "sqlite":
        for event in ("UPDATE", "DELETE"):
            op.execute(SQLITE.format(table=table, event=event))
        same = " AND ".join(f"{name} = NEW.{name}" for name in key)
        op.execute(SQLITE_REPLACE.format(table=table, same=same))
    else:
        op.execute(POSTGRESQL.format(table=table))
