"""What operators change: each change stands in the ledger by name, and is audited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.chain import entries_after
from support.console import asking, play, small, token_of
from support.federation import Federation

BOTH = pytest.mark.parametrize("four", ["sqlite", "postgresql"], indirect=True)


def last_entry(four: Federation) -> dict[str, object]:
    with four.store.read() as connection:
        return entries_after(connection, 0)[-1]


def clean(four: Federation) -> None:
    with four.store.read() as connection:
        assert audit(connection).findings == []


@BOTH
def test_pause_and_resume(four: Federation, operator: httpx.Client) -> None:
    assert operator.post("api/changes/pause").json()["text"].startswith("Rounds are paused")
    assert last_entry(four) | {"number": 0, "at": 0} == {
        "number": 0, "at": 0, "kind": "paused", "by": "a operator",
    }  # fmt: skip
    with pytest.raises(Exception, match="paused"):
        four.coordinator.open_round(0)
    assert operator.post("api/changes/pause").status_code == 422  # it is paused
    operator.post("api/changes/resume")
    assert play(four, 9) == 4
    clean(four)


@BOTH
def test_settings_are_changed_and_stay_until_the_config_changes(
    four: Federation, operator: httpx.Client
) -> None:
    old = operator.get("api/changes/settings").json()
    assert (old["beta"], old["budget"], old["per_round"]) == (0.9, 100.0, None)
    new = {"beta": 0.5, "budget": 70.0, "per_round": 20.0}
    assert operator.post("api/changes/settings", json=new).status_code == 200
    assert last_entry(four)["by"] == "a operator"
    again = four.another()  # a coordinator that starts with the config as it was
    settings = again.settings()
    assert settings.mechanism == incfed.PaymentEfficient(beta=0.5)
    assert settings.budget == 70.0
    assert settings.limits.per_round == 20.0
    four.settings = replace(four.settings, threshold=2.0)
    assert four.another().settings().budget == 100.0  # the config was changed: it counts
    play(four, 9)
    clean(four)
    wrong = operator.post("api/changes/settings", json={"beta": 7.0})
    assert wrong.status_code == 422
    assert "beta" in wrong.json()["message"]


@BOTH
def test_clients_are_revoked_withdrawn_and_paid_out(
    four: Federation, operator: httpx.Client
) -> None:
    paid = next(one for one in operator.get("api/clients").json()["rows"] if one["paid"] > 0)
    who = paid["id"]
    assert operator.post(f"api/changes/clients/{who}/paid-out", json={}).status_code == 200
    assert last_entry(four)["by"] == "a operator"
    assert operator.get(f"api/clients/{who}").json()["paid_out"] == paid["paid"]
    assert operator.post(f"api/changes/clients/{who}/withdraw").status_code == 200
    assert last_entry(four)["by"] == "a operator"
    assert operator.post(f"api/changes/clients/{who}/revoke").status_code == 200
    assert last_entry(four)["by"] == "a operator"
    assert operator.get(f"api/clients/{who}").json()["client"]["state"] == "revoked"
    clean(four)


def test_every_setting_that_can_be_changed(four: Federation, operator: httpx.Client) -> None:
    for name, value in {
        "beta": 0.5, "threshold": 2.0, "budget": None, "per_round": 20.0, "per_payment": 9.0,
        "per_client": 50.0, "reserve": 4.0,
    }.items():  # fmt: skip
        assert operator.post("api/changes/settings", json={name: value}).status_code == 200
        assert operator.get("api/changes/settings").json()[name] == value
        entry = last_entry(four)
        assert (entry["kind"], entry["by"]) == ("settings", "a operator")
    again = operator.post("api/changes/settings", json={"beta": 0.5})
    assert again.json()["message"] == "nothing would change: these settings are in force"
    cleared = operator.post("api/changes/settings", json={"threshold": None})
    assert cleared.status_code == 422  # no client would ever open a round
    assert cleared.json()["message"] == "threshold: must be a number. To stop rounds, pause them"
    unknown = operator.post("api/changes/settings", json={"dim": 3.0})
    assert unknown.status_code == 422
    play(four, 9)
    clean(four)


def test_a_trigger_stands_in_for_the_threshold(tmp_path: Path) -> None:
    grown = small(tmp_path / "grown.db", 0, threshold=None, trigger=incfed.GrowthRatio(2.0))
    with asking(grown, "operator") as operator:
        found = operator.get("api/changes/settings").json()
        wrong = operator.post("api/changes/settings", json={"threshold": 2.0})
    grown.store.close()
    assert (found["threshold"], found["trigger"]) == (None, "GrowthRatio")
    assert "trigger says when rounds open" in wrong.json()["message"]


def test_who_changed_something_cannot_be_altered_unnoticed(
    four: Federation, operator: httpx.Client
) -> None:
    operator.post("api/changes/settings", json={"beta": 0.5})
    with four.store.touch() as connection:
        connection.execute(tables.settings.update().values(by="somebody else"))
    with four.store.read() as connection:
        found = audit(connection).findings
    assert "settings 2: by is not what the entries say" in found


def test_a_forged_operator_is_found_by_the_audit(four: Federation) -> None:
    token_of(four, "ada", "viewer")
    with four.store.touch() as connection:
        connection.execute(tables.operators.update().values(role="operator"))
    with four.store.read() as connection:
        assert audit(connection).findings == ["operators ada: role is not what the entries say"]
