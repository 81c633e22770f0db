"""What clients have not shared yet, where they stream rows."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, LargeBinary, Text

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("signals", Column("form", Text))
    op.add_column("signals", Column("numbers", LargeBinary))
    op.add_column("signals", Column("taken", BigInteger))
