"""What is left of the gain if clients leave: the advice and learning alone, in the held-out runs
without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..environments.without import Without
from ..errors import InputError
from ..experiments.cells import Cell
from ..experiments.engine import Session
from ..results import document as doc
from ..results.intervals import Interval
from ..rules.members import is_spells
from ..support.inputs import counted, joined
from ..types import Floats, Ints
from .alone import Rules
from .by_client import ByClient
from .case import JUDGE, Case
from .judging import Judgement, gains
from .search import RunsFailed, needed, run_groups
from .worth import brings, cannot_show, cell, gain_title

if TYPE_CHECKING:
    from .planner import Plan

NAMED = 5  # clients in a sentence


@dataclass(frozen=True)
class Leaving:
    """What sharing brings to the clients who stay, and what they are paid: without the others, and
    in the same runs with all there."""

    count: int  # who leave
    names: tuple[str, ...]  # of them; empty if each seed draws who leaves
    gain: Interval
    gain_with_all: Interval
    lost: Interval  # of the gain, seed by seed
    payment: Interval
    payment_with_all: Interval


@dataclass(frozen=True)
class WithoutRun:
    """A held-out run without the clients who leave."""

    seed: int
    staying: Ints
    steps: int

    @classmethod
    def of(cls, world: Without, seed: int, steps: int) -> WithoutRun:
        staying = world.staying(np.random.SeedSequence(seed))
        return cls(seed, staying, world.steps(np.random.SeedSequence(seed), steps))

    def only(self, each: object) -> object:
        """Of a setting with a value for each client, those of the clients who stay."""
        if not isinstance(each, list | tuple) or is_spells(each):
            return each
        return [each[n] for n in self.staying]

    def sum(self, each: Floats) -> float:
        """Over the clients who stay."""
        return float(each[self.staying].sum())


def judge_leaving(
    case: Case,
    session: Session,
    judgement: Judgement,
    performance: str,
    found: ByClient,
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
) -> tuple[Leaving | None, str]:
    """What is left if clients leave; or None, and why that cannot be told."""
    if case.leave is None:
        return None, "there is only one client"
    setting, alone = judgement.chosen.setting, judgement.alone.rules
    assert setting is not None  # an advice shares
    assert alone is not None
    world = session.runner.world(case.scene(JUDGE), case.folder)[0].value.without(case.leave)
    runs = [WithoutRun.of(world, seed, case.steps) for seed in seeds]
    if not all(run.steps for run in runs):
        return None, "those who stay do not act in every run"
    groups: tuple[list[Cell], list[Cell]] = ([], [])
    for run in runs:
        fixed = {key: run.only(value) for key, value in case.fixed.items()}
        ours = setting.table(fixed, run.only(case.costs.of(run.seed)))
        groups[0].append(_cell(case, ours, run, str(setting)))
        groups[1].append(_cell(case, alone, run, "alone"))
    try:
        shared, apart = needed(run_groups(session, groups, progress))
    except (InputError, RunsFailed) as error:  # a mechanism with a setting for each client
        return None, str(error)
    advised = replace(judgement.chosen, runs=shared)
    gain = gains(advised, replace(judgement.alone, runs=apart), performance)
    with_all = [run.sum(each) for run, each in zip(runs, found.gain, strict=True)]
    paid = [run.sum(each) for run, each in zip(runs, found.paid, strict=True)]
    made = Leaving(
        count=world.leavers,
        names=tuple(case.client_names[n] for n in world.named),
        gain=advised.interval(gain),
        gain_with_all=advised.interval(with_all),
        lost=advised.interval(x - y for x, y in zip(with_all, gain, strict=True)),
        payment=advised["payment"],
        payment_with_all=advised.interval(paid),
    )
    return made, ""


def _cell(case: Case, algorithm: Rules, run: WithoutRun, setting: str) -> Cell:
    table = {**case.scene(JUDGE), "without": case.leave}
    point = {"setting": setting, "without": case.leave, "use": JUDGE, "steps": run.steps}
    return Cell(table, algorithm, run.seed, run.steps, case.folder, point)


def blocks(plan: Plan) -> list[doc.Block]:
    """What sharing brings to those who stay if clients leave."""
    heading = doc.Heading("If clients leave")
    found = plan.leaving
    if found is None:
        return [heading, doc.Text(f"This could not be run: {plan.leaving_fault}.")]
    columns = (
        doc.Column("For those who stay", "left"),
        doc.Column(gain_title(plan)),
        doc.Column("Payment"),
    )
    rows = [
        _row(f"with all {counted(plan.case.world.count, 'client')}", found, "_with_all"),
        _row(f"without {counted(found.count, 'client')}", found, ""),
    ]
    note = "Held-out means with 95 % intervals. Those who stay act as often as with all there."
    return [heading, doc.Text(leaving_words(plan, found)), doc.Table(columns, tuple(rows), note)]


def _row(label: str, found: Leaving, ending: str) -> doc.TableRow:
    figures = (getattr(found, f"{name}{ending}") for name in ("gain", "payment"))
    return doc.TableRow.of(label, *map(cell, figures))


def leaving_words(plan: Plan, found: Leaving) -> str:
    """Who leaves, whether sharing still pays, and what those who stay lose by it."""
    count = plan.case.world.count
    leave = "leaves" if found.count == 1 else "leave"
    who = f"{found.count:,} of the {counted(count, 'client')} {leave}"
    if not found.names:
        who += f" (each {'run' if plan.case.fitted is None else 'world'} has others)"
    elif len(found.names) <= NAMED:
        who = f"{joined(found.names)} {leave}"
    gain, lost = found.gain, found.lost
    said = cannot_show(plan, f"sharing pays for those who stay if {who}", gain)
    if gain.low > 0 or gain.high < 0:
        pays = "still pays" if gain.low > 0 else "does not pay"
        said = f"Sharing {pays} if {who}: it brings {brings(plan, gain)} to those who stay."
    said += f" With all there it brings them {brings(plan, found.gain_with_all)}"
    if lost.low > 0:
        said += f", of which {lost} is lost"
    elif lost.high < 0:
        said += f", {replace(lost, mean=-lost.mean)} less than without the others"
    return f"{said}."
