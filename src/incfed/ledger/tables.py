"""The tables of the database: what was decided (entries and payments are append-only), and what the
next step of a round needs. Statistics are stored as little-endian float64, and money in whole minor
units (`*_units`).

Changes to this file need a migration: see migrations/versions.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

metadata = MetaData()

# One row: locked first by every transaction that changes anything.
federation = Table(
    "federation",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),  # its identity: no other federation has it
    Column("settings", Integer, nullable=False),  # number of those in force
    Column("version", BigInteger, nullable=False),  # grows when there is news for others
    Column("round", Integer, nullable=False),  # number of the last one opened; 0: none yet
    Column("epoch", Integer, nullable=False),
    Column("reserved_units", BigInteger, nullable=False),  # for the offers that stand
    Column("posted_units", BigInteger, nullable=False),  # all payments
    Column("paused", Boolean, nullable=False),  # no new round is opened
)

settings = Table(
    "settings",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),  # canonical JSON
    Column("by", Text),  # the operator who changed them; NULL: a config
)

# People who may look at the federation, or change it.
operators = Table(
    "operators",
    metadata,
    Column("name", Text, primary_key=True),
    Column("token", Text, nullable=False, unique=True),  # its SHA-256
    Column("role", Text, nullable=False),  # viewer, operator
    Column("revoked", Boolean, nullable=False),
)

# By which the coordinators of a federation know the sessions of operators: one row, no evidence.
session_key = Table(
    "session_key",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("key", LargeBinary, nullable=False),
)

# Messages of each client that were refused: no evidence.
refusals = Table(
    "refusals",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("count", BigInteger, nullable=False),
    Column("field", Text, nullable=False),  # of the last one
    Column("at", Double, nullable=False),
)

# What is done now and then, and when it was done last: no evidence.
chores = Table(
    "chores",
    metadata,
    Column("name", Text, primary_key=True),  # head
    Column("at", Double, nullable=False),
    Column("outcome", Text, nullable=False),
)

# Audits that were made, or are running: no evidence.
audits = Table(
    "audits",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("by", Text),  # the operator who began it; NULL: somebody on the command line
    Column("began", Double, nullable=False),
    Column("seen", Double, nullable=False),  # when the process that runs it last said so
    Column("done", Double, nullable=False),  # how much of it, from 0 to 1
    Column("ended", Double),  # NULL: it is running, or was interrupted
    Column("outcome", Text),  # clean, not clean, failed
    Column("findings", Text, nullable=False),  # a JSON list
)

clients = Table(
    "clients",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("token", Text, nullable=False, unique=True),  # its SHA-256
    Column("revoked", Boolean, nullable=False),
    Column("enrolled", Double, nullable=False),  # when
    Column("barred_until", Double),  # takes no part in rounds that open before; NULL: in any
    Column("key", Text),  # its public key; NULL: none registered
)

# When each client was last seen: no evidence, so in a table of its own.
presence = Table(
    "presence",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("heard", Double),
)

# The last start of each client, by which copies of its state folder are told apart: no evidence.
starts = Table(
    "starts",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("nonce", Text, nullable=False),
)

# Clients that are silent, or call for rounds too often or without reason: no evidence either.
conduct = Table(
    "conduct",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("silent", Integer, nullable=False),  # rounds in a row that awaited it in vain
    Column("called", Double),  # when it last opened a round
    Column("false_calls", Integer, nullable=False),  # in a row
    Column("ignored", Double),  # its calls are, until then
    Column("noisy", Boolean, nullable=False),  # it adds noise to what it shares, by its last call
)

# When a coordinator last showed that it could be answered: no evidence either.
heartbeat = Table(
    "heartbeat",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("silences", Integer, nullable=False),  # in the round in progress
)

# The epoch that each client was given last, where downloads are one for one: no evidence either.
grants = Table(
    "grants",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("epoch", Integer, nullable=False),
)

# What limits depend on of a client's earlier rounds. The entries say the same.
past = Table(
    "past",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("paid_units", BigInteger, nullable=False),  # in all
    # the highest declared, as far as it was allowed to rise
    Column("price_units", BigInteger, nullable=False),
    Column("steps", BigInteger, nullable=False),  # shared
)

# What each client said last between rounds, where the server decides when one opens: no evidence.
signals = Table(
    "signals",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("epoch", Integer, nullable=False),
    Column("learned", BigInteger, nullable=False),  # steps ever
    Column("steps", BigInteger, nullable=False),  # not shared yet
    Column("growth", Double, nullable=False),  # of its log det by those
    Column("cost_units", BigInteger, nullable=False),
    Column("form", Text),  # of dV, if rows are streamed
    Column("numbers", LargeBinary),
    Column("taken", BigInteger),  # `learned` when dV became the upload to the round in progress
    Column("nonce", Text),  # of the client's start that said it,
    Column("taken_by", Text),  # and of the one whose dV was taken
    Column("signature", Text),  # of dV, by the client; NULL: it has no key
)

# Trust "auto": how far each client's models were off, summed over what it delivers; and the sum
# over all that was shared up to an epoch. No evidence.
scores = Table(
    "scores",
    metadata,
    Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("numbers", LargeBinary, nullable=False),
    PrimaryKeyConstraint("round", "client"),
)
pooled_scores = Table(
    "pooled_scores",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("numbers", LargeBinary, nullable=False),
)

rounds = Table(
    "rounds",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("stage", Text, nullable=False),  # open, offered, closed, void
    Column("settings", Integer, ForeignKey("settings.number"), nullable=False),
    Column("epoch", Integer, nullable=False),  # when it was opened; closing it makes the next
    Column("trigger", Integer, ForeignKey("clients.id"), nullable=False),
    Column("opened", Double, nullable=False),
    Column("deadline", Double),  # of the stage; NULL: it is over
    Column("attempt", Integer, nullable=False),  # 0: not decided yet
    Column("ended", Double),
)

uploads = Table(
    "uploads",
    metadata,
    Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("steps", BigInteger, nullable=False),
    Column("cost_units", BigInteger, nullable=False),
    Column("form", Text, nullable=False),
    Column("numbers", LargeBinary),  # NULL: pruned
    PrimaryKeyConstraint("round", "client"),
    Index("uploads_of_client", "client", "round"),
)

offers = Table(
    "offers",
    metadata,
    Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("attempt", Integer, nullable=False),  # in which it was made, or raised, last
    Column("payment_units", BigInteger, nullable=False),
    Column("accepted", Boolean),  # NULL: no answer yet
    Column("failed", Boolean, nullable=False),  # declined, or missed the deadline
    PrimaryKeyConstraint("round", "client"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("db", LargeBinary),  # NULL: pruned
    PrimaryKeyConstraint("round", "client"),
)

epochs = Table(
    "epochs",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("round", Integer, nullable=False),  # the last one before it; 0: the beginning
    Column("V", LargeBinary),  # upper triangle; NULL: pruned
    Column("b", LargeBinary),
)

# By which resale of V_g is recognised, also of epochs that were pruned: no evidence.
sketches = Table(
    "sketches",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("numbers", LargeBinary, nullable=False),
)

# From this epoch on, V_g and b_g hold nothing of what the client shared in these rounds.
withdrawals = Table(
    "withdrawals",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
)

payments = Table(
    "payments",
    metadata,
    Column("federation", Text, nullable=False),
    Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("epoch", Integer, nullable=False),  # that the round made
    Column("amount_units", BigInteger, nullable=False),  # 0: took part for data alone
    PrimaryKeyConstraint("federation", "round", "client"),
    Index("payments_of_client", "client", "epoch"),  # asked for at every upload and download
)

# What the console shows of closed rounds, and of what clients did in them: read at once, where the
# evidence would have to be added up.
round_summaries = Table(
    "round_summaries",
    metadata,
    Column("round", Integer, ForeignKey("rounds.number"), primary_key=True, autoincrement=False),
    Column("ended", Double, nullable=False),
    Column("for_data", Integer, nullable=False),  # participants that are not paid,
    Column("for_money", Integer, nullable=False),  # that are,
    Column("no_cost", Integer, nullable=False),  # and that have no cost
    Column("passed_over", Integer, nullable=False),  # clients with data that did not share it
    Column("payment_units", BigInteger, nullable=False),  # to all
    Column("communication", BigInteger, nullable=False),  # scalars
    Column("ratio", Double, nullable=False),
    Index("round_summaries_ended", "ended"),
)
removals = Table(  # whom a round left out
    "removals",
    metadata,
    Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("limit", Text, nullable=False),  # which it exceeded; or "barred"
    PrimaryKeyConstraint("round", "client"),
)
client_summaries = Table(
    "client_summaries",
    metadata,
    Column("client", Integer, ForeignKey("clients.id"), primary_key=True, autoincrement=False),
    Column("rounds", Integer, nullable=False),  # that it took part in with data
    Column("steps", BigInteger, nullable=False),  # that it shared
    Column("nats", Double, nullable=False),  # by which its data made log det V_g grow, alone
    Column("paid_units", BigInteger, nullable=False),
    Column("last_round", Integer, nullable=False),
)

# Payments that were made outside, as an operator says.
payouts = Table(
    "payouts",
    metadata,
    Column("federation", Text, nullable=False),
    Column("round", Integer, ForeignKey("rounds.number"), nullable=False),
    Column("client", Integer, ForeignKey("clients.id"), nullable=False),
    Column("by", Text, nullable=False),  # who says so,
    Column("at", Double, nullable=False),  # and when
    PrimaryKeyConstraint("federation", "round", "client"),
)

# hash = SHA-256 of the hash before and the body: canonical JSON with digests in place of blobs.
entries = Table(
    "entries",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

APPEND_ONLY = ("entries", "payments", "payouts")
