"""Protocols: what each client was given where downloads are one for one, what clients say between
rounds, and the scores of clients that find out how far to trust others. Money: minor units, and
what was paid out. Keys of clients, withdrawals, and what outages and twins need."""

from __future__ import annotations

import json

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
    column,
    select,
    table,
    text,
    update,
)

from incfed.ledger.migrations.versions.v0001 import append_only

revision = "0002"
down_revision = "0001"


def _client() -> Column[int]:
    return Column(
        "client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False
    )


def _add_past() -> None:
    """What each client was paid and has shared, and the highest price that it declared."""
    op.create_table(
        "past",
        _client(),
        Column("paid", Double, nullable=False),
        Column("price", Double),
        Column("steps", BigInteger, nullable=False),
    )
    shared = "FROM payments p JOIN uploads v ON v.round = p.round AND v.client = p.client "
    op.execute(
        "INSERT INTO past (client, paid, price, steps) "
        "SELECT u.client, "
        "  COALESCE((SELECT SUM(p.amount) FROM payments p WHERE p.client = u.client), 0), "
        "  MAX(u.cost), "
        f"  COALESCE((SELECT SUM(v.steps) {shared} WHERE p.client = u.client), 0) "
        "FROM uploads u JOIN rounds r ON r.number = u.round "
        "WHERE u.steps > 0 AND r.stage = 'closed' GROUP BY u.client"
    )


def _add_sketches() -> None:
    """By which resale is recognised; the coordinator adds those of old epochs when it starts."""
    op.create_table(
        "sketches",
        Column("epoch", Integer, primary_key=True, autoincrement=False),
        Column("numbers", LargeBinary, nullable=False),
    )


