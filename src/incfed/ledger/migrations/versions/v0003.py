"""Audits, with how far each is and what it found; what the console asks for, by index; and what
clients were paid, in minor units. Streams are signed, and calls say whether there is noise."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, Text, text

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    _audits()
    op.add_column("signals", Column("signature", Text))
    op.add_column("conduct", Column("noisy", Boolean, nullable=False, server_default=text("FALSE")))
    op.create_index("uploads_of_client", "uploads", ["client", "round"])
    op.create_index("round_summaries_ended", "round_summaries", ["ended"])
    _paid()
    op.execute(  # who failed, or was barred, did not share either
        "UPDATE round_summaries SET passed_over = (SELECT COUNT(*) FROM uploads "
        "WHERE uploads.round = round_summaries.round AND uploads.steps > 0) "
        "- for_data - for_money - no_cost"
    )


def _audits() -> None:
    """The last one was a chore."""
    op.create_table(
        "audits",
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("by", Text),
        Column("began", Double, nullable=False),
        Column("seen", Double, nullable=False),
        Column("done", Double, nullable=False),
        Column("ended", Double),
        Column("outcome", Text),
        Column("findings", Text, nullable=False),
    )
    op.execute(
        "INSERT INTO audits (number, began, seen, done, ended, outcome, findings) "
        "SELECT 1, at, at, 1, at, outcome, '[]' FROM chores WHERE name = 'audit'"
    )
    op.execute("DELETE FROM chores WHERE name = 'audit'")


def _paid() -> None:
    """From the payments, which are exact."""
    zero = Column("paid_units", BigInteger, nullable=False, server_default=text("0"))
    op.add_column("client_summaries", zero)
    own = "FROM payments p WHERE p.client = client_summaries.client"
    op.execute(
        "UPDATE client_summaries SET "
        f"paid = COALESCE((SELECT SUM(p.amount) {own}), 0), "
        f"paid_units = COALESCE((SELECT SUM(p.amount_units) {own}), 0)"
    )
