"""Protocols: what each client was given where downloads are one for one, what clients say between
rounds, and the scores of clients that find out how far to trust others. Keys of clients, and
withdrawals."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
)

revision = "0002"
down_revision = "0001"


def _client() -> Column[int]:
    return Column(
        "client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False
    )


def upgrade() -> None:
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
