"""What a plan writes for people to go on with: configs to simulate and to serve."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.ledger.settings import Settings
from incfed.planning import config_files
from incfed.service.coordinator.config import Config, read_config
from incfed.support import toml
from support.planning import CASE, write_trace

QUICK: dict[str, Any] = {"trials": 16, "held_out": 3, "jobs": 1}
PAPER = {"triggers": ["Threshold"], "downloads": ["everyone"], "widths": ["paper"]}
PAID = {
    "mechanisms": ["PaymentEfficient"], "beta": [0.1, 0.9], "triggers": ["Threshold"],
    "downloads": ["everyone"], "threshold": [0.5, 20.0],
}  # fmt: skip


def _served(plan: incfed.Plan, folder: Path) -> Config:
    plan.save(folder)
    return read_config(folder / "federation.toml")


def _longest(plan: incfed.Plan) -> tuple[float, float]:
    """Arms and rewards of a whole run, as `incfed.simulate` sees them."""
    stream = plan.case.world.open(np.random.SeedSequence(plan.held_out[0]))
    events = stream.take(plan.case.steps)
    arms = stream.items[events.arms]
    return float(np.linalg.norm(arms, axis=-1).max()), float(np.abs(events.rewards).max())


def test_the_advice_can_be_served(tmp_path: Path) -> None:
    rules = {"noise": 0.2, "delta": 0.05, "exploration": 0.3, "ridge": 0.4}
    costs = [1.0, 2.0, 3.5, 2.0, 1.0]
    tables = {**CASE, "search": PAID, "algorithm": rules, "costs": costs}
    plan = incfed.plan(tables, minimize="regret", budget=40, **QUICK)
    found = _served(plan, tmp_path)
    made, said = plan.algorithm(), found.settings
    assert said.dim == 3
    assert said.mechanism == made.mechanism
    assert isinstance(said.mechanism, incfed.PaymentEfficient)
    assert said.mechanism.beta == plan.setting.beta
    assert said.threshold == made.threshold == plan.setting.threshold
    assert (said.ridge, said.noise, said.delta, said.exploration) == (0.4, 0.2, 0.05, 0.3)
    assert said.budget == 40
    assert said.cost_limit == 35
    longest, largest = _longest(plan)
    assert longest * 0.9999999 <= said.arm_norm <= 1.1 * longest
    assert largest <= said.reward_bound <= 1.1 * largest
    assert found.server.database == f"sqlite:///{tmp_path / 'federation.db'}"
    text = (tmp_path / "federation.toml").read_text()
    for key in ("arm_norm", "reward_bound", "cost_limit", "database", "host"):
        [line] = [line for line in text.splitlines() if line.startswith(f"{key} =")]
        assert "# a guess" in line
    assert "no reward was larger in 1,000 steps" in text
    page = (tmp_path / "plan.html").read_text()
    assert "incfed serve --config federation.toml" in page
    assert "incfed run run.toml" in page


def test_a_log_that_cannot_keep_its_budget(tmp_path: Path) -> None:
    """The nearest plan pays more than it may: the budget stays, and the file says what follows."""
    write_trace(tmp_path / "log.npz")
    world = {"kind": "Trace", "file": str(tmp_path / "log.npz")}
    everyone = {"mechanisms": ["PayEveryone"], "threshold": 1.0, **PAPER}
    tables = {"world": world, "costs": 1.0, "search": everyone, "algorithm": {"reads": "stale"}}
    plan = incfed.plan(tables, maximize="reward", budget="50%", **QUICK)
    assert not plan.within
    found = _served(plan, tmp_path / "out").settings
    assert isinstance(found.mechanism, incfed.PayEveryone)
    assert found.budget == pytest.approx(plan.goal.limits[0].value, rel=1e-5)
    assert found.exploration is None
    text = plan.federation or ""
    assert "it may not last" in text
    assert "no reward was larger in the log's 240 steps" in text
    assert "No setting was found that keeps all limits" in text.replace("\n# ", " ")
    assert "The plan is for stale reads." in text


def test_all_of_a_log_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest reward and the longest arm come last."""
    arms = np.full((50, 2, 1), 0.5)
    rewards = np.full((50, 2), 0.25)
    arms[49], rewards[49, 1] = 3.0, -7.0
    log = incfed.Trace(np.zeros(50, int), arms, rewards)
    for chunk in (1000, 50, 7, 1):
        monkeypatch.setattr(config_files, "LOOK", chunk)
        assert config_files.sizes(log, 0) == (3.0, 7.0)


def test_without_a_budget_none_is_written(tmp_path: Path) -> None:
    tables = {**CASE, "costs": 0.0, "search": {"mechanisms": ["PaymentFree"], **PAPER}}
    plan = incfed.plan(tables, max_communication=1e9, **QUICK)
    found = _served(plan, tmp_path).settings
    assert isinstance(found.mechanism, incfed.PaymentFree)
    assert found.budget is None
    assert found.cost_limit == 1  # nobody's is above 0, but it must be


def test_what_cannot_be_served_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = incfed.plan(CASE, budget=60, **QUICK)
    plan.save(tmp_path)

    def refused(settings: Settings) -> None:
        raise incfed.InputError("breaks a rule", "mechanism")

    monkeypatch.setattr(Settings, "check", refused)
    plan = replace(plan)  # without what it remembers
    assert plan.federation is None
    page = plan.save(tmp_path)
    assert not (tmp_path / "federation.toml").exists()  # that of the plan before is gone, too
    assert "incfed serve" not in page.read_text()


@pytest.mark.parametrize("name", ["run.toml", "federation.toml"])
def test_a_changed_config_is_never_overwritten(name: str, tmp_path: Path) -> None:
    ask: dict[str, Any] = {"budget": 60, "output": tmp_path, **QUICK}
    incfed.plan(CASE, **ask)
    plan = incfed.plan(CASE, **ask)  # as it was left: written again
    file = tmp_path / name
    mine = file.read_text().replace("threshold = ", "threshold = 1")
    file.write_text(mine)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with pytest.raises(incfed.InputError, match=f"{name}: was edited since a plan wrote it"):
        incfed.plan(CASE, **{**ask, "trials": 32})  # refused before any run
    with pytest.raises(incfed.InputError, match="move it away"):
        plan.save(tmp_path)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_pages_of_somebody_else_stay(tmp_path: Path) -> None:
    (tmp_path / "plan.html").write_text("mine")
    with pytest.raises(incfed.InputError, match=r"plan\.html from another source"):
        incfed.plan(CASE, output=tmp_path, **QUICK)
    assert [one.name for one in tmp_path.iterdir()] == ["plan.html"]


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), st.data())
def test_any_change_is_seen(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    file = tmp_path_factory.mktemp("sealed") / "a.toml"
    text = f"{text}\n"
    toml.write_sealed(file, text)
    assert file.read_text(encoding="utf-8").startswith(text)
    toml.write_sealed(file, text)
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.sampled_from([b"", b"x", b"\n", b"\xff", b"##"]))
    changed = whole[:at] + other + whole[at + 1 :]
    file.write_bytes(changed)
    if changed == whole:
        return
    with pytest.raises(incfed.InputError, match="would be overwritten"):
        toml.write_sealed(file, text)
    assert file.read_bytes() == changed
