"""A full export is audited like the database that it came from, without it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import incfed
from incfed.ledger.audit import AuditReport, audit
from incfed.ledger.federation import prune
from incfed.ledger.full_export import reading, write_full
from support.cli import invoke
from support.federation import Federation, eventful


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return eventful(tmp_path_factory.mktemp("book") / "ledger.db")


@pytest.fixture
def export(federation: Federation, tmp_path: Path) -> Path:
    with federation.store.read() as connection:
        assert write_full(connection, tmp_path / "ledger.jsonl") > 100
    return tmp_path / "ledger.jsonl"


def audited(path: Path) -> AuditReport:
    with reading(path) as store, store.read() as connection:
        return audit(connection)


def test_everything_is_recomputed_from_it(federation: Federation, export: Path) -> None:
    with federation.store.read() as connection:
        assert audited(export) == audit(connection)
    assert audited(export).clean


def test_the_file_is_its_owner_s(federation: Federation, tmp_path: Path) -> None:
    """As the database, since it has all of it."""
    usual = os.umask(0o022)
    try:
        with federation.store.read() as connection:
            write_full(connection, tmp_path / "ledger.jsonl")
    finally:
        os.umask(usual)
    assert (tmp_path / "ledger.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_changed_payment_shows(export: Path) -> None:
    lines = export.read_text().splitlines()
    for n, line in enumerate(lines[1:], 1):
        said = json.loads(line)
        if said["table"] == "payments" and said["row"]["amount_units"]:
            said["row"]["amount_units"] *= 2
            lines[n] = json.dumps(said)
            break
    export.write_text("\n".join(lines) + "\n")
    assert audited(export).findings == [
        "payments {federation}, {round}, {client}: amount_units is not what the entries say".format(
            **said["row"]
        )
    ]


def test_what_was_pruned_is_not_in_it(tmp_path: Path) -> None:
    four = eventful(tmp_path / "ledger.db")
    with four.store.write() as connection:
        prune(connection, four.clock(), four.clock())
        write_full(connection, tmp_path / "ledger.jsonl")
    report = audited(tmp_path / "ledger.jsonl")
    assert report.clean
    assert report.proved_from > 1
    four.store.close()


def test_what_is_no_export_is_refused(export: Path) -> None:
    first, *rows = export.read_text().splitlines()
    for lines in (
        [],
        ["{}"],
        [first, "nonsense"],
        [first, '{"table": "nobody", "row": {}}'],
        [first, '{"table": "epochs", "row": {"number": 1}}'],
        [first, '["table"]'],
        [first, *rows, rows[0]],
        [first.replace("ledger", "plan"), *rows],
    ):
        export.write_text("\n".join(lines) + "\n")
        with pytest.raises(incfed.InputError, match="what `incfed ledger export full` wrote"):
            audited(export)


def test_on_the_command_line(export: Path, tmp_path: Path) -> None:
    done = invoke(tmp_path, "ledger", "audit", "--export", "ledger.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("clean")
    done = invoke(tmp_path, "ledger", "audit", "--export", "none.jsonl")
    assert done.returncode == 2
    assert "none.jsonl: cannot be read" in done.stderr
