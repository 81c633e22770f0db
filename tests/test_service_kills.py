"""kill -9 of a real coordinator process at every named point of a round; then it is started again,
the clients ask again, and the round ends as if nothing had been."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from incfed.ledger.audit import audit
from incfed.ledger.clients import enrol
from incfed.ledger.export import _payments
from incfed.ledger.founding import begin
from incfed.ledger.store import Store
from incfed.service.coordinator.config import read_config
from schedules import POINTS
from soaking import some
from test_service_cli import served
from test_service_http import encoded

TOML = """
[federation]
dim = 2
ridge = 1.0
mechanism = "PayEveryone"
threshold = 0.5
[server]
database = "sqlite:///books.db"
"""


class Clients:
    """Three of them, who ask until they are answered, and start the server again if it is gone."""

    def __init__(self, folder: Path, point: str) -> None:
        self.folder = folder
        store = Store(f"sqlite:///{folder / 'books.db'}")
        with store.write() as connection:
            begin(connection, read_config(folder / "federation.toml").settings, 0.0)
            self.tokens = [enrol(connection, f"c{k}", 0.0)[1] for k in range(3)]
        store.close()
        self.point = point
        self.kills = 0

    def play(self) -> dict[str, Any]:
        """One round, in which the last one declines; what client 0 knows at the end."""
        with served(self.folder, self.point) as (address, process):
            if (state := self._round(address)) is not None:
                return state
            assert process.wait(timeout=10) == -9
        self.kills += 1
        with served(self.folder) as (address, _):
            state = self._round(address)
            assert state is not None
            return state

    def _round(self, address: str) -> dict[str, Any] | None:
        """None: the server went away."""
        with httpx.Client(base_url=address, timeout=20.0) as http:
            try:
                for k in range(3):
                    self._ask(http, k, "GET", "/v1/state")
                end = time.monotonic() + 30.0
                while time.monotonic() < end:
                    for k in range(3):
                        self._step(http, k)
                    state: dict[str, Any] = self._ask(http, 0, "GET", "/v1/state")
                    if state["epoch"] == 1:
                        return state
                raise AssertionError("stuck")
            except httpx.TransportError:
                return None

    def _step(self, http: httpx.Client, k: int) -> None:
        state = self._ask(http, k, "GET", "/v1/state")
        seen = state["round"]
        if state["epoch"] == 1:
            return
        if seen is None:
            self._ask(http, k, "POST", "/v1/rounds?epoch=0")
        elif seen["stage"] == "open" and not seen["uploaded"]:
            dV = {"form": "factor", "numbers": encoded(1.0, 0.0)}
            body = {"epoch": 0, "steps": 1, "cost": 2.0, "dV": dV}
            self._ask(http, k, "PUT", "/v1/rounds/1/upload", body)
        elif seen["offer"] and not seen["delivered"]:
            if not seen["answered"]:
                body = {"attempt": seen["offer"]["attempt"], "accepted": k < 2}
                self._ask(http, k, "PUT", "/v1/rounds/1/answer", body)
            elif k < 2:
                self._ask(http, k, "PUT", "/v1/rounds/1/delivery", {"db": encoded(0.5, 0.0)})

    def _ask(self, http: httpx.Client, k: int, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[k]}", "Incfed-Protocol": "1"}
        answer = http.request(method, path, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.mark.parametrize("point", some(POINTS, 4))
def test_killed(tmp_path: Path, point: str) -> None:
    (tmp_path / "federation.toml").write_text(TOML)
    clients = Clients(tmp_path, point)
    state = clients.play()
    assert clients.kills == 1
    assert state["round"]["number"] == 1
    store = Store(f"sqlite:///{tmp_path / 'books.db'}")
    with store.read() as connection:
        report = audit(connection)
        paid = _payments(connection)
    store.close()
    assert report.findings == []
    # two shared: det 3, det V_i 2; data is worth 1/2 of the 2 that it costs
    assert [(row["client"], row["amount"]) for row in paid] == [
        (0, pytest.approx(1.5)),
        (1, pytest.approx(1.5)),
    ]
