"""The audits of a ledger: who began each and when, how far it is, and what it found.

They stand in the database, so that every coordinator shows the same. The process that runs an audit
says every second that it still does; if it has not for a minute, the audit was interrupted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from ..errors import InputError
from .audit import AuditReport
from .tables import audits

CLEAN, NOT_CLEAN, FAILED = "clean", "not clean", "failed"  # outcomes
BEAT = 1.0  # seconds between two signs of life
SILENCE = 60.0  # seconds without one, after which nobody runs it: clocks may differ by some


@dataclass(frozen=True)
class AuditRun:
    """An audit that has ended, is running, or was interrupted."""

    by: str | None  # the operator who began it; null: somebody on the command line
    began: float
    done: float  # how much of the ledger is recomputed, from 0 to 1
    ended: float | None
    outcome: str | None  # clean, not clean, failed; null: it has not ended
    findings: list[str]


class AuditRunning(InputError):
    """One at a time."""


def begin(connection: Connection, by: str | None, at: float) -> int:
    """Its number. The caller holds the lock of the federation."""
    running, _ = unfinished(connection, at)
    if running is not None:
        raise AuditRunning(f"an audit is running already, begun by {running.by}")
    return _add(connection, by, at)


def beat(connection: Connection, number: int, done: float, at: float) -> None:
    """It still runs, and is so far."""
    own = update(audits).where(audits.c.number == number)
    connection.execute(own.values(done=done, seen=at))


def finish(
    connection: Connection, number: int, outcome: str, findings: list[str], at: float
) -> None:
    values = {"done": 1.0, "seen": at, "ended": at, "outcome": outcome}
    own = update(audits).where(audits.c.number == number)
    connection.execute(own.values(**values, findings=json.dumps(findings)))


def record(connection: Connection, report: AuditReport, at: float) -> None:
    """One that was made on the command line. The caller holds the lock of the federation."""
    finish(connection, _add(connection, None, at), outcome_of(report), report.findings, at)


def outcome_of(report: AuditReport) -> str:
    return CLEAN if report.clean else NOT_CLEAN


def last_ended(connection: Connection) -> AuditRun | None:
    query = select(audits).where(audits.c.ended.is_not(None)).order_by(audits.c.ended.desc())
    row = connection.execute(query.limit(1)).first()
    return None if row is None else _run(row)


def unfinished(connection: Connection, at: float) -> tuple[AuditRun | None, AuditRun | None]:
    """The audit that is running, if one is; and the last one, if it was interrupted."""
    query = select(audits).where(audits.c.ended.is_(None)).order_by(audits.c.number.desc())
    row = connection.execute(query.limit(1)).first()
    if row is None:
        return None, None
    if abs(at - row.seen) <= SILENCE:
        return _run(row), None
    last = connection.scalar(select(func.max(audits.c.ended))) or 0.0
    return None, _run(row) if row.seen > last else None


def _add(connection: Connection, by: str | None, at: float) -> int:
    number = (connection.scalar(select(func.max(audits.c.number))) or 0) + 1
    row = {"number": number, "by": by, "began": at, "seen": at, "done": 0.0, "findings": "[]"}
    connection.execute(insert(audits).values(row))
    return number


def _run(row: Any) -> AuditRun:
    findings = json.loads(row.findings)
    return AuditRun(row.by, row.began, row.done, row.ended, row.outcome, findings)
