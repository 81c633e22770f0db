"""An audit in the background of a coordinator. How far it is stands in the database, where every
coordinator reads it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from ..ledger import audits
from ..ledger.audit import audit
from ..ledger.database import Database, DatabaseError


class AuditJob:
    """Begun by an operator; AuditRunning if one is running, here or in another coordinator."""

    def __init__(self, store: Database, by: str, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._done = 0.0
        with store.write() as connection:
            self._number = audits.begin(connection, by, clock())
        threading.Thread(target=self._run, name="audit", daemon=True).start()

    def _run(self) -> None:
        over = threading.Event()
        beating = threading.Thread(target=self._beat, args=(over,), daemon=True)
        beating.start()
        try:
            with self._store.read() as connection:
                report = audit(connection, watch=self._watch)
            outcome, findings = audits.outcome_of(report), report.findings
        except Exception as error:  # whatever it is, the page should say so
            outcome, findings = audits.FAILED, [f"{type(error).__name__}: {error}"]
        over.set()
        beating.join()
        with suppress(DatabaseError), self._store.touch() as connection:  # else: interrupted
            audits.finish(connection, self._number, outcome, findings, self._clock())

    def _beat(self, over: threading.Event) -> None:
        """By a thread of its own: recomputing one round may take long."""
        while not over.wait(audits.BEAT):
            with suppress(DatabaseError), self._store.touch() as connection:
                audits.beat(connection, self._number, self._done, self._clock())

    def _watch(self, done: int, total: int) -> None:
        self._done = done / max(1, total)
