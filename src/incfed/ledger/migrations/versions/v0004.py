"""The whole schema. Databases of versions up to 0.2.0 have the revisions 0001 to 0003."""

from __future__ import annotations

from alembic import op

from incfed.ledger import tables

revision = "0004"
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
    """The first change of the tables has to write down here what they are now, and to be a revision
    of its own: a test compares."""
    tables.metadata.create_all(op.get_bind())
    if op.get_bind().dialect.name != "sqlite":
        op.execute(FUNCTION)
    for table in tables.APPEND_ONLY:
        append_only(table, *(column.name for column in tables.metadata.tables[table].primary_key))


def append_only(table: str, *key: str) -> None:
    """No program, this one included, changes or removes a row."""
    if op.get_bind().dialect.name == "sqlite":
        for event in ("UPDATE", "DELETE"):
            op.execute(SQLITE.format(table=table, event=event))
        same = " AND ".join(f"{name} = NEW.{name}" for name in key)
        op.execute(SQLITE_REPLACE.format(table=table, same=same))
    else:
        op.execute(POSTGRESQL.format(table=table))
