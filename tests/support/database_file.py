"""A database file that can be begun anew, and that can be full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import event

from incfed.ledger.store import Store


class Disk:
    """One store for many federations in turn: what SQLAlchemy has compiled for it is kept."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.db"
        self.store = Store(f"sqlite:///{self.path}")
        self.store.close()
        self._empty = self.path.read_bytes()
        self.full = False

        @event.listens_for(self.store.engine, "connect")
        def connected(connection: Any, _: object) -> None:
            connection.execute("PRAGMA synchronous = OFF")  # nothing here cuts the power

        @event.listens_for(self.store.engine, "begin")
        def begun(connection: Any) -> None:
            limited = connection.info.get("limited", False)
            if self.full or limited:
                used = connection.exec_driver_sql("PRAGMA page_count").scalar()
                most = used if self.full else 2**30
                connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")
                connection.info["limited"] = self.full

    def wipe(self) -> Store:
        """An empty database again."""
        self.store.close()
        self.full = False
        for path in self.path.parent.glob(f"{self.path.name}-*"):
            path.unlink()
        self.path.write_bytes(self._empty)
        return self.store
