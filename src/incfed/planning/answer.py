"""The answer of a plan: whether to share, what that brings and costs, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..results.document import Headline, KeyFigure, KeyFigures, Tone
from ..results.numbers import human, human_spread
from ..support.inputs import counted
from .goals import GAINS, UNITS

if TYPE_CHECKING:
    from .planner import Plan

SHARE, DO_NOT = "Share", "Do not share"
TONES: dict[str, Tone] = {SHARE: "good", DO_NOT: "bad"}


def verdict(plan: Plan) -> str:
    """The answer in two to four words."""
    if plan.gain.low > 0:
        return SHARE
    if plan.gain.high < 0:
        return DO_NOT
    return "These runs cannot tell" if plan.case.fitted is None else "This log cannot tell"


def headline(plan: Plan) -> Headline:
    said = verdict(plan)
    return Headline(said, TONES.get(said, "plain"))


def worth(plan: Plan) -> str:
    """Whether sharing pays here at all."""
    gain, metric = plan.gain, plan.goal.performance
    chosen, alone = plan.judgement.chosen, plan.judgement.alone
    if gain.low <= 0 <= gain.high:
        mean, half, unit = human_spread(gain.mean, gain.half)
        what = "These runs cannot show" if plan.case.fitted is None else "This log cannot show"
        said = (
            f"{what} whether sharing pays: the difference is {mean}{unit}, and chance alone "
            f"explains {half}{unit}."
        )
    else:
        better = "higher" if (gain.mean > 0) == (metric in GAINS) else "lower"
        said = (
            f"Sharing {'pays' if gain.mean > 0 else 'does not pay'} here: {metric} is "
            f"{replace(gain, mean=abs(gain.mean))} {better} than if nobody shares, "
            f"{human(chosen[metric].mean)} instead of {human(alone[metric].mean)}."
        )
    if plan.goal.aim != metric and not plan.judgement.broken(plan.goal, alone):
        said += " Without sharing all limits are kept too, for no money and no traffic."
    return said


def key_figures(plan: Plan) -> KeyFigures:
    """What sharing brings, what it costs, and how sure that is."""
    return KeyFigures((_brings(plan), _costs(plan), _sure(plan)))


def _brings(plan: Plan) -> KeyFigure:
    """Regret that is less is reward that is not missed."""
    gain, metric = plan.gain, plan.goal.performance
    chosen, alone = plan.judgement.chosen[metric].mean, plan.judgement.alone[metric].mean
    mean, half, unit = human_spread(gain.mean, gain.half)
    figure = f"{'+' if gain.mean > 0 else ''}{mean}{unit}"
    spread = f", give or take {half}{unit}" if half else ""
    instead = f"{human(chosen)} instead of {human(alone)}"
    if metric not in GAINS:
        instead = f"the reward missed (regret) is {instead}"
    text = f"reward{spread}, over {counted(plan.case.steps, 'step')}: {instead}"
    return KeyFigure("What sharing brings", figure, text)


def _costs(plan: Plan) -> KeyFigure:
    paid, sent = (plan.judgement.chosen[name] for name in ("payment", "communication"))
    budget = [limit.value for limit in plan.goal.limits if limit.metric == "payment"]
    of = f" of a budget of {human(budget[0])}" if budget else ""
    figure = "Nothing" if paid.high == 0 else human(paid.mean)
    text = f"is paid{of}" if paid.high == 0 else f"paid to clients{of}"
    return KeyFigure(
        "What it costs",
        figure,
        f"{text}; {UNITS['communication'].format(human(sent.mean))} are sent",
    )


def _sure(plan: Plan) -> KeyFigure:
    """Of a log, the share of the worlds it allows in which sharing is better; otherwise how likely
    that is on average, by these runs. If sharing is to be advised against, how likely it is worse.
    """
    better, word = plan.gain.positive, "better"
    if verdict(plan) == DO_NOT:
        better, word = 1 - better, "worse"
    if plan.case.fitted is not None:
        text = f"worlds that this log allows are {word} with sharing"
    else:
        gains = plan.judgement.gains(plan.goal)
        seen = sum(x > 0 if word == "better" else x < 0 for x in gains)
        runs = counted(len(gains), "run")
        text = f"chances that sharing is {word} on average; it was in {seen} of {runs}"
    return KeyFigure("How sure that is", f"{hundred(better)} of 100", text)


def hundred(share: float) -> str:
    """A share of a hundred. All of them, or none, would say too much."""
    if math.isnan(share):
        return human(share)
    return "< 1" if share < 0.005 else "> 99" if share >= 0.995 else f"{100 * share:.0f}"
