"""A mechanism of the user's own, served to real clients and audited; and other code refused."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import incfed
from support.cli import incfed as command
from support.live_coordinator import SETTINGS, live, observation, settle

CODE = """
from dataclasses import dataclass
import incfed

@dataclass(frozen=True)
class Bonus(incfed.Mechanism):
    bonus: float = 1.0

    def decide(self, round):
        owed = round.settle(round.everyone)
        return incfed.Decision(owed.participants, owed.payments + self.bonus)
"""
OWN = SETTINGS.replace('"PayEveryone"', '{ kind = "code/bonus.py:Bonus", bonus = 3.0 }')
COUNT = 2


def test_it_is_served_and_audited_and_other_code_is_refused(memory: Path) -> None:
    file = memory / "code" / "bonus.py"
    file.parent.mkdir()
    file.write_text(CODE)
    config = str(memory / "federation.toml")
    with live(memory, COUNT, OWN) as site, ExitStack() as stack:
        site.start()
        clients = [
            stack.enter_context(incfed.Client(site.url, token, memory / f"{k}", cost=0.0))
            for k, token in enumerate(site.tokens)
        ]
        for k in range(4):
            for client in clients:
                client.learn(*observation(k))
        books = settle(site, clients)
        assert books.epoch > 0
        assert {amount for _, _, amount in books.payments} == {3.0}
        assert books.findings == []
        [entry] = site.entries("settings")
    recorded = entry["body"]["mechanism"]
    assert (recorded["kind"], recorded["bonus"]) == ("code/bonus.py:Bonus", 3.0)

    done = command(memory, "ledger", "audit", "--config", config)
    assert done.returncode == 0, done.stderr
    assert "clean" in done.stdout

    kept = memory / "kept.py"
    shutil.copy(file, kept)
    file.write_text(CODE.replace("+ self.bonus", "+ 2 * self.bonus"))
    for arguments in (["serve"], ["client", "enrol", "late"], ["ledger", "audit"]):
        done = command(memory, *arguments, "--config", config)
        assert done.returncode == 2, arguments
        assert recorded["sha256"] in done.stderr.replace("\n", "")
        assert "clean" not in done.stdout

    audit = ["ledger", "audit", "--config", config, "--mechanism-file"]
    assert command(memory, *audit, "kept.py").returncode == 0
    assert command(memory, *audit, "code/bonus.py").returncode == 2
    file.unlink()
    assert command(memory, *audit, "kept.py").returncode == 0
    assert command(memory, *audit, "none.py").returncode == 2
    done = command(memory, "ledger", "audit", "--config", config)
    assert done.returncode == 2
    assert "file not found" in done.stderr.replace("\n", " ")
    assert command(memory, "client", "list", "--config", config).returncode == 0
    assert (
        command(
            memory, "ledger", "export", "payments", "payments.csv", "--config", config
        ).returncode
        == 0
    )


def test_new_code_in_a_new_file_is_put_in_force(memory: Path) -> None:
    """And an audit needs the code of all settings that there were."""
    (memory / "code").mkdir()
    (memory / "code" / "bonus.py").write_text(CODE)
    with live(memory, COUNT, OWN) as site:
        (memory / "code" / "second.py").write_text(CODE.replace("+ self.bonus", "+ 0.0"))
        config = memory / "federation.toml"
        config.write_text(config.read_text().replace("bonus.py", "second.py"))
        site.start()
        kinds = [one["body"]["mechanism"]["kind"] for one in site.entries("settings")]
    assert kinds == ["code/bonus.py:Bonus", "code/second.py:Bonus"]
    done = command(memory, "ledger", "audit", "--config", str(config))
    assert done.returncode == 2
    assert "code/bonus.py:Bonus was recorded" in done.stderr.replace("\n", " ")
    config.write_text(config.read_text() + 'mechanism_files = ["code/bonus.py"]\n')
    done = command(memory, "ledger", "audit", "--config", str(config))
    assert done.returncode == 0, done.stderr


def test_one_that_breaks_a_rule_is_not_served(memory: Path) -> None:
    (memory / "half.py").write_text(CODE.replace("+ self.bonus", "/ 2"))
    settings = SETTINGS.replace('"PayEveryone"', '"half.py:Bonus"')
    (memory / "federation.toml").write_text(f'[federation]\n{settings}\nbudget = "none"\n')
    done = command(memory, "serve", "--config", "federation.toml")
    assert done.returncode == 2
    assert "half.py:Bonus cannot be served" in done.stderr.replace("\n", " ")
    assert "a participant loses by sharing" in done.stderr.replace("\n", " ")
