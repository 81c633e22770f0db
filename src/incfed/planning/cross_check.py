"""The cross-check of a plan of a log: the advice and learning alone in one pass of unbiased replay,
in which no event comes twice, beside what the fitted world says of as many steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..environments import FittedWorld
from ..experiments.cells import Cell, Record
from ..experiments.engine import Session
from ..results import document as doc
from ..results.intervals import Interval
from ..results.numbers import human
from ..support.inputs import counted
from .alone import Rules
from .case import JUDGE, Case
from .judging import Judgement
from .search import RunsFailed
from .space import Setting

if TYPE_CHECKING:
    from .planner import Plan

NOTE = (
    "Means with 95 % intervals: of replay from passes of half the events, of the fitted world from "
    "what the log leaves open."
)
WAYS = {"alone": "Learning alone", "advice": "The advice", "gain": "What sharing brings"}
LEAST = 100  # matched steps, with which a pass says something
USE = "cross-check"


@dataclass(frozen=True)
class Rewards:
    """What both ways to learn earn, and how much more the advice does, seed by seed."""

    alone: Interval
    advice: Interval
    gain: Interval


@dataclass(frozen=True)
class CrossCheck:
    """Replay and the fitted world, over the same number of steps."""

    length: int  # steps of the plan that one pass supports: matched ones
    events: int  # of a pass
    replay: Rewards
    fitted: Rewards

    @property
    def apart(self) -> Interval:
        """By how much more sharing brings in the fitted world than in replay. Both come from one
        log, and a model that is right makes more of it: its figure may differ by what replay leaves
        open, and not by the chance of both (Hausman's test)."""
        replay = self.replay.gain
        return replace(replay, mean=self.fitted.gain.mean - replay.mean)

    @property
    def agree(self) -> bool:
        """Whether chance may be all that is between the two."""
        return not (self.apart.low > 0 or self.apart.high < 0)


def obstacle(case: Case) -> str:
    """Why a plan cannot be checked by replay, in a sentence; empty if it can. Of a world that is
    not fitted to a log there is nothing to check."""
    fitted = case.fitted
    if fitted is None:
        return ""
    if getattr(fitted.log, "mode", "") == "zero":
        return (
            "Replay cannot check the fitted world here: where other picks than the log's count as "
            'reward 0 (mode = "zero"), no replay is unbiased.'
        )
    if fitted.count != fitted.log.count:
        return (
            "Replay cannot check the fitted world here: it has "
            f"{counted(fitted.count, 'client')}, and the log {fitted.log.count:,}."
        )
    if (matched := _matched(fitted)) < LEAST:
        rare = "least_propensity" in fitted.log.settings()
        return (
            "Replay cannot check the fitted world here: one pass of the log has about "
            f"{counted(matched, 'matched step')}, and {LEAST} are needed."
            + " Its propensities are too small; with a higher `clip` more steps match."
            * rare
        )
    return ""


def _matched(fitted: FittedWorld) -> int:
    """How many steps of one pass of the log match, on average."""
    return int(fitted.log.match_rate * fitted.log.length)


def cross_check(
    case: Case,
    session: Session,
    judgement: Judgement,
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
) -> CrossCheck | None:
    """Replay the advice and learning alone, and look up what the fitted world says of as many
    steps; `seeds` are those of the held-out runs. None if there is an `obstacle`.

    The figures are means over passes whose events are shuffled, but stay near their places. How far
    these lie apart says nothing about another log: they have the same events. So intervals come
    from halves of the log, drawn without replacement: they are as far from all of it as that is
    from the truth (delete-d jackknife). Each half is run in several orders, since one run of a
    learner is far more a matter of luck than the mean of many.
    """
    fitted, setting, rules = case.fitted, judgement.chosen.setting, judgement.alone.rules
    if fitted is None or setting is None or rules is None or obstacle(case):
        return None
    length, recorded = min(case.steps, _matched(fitted)), fitted.log.length
    events = recorded
    if length == case.steps:  # the plan ends before the log does
        events = min(events, math.ceil(length / fitted.log.match_rate))
    half = min(events, recorded // 2)
    passes = seeds[: len(seeds) // fitted.runs]
    ways: list[Rules | Setting] = [rules, setting]
    groups = [_passes(case, way, passes, events) for way in ways]
    groups += [_passes(case, way, seeds, half, fitted.runs) for way in ways]
    groups += [case.alone(rules, seeds, JUDGE), case.cells(setting, seeds, JUDGE)]
    found = _records(session, groups, progress)
    replayed = [[_scaled(record, length) for record in records] for records in found[:4]]
    drawn = [[_after(record, length) for record in records] for records in found[4:]]
    whole, halves = _with_gain(*replayed[:2]), _with_gain(*replayed[2:])
    apart = math.sqrt(half / (recorded - half))
    return CrossCheck(
        length=length,
        events=events,
        replay=Rewards(
            *(
                _of_passes(own, some, fitted.runs, apart)
                for own, some in zip(whole, halves, strict=True)
            )
        ),
        fitted=Rewards(*(Interval.of_worlds(values, fitted.runs) for values in _with_gain(*drawn))),
    )


def _passes(
    case: Case, way: Rules | Setting, seeds: Sequence[int], events: int, orders: int = 1
) -> list[Cell]:
    """Runs on so many events of the log, none of them twice."""
    world = {**case.table["log"], "bootstrap": events, "orders": orders}
    point = {"setting": "alone", "use": USE, "steps": events}
    if isinstance(way, Setting):
        point["setting"] = str(way)
        tables = [way.table(case.fixed, case.costs.of(seed)) for seed in seeds]
    else:
        tables = [dict(way)] * len(seeds)
    return [
        Cell(world, table, seed, events, case.folder, point)
        for seed, table in zip(seeds, tables, strict=True)
    ]


def _records(
    session: Session, groups: Sequence[Sequence[Cell]], progress: Callable[[int, int], None]
) -> list[list[Record]]:
    """The records of each group; RunsFailed if any run failed."""
    outcome = session.run(
        session.check([cell for group in groups for cell in group]), progress=progress
    )
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.failures:
        raise RunsFailed(outcome.failures[0][1])
    records = iter(outcome.records)
    return [[next(records) for _ in group] for group in groups]


def _scaled(record: Record, length: int) -> float:
    """The reward of a replay at the rate of its matched steps."""
    matched = record.figures["matched"]
    return length * record.figures["reward"] / matched if matched else math.nan


def _after(record: Record, length: int) -> float:
    """The reward after so many steps of a run without skipped ones."""
    steps, rewards = ([0.0, *record.curve[name]] for name in ("step", "reward"))
    return float(np.interp(length, steps, rewards))


def _with_gain(
    alone: Sequence[float], advice: Sequence[float]
) -> tuple[Sequence[float], Sequence[float], list[float]]:
    """Both, and by how much the second is more."""
    return alone, advice, [own - other for other, own in zip(alone, advice, strict=True)]


def _of_passes(
    whole: Sequence[float], halves: Sequence[float], orders: int, apart: float
) -> Interval:
    """The mean over passes. `apart`: how far the log is from the truth, in standard deviations of
    passes of half its events; to this comes the chance that is left in the mean."""
    mean = Interval.of(whole)
    of_log = Interval.of_worlds(halves, orders)
    return replace(mean, half=math.hypot(apart * of_log.half, mean.half))


def blocks(plan: Plan) -> Iterator[doc.Block]:
    """The section of the page; nothing for a plan that is not of a log."""
    found = plan.cross_check
    why_not = obstacle(plan.case)
    if found is None and not why_not:
        return
    yield doc.Heading("Checked by replay")
    if found is None:
        yield doc.Text(why_not)
        return
    yield doc.Text(
        "One pass of replay, in which no event of the log comes twice, needs no model. It supports "
        f"{counted(found.length, 'step')}: rewards of as many in the fitted world stand beside it."
    )
    if found.agree:
        yield doc.Verdict("good", _agreement(found))
    else:
        yield doc.Verdict("bad", disagreement(plan))
    yield _table(found)
    yield doc.Text(_beyond(plan, found))


def _agreement(found: CrossCheck) -> str:
    apart = found.apart
    return (
        "Replay and the fitted world agree: what sharing brings differs by "
        f"{human(abs(apart.mean))}, and chance alone explains {human(apart.half)}."
    )


def disagreement(plan: Plan) -> str:
    """The warning that replay and the fitted world disagree; empty if they do not."""
    found = plan.cross_check
    if found is None or found.agree:
        return ""
    return (
        f"Replay and the fitted world disagree: over {counted(found.length, 'step')} sharing "
        f"brings {found.replay.gain} in replay and {found.fitted.gain} in the fitted world, more "
        "apart than chance explains. Do not rely on this plan yet. Either rewards are not as the "
        "model says, or the log's picks were not as random as assumed (see its propensities)."
    )


def _beyond(plan: Plan, found: CrossCheck) -> str:
    """What replay cannot check."""
    steps = plan.case.steps
    if found.length >= steps:
        return f"The log supports all {counted(steps, 'step')} of the plan."
    said = (
        f"What happens after step {found.length:,} of {steps:,} is the fitted world's word alone: "
        "sharing can win early and lose late."
    )
    late = plan.judgement.chosen.more(plan.judgement.alone, "reward")
    early = found.fitted.gain
    if early.low > 0 > late.high or early.high < 0 < late.low:
        said += (
            f" So it is here: in the fitted world sharing brings {early} by then, {late} in all."
        )
    return said


def _table(found: CrossCheck) -> doc.Table:
    columns = (
        doc.Column(f"Reward of {counted(found.length, 'step')}", "left"),
        doc.Column("One pass of replay"),
        doc.Column("Fitted world"),
    )
    rows = []
    for name, said in WAYS.items():
        cells = []
        for of in (found.replay, found.fitted):
            mean, _, half = str(getattr(of, name)).partition(" ± ")
            cells.append(doc.TableCell(mean, half))
        rows.append(doc.TableRow.of(said, *cells, emphasis=name == "gain"))
    return doc.Table(columns, tuple(rows), NOTE)


def as_data(plan: Plan) -> dict[str, Any] | None:
    """The check as JSON; of a plan that has none, why."""
    found = plan.cross_check
    if found is None:
        why_not = obstacle(plan.case)
        return {"not_checked": why_not} if why_not else None
    return {
        "length": found.length,
        "events": found.events,
        "agree": found.agree,
        "apart": found.apart.ends(),
        "replay": _rewards(found.replay),
        "fitted": _rewards(found.fitted),
    }


def _rewards(of: Rewards) -> dict[str, Any]:
    return {name: getattr(of, name).ends() for name in WAYS}
