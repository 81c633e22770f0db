"""Guards: the triggers and constraints of the database, compared with those that incfed made. A
trigger of the right name that does nothing guards nothing, so their text is read, too."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CheckConstraint, Connection, Table, UniqueConstraint, inspect, text

from . import tables
from .migrations.versions import v0004

PAID = ("federation", "round", "client")
KEYS = {"entries": ("number",), "payments": PAID, "payouts": PAID}
FUNCTION = "incfed_append_only"
BEFORE_CHANGE = 2 | 8 | 16 | 32  # PostgreSQL's bits: before delete, update, truncate; a statement
SQLITE_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
HERE = "n.nspname = current_schema()"
POSTGRESQL_TRIGGERS = f"""
SELECT t.tgname AS name, c.relname AS table, t.tgtype AS type, t.tgenabled AS enabled,
       t.tgqual IS NULL AND t.tgattr::text = '' AS always, t.tgisinternal AS internal,
       p.proname AS function, p.prosrc AS source
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_proc p ON p.oid = t.tgfoid WHERE {HERE}
"""
POSTGRESQL_RULES = "SELECT rulename FROM pg_rules WHERE schemaname = current_schema()"


def broken_guards(connection: Connection) -> list[str]:
    """List each guard that is missing, switched off, or not as incfed made it."""
    sqlite = connection.dialect.name == "sqlite"
    found = _sqlite(connection) if sqlite else _postgresql(connection)
    there = set(inspect(connection).get_table_names())
    for name, table in tables.metadata.tables.items():
        if name not in there:
            found.append(f"the table {name} is missing")
        elif _reflected(connection, name) != _declared(table):
            found.append(f"the constraints of {name} are not those that incfed made")
    return found


def _sqlite(connection: Connection) -> list[str]:
    expected = {}
    for table in tables.APPEND_ONLY:
        for event in ("UPDATE", "DELETE"):
            expected[f"{table}_{event}"] = v0004.SQLITE.format(table=table, event=event)
        same = " AND ".join(f"{name} = NEW.{name}" for name in KEYS[table])
        expected[f"{table}_REPLACE"] = v0004.SQLITE_REPLACE.format(table=table, same=same)
    there = {row.name: row.sql for row in connection.execute(text(SQLITE_TRIGGERS))}
    found = [f"the trigger {name} is missing" for name in expected if name not in there]
    for name, sql in there.items():
        if name not in expected:
            found.append(f"the trigger {name} was not made by incfed")
        elif _words(sql) != _words(expected[name]):
            found.append(f"the trigger {name} is not what incfed made")
    return found


def _postgresql(connection: Connection) -> list[str]:
    rows = connection.execute(text(POSTGRESQL_TRIGGERS)).all()
    own = {row.name: row for row in rows if not row.internal}
    body = _words(v0004.FUNCTION.split("$$")[1])
    found = []
    for table in tables.APPEND_ONLY:
        name = f"{table}_append_only"
        row = own.pop(name, None)
        if row is None:
            found.append(f"the trigger {name} is missing")
            continue
        made = row.table == table and row.type == BEFORE_CHANGE and row.always
        if not made or row.function != FUNCTION or _words(row.source) != body:
            found.append(f"the trigger {name} is not what incfed made")
    found += [f"the trigger {name} was not made by incfed" for name in own]
    names = tables.metadata.tables
    found += [
        f"the trigger {row.name} of {row.table} is switched off"
        for row in rows
        if _enabled(row.enabled) not in ("O", "A") and row.table in names
    ]
    rules = connection.scalars(text(POSTGRESQL_RULES))
    return found + [f"the rule {name} was not made by incfed" for name in rules]


def _enabled(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _declared(table: Table) -> dict[str, Any]:
    return {
        "primary": sorted(column.name for column in table.primary_key.columns),
        "required": sorted(column.name for column in table.columns if not column.nullable),
        "references": sorted(
            (reference.column_keys, reference.referred_table.name)
            for reference in table.foreign_key_constraints
        ),
        "unique": sorted(
            [column.name for column in constraint.columns]
            for constraint in table.constraints
            if isinstance(constraint, UniqueConstraint)
        ),
        "checks": sorted(
            _condition(str(constraint.sqltext))
            for part in (table, *table.columns)
            for constraint in part.constraints
            if isinstance(constraint, CheckConstraint)
        ),
    }


def _reflected(connection: Connection, name: str) -> dict[str, Any]:
    reader = inspect(connection)
    return {
        "primary": sorted(reader.get_pk_constraint(name)["constrained_columns"]),
        "required": sorted(
            column["name"] for column in reader.get_columns(name) if not column["nullable"]
        ),
        "references": sorted(
            (reference["constrained_columns"], reference["referred_table"])
            for reference in reader.get_foreign_keys(name)
        ),
        "unique": sorted(
            constraint["column_names"] for constraint in reader.get_unique_constraints(name)
        ),
        "checks": sorted(
            _condition(constraint["sqltext"]) for constraint in reader.get_check_constraints(name)
        ),
    }


def _words(sql: str | None) -> str:
    return " ".join((sql or "").split())


def _condition(sql: str) -> str:
    return _words(sql.replace("(", " ").replace(")", " "))
