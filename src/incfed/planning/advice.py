"""What a plan says, sentence by sentence: what to run, what to expect, what money buys, what to
relax. All of it comes from held-out runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ..results.document import Tone
from ..results.numbers import human
from ..support.inputs import counted
from .evidence import Interval
from .goals import GAINS, METRICS, UNITS, Limit
from .judging import Judged, LimitCheck
from .selection import LESS
from .space import ALL, FREE, PAID, Setting

if TYPE_CHECKING:
    from .planner import Plan

COSTLY = {0.5: "half", 1.0: "as planned", 2.0: "twice"}  # if costs are off by a factor
LUCKY = "Held-out it keeps them all, but in the search it did not: do not count on it."
NOTHING_MORE = "In the search, of what keeps the other limits, nothing that costs more is better."
TWO = "No single limit is in the way: relax at least two of them."


def advice(plan: Plan) -> str:
    """What to run and what to expect, in a sentence or two."""
    first = f"{_capital(str(plan.setting))}: expect {expectation(plan)}."
    broken = plan.judgement.broken(plan.goal, plan.judgement.chosen)
    if not plan.within:
        said = f"No setting was found that keeps all limits. The nearest: {first}"
        return said if broken else f"{said} {LUCKY}"
    if broken:
        return (
            f"{first} In the search it kept all limits, but held-out not: {'; '.join(broken)}. "
            "To be safe, ask for a little more than you need."
        )
    return first


def expectation(plan: Plan) -> str:
    """ "8,000 ± 900 paid over 5,000 steps, regret 33 ± 1, 3.0 M scalars"."""
    chosen = plan.judgement.chosen
    words = [f"{_paid(chosen['payment'])} over {counted(plan.case.steps, 'step')}"]
    for metric in (plan.goal.performance, *_limited(plan), "communication"):
        words.append(UNITS[metric].format(chosen[metric]))
    return ", ".join(dict.fromkeys(words))


def _limited(plan: Plan) -> list[str]:
    asked = (plan.goal.aim, *(limit.metric for limit in plan.goal.limits))
    return [name for name in METRICS if name in asked and name != "payment"]


def _paid(payment: Interval) -> str:
    return "nothing paid" if payment.high == 0 else f"{payment} paid"


def tone(kept: LimitCheck) -> Tone:
    """Kept for sure, close, or not kept."""
    if not kept.kept:
        return "bad"
    return "good" if kept.sure else "close"


def limit_words(kept: LimitCheck) -> str:
    """One limit, and how the held-out figures stand to it."""
    said, figure = f"{kept.limit}: ", kept.said
    if kept.sure:
        return said + (f"kept ({figure})" if kept.kept else f"not kept ({figure})")
    side = "inside" if kept.kept else "outside"
    return f"{said}close ({figure}): the mean is {side}, its interval reaches across"


def thrift(plan: Plan) -> list[str]:
    """Another setting that does about as well for less traffic, if that is so held-out, too."""
    judgement, goal, aim = plan.judgement, plan.goal, plan.goal.aim
    other, chosen = judgement.thrifty, judgement.chosen
    if other is None or judgement.violation(goal, other) > judgement.violation(goal, chosen):
        return []
    sent, usually = other["communication"], chosen["communication"].mean
    worse = chosen.more(other, aim) if aim in GAINS else other.more(chosen, aim)
    if sent.mean >= LESS * usually or worse.mean > worse.error:
        return []
    figures = f"{UNITS[aim].format(other[aim])} and {UNITS['communication'].format(sent)}"
    share = f"{sent.mean / usually:.0%}"
    return [f"About as good for {share} of the traffic: {other.label}, with {figures}."]


def point_label(plan: Plan, one: Judged) -> str:
    """A point of the frontier, and what speaks against it."""
    against = outside(plan, one)
    return f"{one.label}; outside: {'; '.join(against)}" if against else one.label


def outside(plan: Plan, one: Judged) -> list[str]:
    """Limits that a point of the frontier breaks, those on its own two axes aside; mostly none."""
    return plan.judgement.broken(plan.goal.without("payment", plan.goal.bought), one)


def sensitivity_words(plan: Plan) -> list[str]:
    """What happens if sharing costs half or twice of what was thought, with the same setting."""
    found = []
    for factor, judged in plan.judgement.sensitivity.items():
        if factor == 1:
            continue
        broken = plan.judgement.broken(plan.goal, judged)
        figures = [
            _paid(judged["payment"]),
            UNITS[plan.goal.performance].format(judged[plan.goal.performance]),
            UNITS["communication"].format(judged["communication"]),
        ]
        ending = f" (outside: {'; '.join(broken)})" if broken else ""
        found.append(
            f"If sharing is {COSTLY[factor]} as costly as you think: {', '.join(figures)}{ending}."
        )
    return found


def basis(plan: Plan) -> list[str]:
    """What the figures rest on."""
    case, seeds = plan.case, len(plan.held_out)
    tried = (
        f"Tried {counted(len(plan.tried), 'setting')} in {counted(plan.runs, 'run')} with up to "
        f"{counted(len(plan.search_seeds), 'seed')} each; hopeless ones got fewer."
    )
    means = "± is a 95 % interval of the mean, not the spread of single runs."
    if case.share is None:
        fresh = f"All figures come from {seeds} other seeds, on which nothing was chosen. {means}"
        return [tried, fresh]
    part = f"the first {case.share:.0%} of the log"
    if case.table.get("kind") == "MovieLens":  # see MovieLens.part
        part = "one half" if case.share == 0.5 else f"{case.share:.0%}"
        part += " of each user's events"
    if case.world.chance:
        how = f"{seeds} other seeds, which draw the order and what is shown"
    else:
        how = (
            f"{seeds} starting points in it, since a log leaves nothing else to chance: they tell "
            "how much the start matters, not how another log would differ"
        )
    fresh = (
        f"Settings were chosen on {part}. All figures come from the rest, run from scratch for "
        f"{counted(case.steps, 'step')}, with {how}. {means}"
    )
    matched = plan.judgement.chosen["matched"].mean
    if matched < case.steps:
        fresh += (
            f" Of the {counted(case.steps, 'step')} about {human(round(matched))} matched what the "
            "log showed; payments and traffic are those of the matched steps, and the reward is "
            "that of all steps if they paid like the matched ones."
        )
    return [tried, fresh]


def explain(setting: Setting) -> str:
    """What a setting means."""
    if setting.mechanism == FREE:
        who = "Nobody is paid: whoever others' data repays shares (PaymentFree)."
    elif setting.mechanism == ALL:
        who = "All data is bought, at what others' data leaves to pay (PayEveryone)."
    elif setting.mechanism != PAID or setting.beta is None:
        beta = "" if setting.beta is None else f" at beta {setting.beta:g}"
        who = f"{setting.mechanism} decides who shares and who is paid{beta}."
    else:
        who = (
            f"As few are paid as it takes for det V of what is shared to be {setting.beta:.4g} of "
            f"that of all data (PaymentEfficient, beta {setting.beta:g})."
        )
    return (
        f"{who} A round is asked for at D_c = {setting.threshold:g}; ridge regression with lambda "
        f"= {setting.ridge:g}."
    )


def shown_metrics(plan: Plan) -> list[str]:
    """Those that are known."""
    return [name for name in METRICS if not math.isnan(plan.judgement.chosen[name].mean)]


@dataclass(frozen=True)
class FrontierStep:
    """Between two neighbours on the frontier. That was drawn with the search's seeds: held-out, the
    dearer may be no better."""

    cheap: Judged
    dear: Judged
    money: Interval
    bought: Interval  # less regret, more reward
    unit: float  # of money, in which it is said

    @property
    def rate(self) -> float:
        """What a unit more buys; below zero, what it spoils; NaN if both cost the same."""
        return self.unit * self.bought.mean / self.money.mean if self.money.mean else math.nan

    @property
    def clear(self) -> bool:
        """More than chance."""
        return self.bought.low > 0 or self.bought.high < 0


def frontier_steps(plan: Plan) -> list[FrontierStep]:
    """What each further unit of money buys, from the cheapest point of the frontier on."""
    line, metric, unit = plan.frontier, plan.goal.bought, money_unit(plan)
    found = []
    for cheap, dear in pairwise(line):
        pair = (dear, cheap) if metric in GAINS else (cheap, dear)
        bought = pair[0].more(pair[1], metric)
        found.append(FrontierStep(cheap, dear, dear.more(cheap, "payment"), bought, unit))
    return found


def money_unit(plan: Plan) -> float:
    """A sum to count in: a hundredth to a tenth of the largest on the frontier."""
    top = max((one["payment"].mean for one in plan.frontier), default=0.0)
    return 10.0 ** (math.floor(math.log10(top)) - 1) if top > 0 else 1.0


def money_words(plan: Plan) -> list[str]:
    """What each further sum buys, in words."""
    return [step_words(one, plan.goal.bought) for one in frontier_steps(plan)] or [NOTHING_MORE]


def step_words(step: FrontierStep, metric: str) -> str:
    better = step.bought.mean > 0
    more = "more" if better == (metric in GAINS) else "less"
    sure = "" if step.clear else " (within chance)"
    cheap, dear = (human(one["payment"].mean) for one in (step.cheap, step.dear))
    if math.isnan(step.rate):
        return f"both at {cheap}: {human(abs(step.bought.mean))} {more} {metric}{sure}"
    verb = "buys" if better else "brings"
    what = f"{human(abs(step.rate))} {more} {metric}{sure}"
    return f"from {cheap} to {dear}: each further {step.unit:,g} {verb} {what}"


def relax(plan: Plan) -> list[str]:
    """For each limit a value that would do, as far as held-out runs can tell."""
    if plan.within:
        return []
    limits = [one for one in plan.goal.limits if one.metric in plan.judgement.easiest]
    return [
        _relax_words(plan, limit, plan.judgement.easiest[limit.metric]) for limit in limits
    ] or [TWO]


def _relax_words(plan: Plan, limit: Limit, near: Judged) -> str:
    [kept] = [x for x in plan.judgement.limits(plan.goal, near) if x.limit == limit]
    rest = plan.goal.without(limit.metric)
    broken = plan.judgement.broken(rest, near)
    has = f"{near.setting} has {UNITS[limit.metric].format(kept.said)}"
    if broken:
        has += f", but is held-out outside of: {'; '.join(broken)}"
        others = " for this limit"
    else:
        others = ", with the other limits kept" if rest.limits else ", with nothing else asked"
    enough, asked, unit = offer(kept)
    asked_for = f"{asked:.10g}{unit}"
    if enough < asked if limit.metric in GAINS else enough > asked:
        what = f"{enough:.10g}{unit} instead of {asked_for} would do"
    else:
        what = f"{asked_for} is kept held-out, though not in the search"
    return f"{limit.option} {what}{others}: {has}"


def offer(kept: LimitCheck) -> tuple[float, float, str]:
    """A limit that is kept up to the bad end of the held-out interval, in three digits, rounded to
    the side that is easier to keep; the limit as it is; and what both are in."""
    limit, gain = kept.limit, kept.limit.metric in GAINS
    figure, asked, unit = kept.figure, limit.value, ""
    if limit.share is not None and kept.share is not None:
        figure, asked, unit = kept.share, limit.share, "%"
    end = figure.low if gain else figure.high
    if unit:
        end = max(end, 0.0)  # a share below is refused
    digit = 10.0 ** (math.floor(math.log10(abs(end))) - 2) if end else 1.0
    enough = (math.floor if gain else math.ceil)(end / digit) * digit
    return float(f"{enough:.3g}"), asked, unit


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
