"""What each client was given, where downloads are one for one."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, ForeignKey, Integer

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "grants",
        Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
        Column("epoch", Integer, nullable=False),
    )