def upgrade() -> None:
    _add_past()
    _add_sketches()
    _outages()
    _enrolled()
    op.add_column("clients", Column("barred_until", Double))
    op.add_column("clients", Column("key", Text))
    op.create_table(
        "withdrawals",
        Column("epoch", Integer, primary_key=True, autoincrement=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("first", Integer, nullable=False),
        Column("last", Integer, nullable=False),
    )
    op.create_table("grants", _client(), Column("epoch", Integer, nullable=False))
    op.create_table(
        "signals",
        _client(),
        Column("epoch", Integer, nullable=False),
        Column("learned", BigInteger, nullable=False),
        Column("steps", BigInteger, nullable=False),
        Column("growth", Double, nullable=False),
        Column("cost", Double, nullable=False),
        Column("form", Text),  # of what was streamed and not shared yet, if clients stream rows
        Column("numbers", LargeBinary),
        Column("taken", BigInteger),
        Column("nonce", Text),
        Column("taken_by", Text),
    )
    op.create_table(
        "scores",
        Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("numbers", LargeBinary, nullable=False),
        PrimaryKeyConstraint("round", "client"),
    )
    op.create_table(
        "pooled_scores",
        Column("epoch", Integer, primary_key=True, autoincrement=False),
        Column("numbers", LargeBinary, nullable=False),
    )
    _money()
    _summaries()
    _operators()


def _operators() -> None:
    """People who look at the federation, and what they may change."""
    op.add_column(
        "federation", Column("paused", Boolean, nullable=False, server_default=text("FALSE"))
    )
    op.add_column("settings", Column("by", Text))
    op.create_table(
        "operators",
        Column("name", Text, primary_key=True),
        Column("token", Text, nullable=False, unique=True),
        Column("role", Text, nullable=False),
        Column("revoked", Boolean, nullable=False),
    )
    op.create_table(
        "session_key",
        Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        Column("key", LargeBinary, nullable=False),
    )
    op.create_table(
        "refusals",
        _client(),
        Column("count", BigInteger, nullable=False),
        Column("field", Text, nullable=False),
        Column("at", Double, nullable=False),
    )
    op.create_table(
        "chores",
        Column("name", Text, primary_key=True),
        Column("at", Double, nullable=False),
        Column("outcome", Text, nullable=False),
    )


def _summaries() -> None:
    """What the console shows, of the rounds so far too. What clients' data was worth in them was
    not recorded."""
    op.create_table(
        "round_summaries",
        Column(
            "round", Integer, ForeignKey("rounds.number"), primary_key=True, autoincrement=False
        ),
        Column("ended", Double, nullable=False),
        Column("for_data", Integer, nullable=False),
        Column("for_money", Integer, nullable=False),
        Column("no_cost", Integer, nullable=False),
        Column("passed_over", Integer, nullable=False),
        Column("payment", Double, nullable=False),
        Column("communication", BigInteger, nullable=False),
        Column("ratio", Double, nullable=False),
    )
    op.create_table(
        "removals",
        Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("limit", Text, nullable=False),
        PrimaryKeyConstraint("round", "client"),
    )
    op.create_table(
        "client_summaries",
        _client(),
        Column("rounds", Integer, nullable=False),
        Column("steps", BigInteger, nullable=False),
        Column("nats", Double, nullable=False),
        Column("paid", Double, nullable=False),
        Column("last_round", Integer, nullable=False),
    )
    op.execute(
        "INSERT INTO client_summaries (client, rounds, steps, nats, paid, last_round) "
        "SELECT p.client, COUNT(*), SUM(u.steps), 0, SUM(p.amount), MAX(p.round) "
        "FROM payments p JOIN uploads u ON u.round = p.round AND u.client = p.client "
        "GROUP BY p.client"
    )
    bind = op.get_bind()
    counts = {
        row.round: row
        for row in bind.execute(
            text(
                "SELECT u.round, "
                "SUM(CASE WHEN p.amount = 0 AND u.cost > 0 THEN 1 ELSE 0 END) AS for_data, "
                "SUM(CASE WHEN p.amount > 0 THEN 1 ELSE 0 END) AS for_money, "
                "SUM(CASE WHEN p.amount = 0 AND u.cost = 0 THEN 1 ELSE 0 END) AS no_cost, "
                "SUM(CASE WHEN p.amount IS NULL THEN 1 ELSE 0 END) AS passed_over "
                "FROM uploads u "
                "LEFT JOIN payments p ON p.round = u.round AND p.client = u.client "
                "WHERE u.steps > 0 GROUP BY u.round"
            )
        )
    }
    names = ("for_data", "for_money", "no_cost", "passed_over")
    bodies = text("SELECT body FROM entries WHERE body LIKE '%closed%' ORDER BY number")
    columns = (*names, "round", "ended", "payment", "communication", "ratio")
    into = text(
        f"INSERT INTO round_summaries ({', '.join(columns)}) "
        f"VALUES ({', '.join(':' + name for name in columns)})"
    )
    for body in bind.execute(bodies).scalars().all():
        entry = json.loads(body)
        if entry["kind"] == "closed":
            row = {name: entry[name] for name in ("round", "communication", "ratio")}
            known = counts.get(entry["round"])
            row |= {name: 0 if known is None else getattr(known, name) for name in names}
            row |= {"ended": entry["at"], "payment": sum(entry["payments"].values())}
            bind.execute(into, row)


def _enrolled() -> None:
    """When each client was enrolled, as the entries say."""
    op.add_column("clients", Column("enrolled", Double))
    bind, entries = op.get_bind(), table("entries", column("body"))
    clients = table("clients", column("id"), column("enrolled"))
    said = select(entries.c.body).where(entries.c.body.contains('"kind":"enrolled"'))
    for one in [json.loads(body) for body in bind.scalars(said)]:
        own = update(clients).where(clients.c.id == one["client"])
        bind.execute(own.values(enrolled=one["at"]))


def _money() -> None:
    """Minor units. SQLite cannot change a column: a new table takes the place of the old one, and
    of its triggers."""
    for name in ("reserved_units", "posted_units"):
        zero = Column(name, BigInteger, nullable=False, server_default=text("0"))
        op.add_column("federation", zero)
    for changed, name in (("uploads", "cost"), ("offers", "payment"), ("payments", "amount")):
        with op.batch_alter_table(changed) as batch:
            batch.alter_column(name, existing_type=Double(), nullable=True)
            batch.add_column(Column(f"{name}_units", BigInteger))
    op.create_table(
        "payouts",
        Column("federation", Text, nullable=False),
        Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
        Column("client", Integer, ForeignKey("clients.id"), nullable=False),
        Column("by", Text, nullable=False),
        Column("at", Double, nullable=False),
        PrimaryKeyConstraint("federation", "round", "client"),
    )
    key = ("federation", "round", "client")
    append_only("payouts", *key)
    if op.get_bind().dialect.name == "sqlite":
        append_only("payments", *key)


def _outages() -> None:
    """The last start of each client, how it behaves, and when the coordinator could be answered."""
    op.create_table(
        "conduct",
        _client(),
        Column("silent", Integer, nullable=False),
        Column("called", Double),
        Column("false_calls", Integer, nullable=False),
        Column("ignored", Double),
    )
    op.create_table(
        "starts",
        _client(),
        Column("number", BigInteger, nullable=False),
        Column("nonce", Text, nullable=False),
    )
    op.create_table(
        "heartbeat",
        Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
        Column("at", Double, nullable=False),
        Column("silences", Integer, nullable=False),
    )
