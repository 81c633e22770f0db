"""The audit: checks the hash chain, compares every table with the entries, and recomputes every
decision, payment and sum. What depends on time alone (had a deadline passed? was a client online?)
cannot be proved afterwards, and the table `presence` is no evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, select

from ..errors import InputError
from ..protocol.statements import FIELDS
from ..rules.plugins import MissingCode
from ..rules.rounds import DIGITS
from ..support.inputs import counted
from . import tables
from .acts import Acts, round_settings
from .chain import START, LastEntry, canonical, digest, head, link
from .guards import broken_guards
from .proofs import LedgerTree
from .recompute import disagreements
from .records import Pruned
from .replay import Replay
from .signatures import disputed

MOST = 50  # findings shown: one changed row can make all later ones disagree
BLOBS = ("numbers", "db", "V", "b", "token")


@dataclass
class AuditReport:
    """The findings of an audit, and what it covered."""

    findings: list[str] = field(default_factory=list)
    entries: int = 0
    rounds: int = 0  # closed
    spent: float = 0.0
    digits: int = DIGITS  # of money
    head: LastEntry = field(default_factory=lambda: LastEntry(0, START))
    proved_from: int = 1  # the first round whose statistics were not pruned

    @property
    def clean(self) -> bool:
        return not self.findings

    @property
    def words(self) -> str:
        return (
            f"{counted(self.entries, 'entry', 'entries')}, {counted(self.rounds, 'round')} closed, "
            f"{self.spent:,.{self.digits}f} paid; "
            f"{'every decision and payment recomputed: clean' if self.clean else 'NOT CLEAN'}"
        )


class SavedHead(NamedTuple):
    """A head that was saved earlier and kept elsewhere."""

    number: int
    hash: str
    federation: str


def write_head(connection: Connection) -> str:
    """The head as JSON, to be kept elsewhere."""
    federation = connection.scalar(select(tables.federation.c.name))
    last = LedgerTree().follow(connection)
    return json.dumps({**last._asdict(), "federation": federation})


def audit(
    connection: Connection,
    saved: SavedHead | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> AuditReport:
    """Check everything. MissingCode if a decision was made by code that is not loaded. `watch` is
    called with the entries done, and all."""
    report, replay, total = AuditReport(), Replay(), head(connection).number
    acts = Acts(connection)
    seen = None if saved is None or saved.number else START
    for row in connection.execute(select(tables.entries).order_by(tables.entries.c.number)):
        _check_link(report, row)
        report.head = LastEntry(row.number, str(row.hash))
        report.entries += 1
        if saved is not None and row.number == saved.number:
            seen = row.hash
        _follow(connection, report, replay, acts, row)
        replay.last = str(row.hash)
        watch(report.entries, total)
    if not report.entries:
        report.findings.append("there are no entries: no federation was ever founded here")
    if saved is not None and saved.number > report.head.number:
        lost = saved.number - report.head.number
        entries = counted(lost, "entry", "entries")
        report.findings.append(f"missing: the last {entries} that the kept head covers")
    elif saved is not None and seen != saved.hash:
        report.findings.append(f"entry {saved.number} is not what the kept head says")
    if replay.federation:
        report.rounds = replay.now["epoch"] - len(replay.withdrawals)
        report.digits, report.spent = replay.digits, replay.spent
        if saved is not None and saved.federation != replay.now["name"]:
            report.findings.append(f"the kept head is of another federation, {saved.federation}")
    report.findings += acts.wrong_sketches + broken_guards(connection)
    for name in ("federation", "settings", "clients", "rounds", "uploads", "offers", "deliveries",
                 "epochs", "payments", "payouts", "withdrawals", "operators"):  # fmt: skip
        _compare(connection, report, replay, tables.metadata.tables[name])
    if len(report.findings) > MOST:
        report.findings[MOST:] = [f"and {len(report.findings) - MOST} more"]
    return report


def read_head(path: Path) -> SavedHead:
    """A head as `incfed ledger head` prints it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        number, hash, federation = found["number"], found["hash"], found["federation"]
        if type(number) is not int or number < 0 or not re.fullmatch("[0-9a-f]{64}", hash):
            raise ValueError
        return SavedHead(number, hash, str(federation))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: must be what `incfed ledger head` printed") from None


def _check_link(report: AuditReport, row: Any) -> None:
    if row.number != report.head.number + 1:
        report.findings.append(f"entry {report.head.number + 1} is missing")
    if not isinstance(row.body, str) or row.hash != link(report.head.hash, row.body):
        report.findings.append(f"entry {row.number}: its hash is not that of its content")


def _follow(
    connection: Connection, report: AuditReport, replay: Replay, acts: Acts, row: Any
) -> None:
    try:
        body = json.loads(row.body)
        where = f"entry {row.number} ({body['kind']}, round {body.get('round', '-')})"
        if canonical(body) != row.body or body["number"] != row.number:
            report.findings.append(f"{where}: is not written as entries are")
    except (ValueError, KeyError, TypeError):
        report.findings.append(f"entry {row.number}: cannot be read")
        return
    try:
        for finding in _faults(connection, replay, acts, body):  # what was found so far, counts
            report.findings.append(f"{where}: {finding}")
    except MissingCode as missing:
        raise MissingCode(f"{where}: {missing}") from None
    except Pruned:
        report.proved_from = max(report.proved_from, body["round"] + 1)
    except Exception as error:  # whatever changed rows make of it
        report.findings.append(f"{where}: cannot be recomputed: {type(error).__name__}: {error}")
    try:
        replay.apply(body)
    except Exception as error:
        report.findings.append(f"{where}: does not follow: {type(error).__name__}: {error}")


def _faults(
    connection: Connection, replay: Replay, acts: Acts, body: dict[str, Any]
) -> Iterator[str]:
    """Yield each fault of an entry."""
    if body["kind"] in FIELDS:
        yield from disputed(replay, body, round_settings(replay, body))
    yield from acts.faults(replay, body)
    yield from disagreements(connection, replay, body)


def _compare(connection: Connection, report: AuditReport, replay: Replay, table: Table) -> None:
    expected: dict[Any, dict[str, Any]] = dict(getattr(replay, table.name))
    names = [column.name for column in table.primary_key.columns]
    for row in connection.execute(select(table)):
        values = row._asdict()
        key = tuple(values.pop(name) for name in names)
        place = f"{table.name} {', '.join(map(str, key))}"
        wanted = expected.pop(key if len(key) > 1 else key[0], None)
        if wanted is None:
            report.findings.append(f"{place}: no entry says so")
            continue
        for name, value in values.items():
            if not _agrees(replay, table.name, key, name, value, wanted[name]):
                report.findings.append(f"{place}: {name} is not what the entries say")
    report.findings += [f"{table.name} {key}: is missing" for key in expected]


def _agrees(replay: Replay, table: str, key: Any, name: str, value: Any, wanted: Any) -> bool:
    if name not in BLOBS:
        return bool(value == wanted)
    if value is not None:
        return bool(digest(value) == wanted)
    gone = key[0] < replay.pruned_epoch if table == "epochs" else key[0] <= replay.pruned_round
    return bool(table != "clients" and gone)
