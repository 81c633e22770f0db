"""What clients say between rounds."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Double, ForeignKey, Integer

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "signals",
        Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
        Column("epoch", Integer, nullable=False),
        Column("learned", BigInteger, nullable=False),
        Column("steps", BigInteger, nullable=False),
        Column("growth", Double, nullable=False),
        Column("cost", Double, nullable=False),
    )
