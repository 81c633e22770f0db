"""What the console shows of rounds and clients, against the evidence that it summarises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import event, select

import incfed
from incfed.ledger import money, tables
from incfed.ledger.explaining import explain
from incfed.ledger.payouts import mark_paid_out
from incfed.ledger.roster import history, roster, why_paid
from incfed.ledger.summaries import series
from support.federation import Federation, eventful


def test_clients_that_failed_or_were_barred_are_passed_over(tmp_path: Path) -> None:
    """Round 2: client 1 is silent, so that it is barred from round 3. There, client 2 declines."""
    four = eventful(tmp_path / "books.db", incfed.PayEveryone())
    with four.store.read() as connection:
        sent = connection.execute(select(tables.uploads).where(tables.uploads.c.steps > 0)).all()
        paid = connection.execute(select(tables.payments)).all()
        points = series(connection, 100)
        why = {n: {one.client: one for one in explain(connection, n).shares} for n in range(1, 6)}
        silent = {one.round: one.outcome for one in history(connection, 1, four.clock()).history}
    four.store.close()
    for point in points:
        with_data = sum(row.round == point["first"] for row in sent)
        shared = sum(row.round == point["first"] for row in paid)
        assert point["passed_over"] == with_data - shared
        assert point["for_data"] + point["for_money"] + point["no_cost"] == shared
        left = [one for one in why[point["first"]].values() if not one.joined]
        assert len(left) == point["passed_over"]
    assert why[2][1].why == "It did not answer the offer in time."
    assert why[3][1].why == "Passed over: it is barred for a while, since it failed to deliver."
    assert why[3][2].why == "It declined the offer."
    assert (silent[2], silent[3]) == ("did not answer the offer in time", "passed over: barred")


def test_sums_of_money_are_exact(tmp_path: Path) -> None:
    """Three payments of 0.10 are 0.30, where floats alone add up to 0.30000000000000004."""
    two = Federation(
        tmp_path / "books.db", 2, dim=1, threshold=1.0, money_digits=2, live_time=1e6,
        mechanism=incfed.PostedPrice(price=0.1),
    )  # fmt: skip
    rows = [np.array([[1.0]]), np.array([[0.5]])]
    for _ in range(3):
        number = two.upload(range(2), rows, 0.1)
        for client in two.offered():
            two.deliver(client, number, rows[client])
    with two.store.write() as connection:
        mark_paid_out(connection, "client 0", "ada", two.clock())
    with two.store.read() as connection:
        assert [one.paid for one in roster(connection, two.clock(), sort="paid").rows] == [0.3, 0.3]
        assert history(connection, 0, two.clock()).paid_out == 0.3
        assert explain(connection, 1).payment == 0.2
    two.store.close()
    assert money.total([0.1, 0.1, 0.1], 2) == 30


def test_a_clients_page_reads_no_table_from_end_to_end(tmp_path: Path) -> None:
    """But for the clients' names, and the few audits. Found by index, a ledger of any length takes
    the same time."""
    one = Federation(tmp_path / "l.db", 1, dim=1, threshold=1.0, money_digits=2, live_time=1e6,
                     mechanism=incfed.PostedPrice(price=0.1))  # fmt: skip
    number = one.upload([0], [np.ones((1, 1))], 0.1)
    one.deliver(0, number, np.ones((1, 1)))
    asked: list[tuple[str, Any]] = []
    event.listen(one.store.engine, "before_cursor_execute", lambda *a: asked.append((a[2], a[3])))
    with one.store.read() as connection:
        found = history(connection, 0, one.clock())
        why = why_paid(connection, 1, 0)
        queries = [each for each in asked if each[0].startswith("SELECT")]
        plans = [
            row.detail
            for query, values in queries
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values)
        ]
    one.store.close()
    assert found.last_paid == 1
    assert why.startswith("Round 1: \u2068client 0\u2069 shared 1 step.")
    scanned = {plan.split()[1] for plan in plans if plan.startswith("SCAN")}
    assert scanned <= {"CONSTANT", "audits", "clients", "federation"}, scanned
    assert any("uploads USING INDEX uploads_of_client" in plan for plan in plans)
