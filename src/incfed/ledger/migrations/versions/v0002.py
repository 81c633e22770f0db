"""Protocols: what each client was given where downloads are one for one, what clients say between
rounds, and the scores of clients that find out how far to trust others."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
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
    _outages()
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
