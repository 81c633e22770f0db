"""The sentences of a plan: what to run, what to expect, what money buys, which limits to relax. All
figures come from held-out runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ..results.document import Tone
from ..results.intervals import Interval
from ..results.numbers import human
from ..rules.learning import AUTO
from ..rules.rounds import EVERYONE
from ..support.inputs import counted
from .answer import worth
from .goals import GAINS, METRICS, OPTIONS, UNITS, Limit, loss
from .judging import Judged, LimitCheck
from .selection import RUNGS
from .space import ALL, FREE, MIXTURE, PAID, Setting
from .ties import PLAY_OFF

if TYPE_CHECKING:
    from .planner import Plan

COSTLY = {0.5: "half", 1.0: "as planned", 2.0: "twice"}  # by the factor that costs are off by
LUCKY = "It keeps them in the held-out runs, but not in the search: do not count on it."
NOTHING_MORE = "More money buys nothing: in the held-out runs, no dearer setting is better."
NO_BETTER = "no better than a cheaper one"
TWO = "No single limit is in the way: relax at least two of them."


def advice(plan: Plan) -> str:
    """Whether sharing pays, what to run and what to expect, in a few sentences."""
    return f"{worth(plan)} {what_to_run(plan)}"


def what_to_run(plan: Plan) -> str:
    """The setting, what to expect of it, and whether that keeps the limits."""
    setting = str(plan.setting)
    first = f"{setting[:1].upper()}{setting[1:]}. {pay(plan)} {expectation(plan)}"
    broken = plan.judgement.broken(plan.goal, plan.judgement.chosen)
    if not plan.within:
        said = f"No setting was found that keeps all limits. The nearest: {first}"
        return said if broken else f"{said} {LUCKY}"
    if broken:
        return (
            f"{first} It kept all limits in the search, but not in the held-out runs: "
            f"{'; '.join(broken)}. To be safe, ask for a little more than you need."
        )
    return first


def warning(plan: Plan) -> str:
    """What is said beside the answer, because the advice breaks a limit."""
    broken = "; ".join(plan.judgement.broken(plan.goal, plan.judgement.chosen))
    if not plan.within:
        nearest = f"The nearest breaks: {broken}." if broken else LUCKY
        return f"No setting was found that keeps all limits. {nearest}"
    return f"The advice did not keep all limits: {broken}." if broken else ""


def pay(plan: Plan) -> str:
    """What is paid, and for what."""
    payment = plan.judgement.chosen["payment"]
    if plan.setting.mechanism == FREE:
        return "Nobody is paid."
    if payment.high == 0 and plan.setting.mechanism in (ALL, PAID):
        return "Shares are paid only where data does not cover the cost; we expect no payments."
    if payment.high == 0:
        return "We expect no payments."
    return f"We expect payments of {payment}."


def expectation(plan: Plan) -> str:
    """ "Over 5,000 steps, we expect regret 33 ± 1, 3.0 M scalars."."""
    chosen, goal = plan.judgement.chosen, plan.goal
    asked = (goal.aim, *(limit.metric for limit in goal.limits))
    limited = [name for name in METRICS if name in asked and name != "payment"]
    metrics = dict.fromkeys([goal.performance, *limited, "communication"])
    figures = ", ".join(UNITS[name].format(chosen[name]) for name in metrics)
    return f"Over {counted(plan.case.steps, 'step')}, we expect {figures}."


def _paid(payment: Interval) -> str:
    return "no payments" if payment.high == 0 else f"{payment} paid"


def tone(kept: LimitCheck) -> Tone:
    """Kept for sure, close, or not kept."""
    if not kept.kept:
        return "bad"
    return "good" if kept.sure else "close"


def limit_words(kept: LimitCheck) -> str:
    """A limit, and whether the held-out figures keep it."""
    if kept.sure:
        return f"{kept.limit}: {'kept' if kept.kept else 'not kept'} ({kept.said})"
    mean = "kept" if kept.kept else "not kept"
    return f"{kept.limit}: close ({kept.said}): {mean} on average, but that is not sure"


def point_label(plan: Plan, one: Judged) -> str:
    """A point of the frontier, whether it is worth its money, and the limits that it breaks."""
    parts = [one.label]
    if one not in plan.judgement.improving(plan.goal.bought):
        parts.append(NO_BETTER)
    if broken := outside(plan, one):
        parts.append(f"outside: {'; '.join(broken)}")
    return "; ".join(parts)


def outside(plan: Plan, one: Judged) -> list[str]:
    """Limits that a point of the frontier breaks, besides those on its own two axes."""
    return plan.judgement.broken(plan.goal.without("payment", plan.goal.bought), one)


def sensitivity_words(plan: Plan) -> list[str]:
    """What happens if sharing costs half or twice as much, with the same setting."""
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
    """Where the figures come from."""
    case, seeds = plan.case, len(plan.held_out)
    tried = (
        f"Tried {counted(len(plan.tried), 'setting')} in {counted(plan.runs, 'run')} with up to "
        f"{counted(RUNGS[-1], 'seed')} each; poor ones got fewer. "
    )
    again = f"with up to {counted(PLAY_OFF[-1], 'other seed')}"
    if plan.goal.counts_traffic:
        tried += f"Ties with the best were decided {again}, for less traffic and then less money."
    else:
        tried += f"The best met again {again}; the best mean of all their runs decided."
    means = "± is a 95 % interval of the mean, not the spread of single runs."
    if case.fitted is not None:
        seen = counted(case.fitted.log.length, "event")
        return [
            tried,
            f"All figures come from {counted(seeds // case.fitted.runs, 'world')} drawn from a "
            f"model that is fitted to the {seen} of the log, each run {case.fitted.runs} times for "
            f"{counted(case.steps, 'step')}. ± is a 95 % interval of what the log leaves open; a "
            "single launch may differ by more.",
        ]
    if case.share is None:
        unused = f"{counted(seeds, 'seed')} that the search did not use"
        return [tried, f"All figures come from {unused}. {means}"]
    part = f"the first {case.share:.0%} of the log"
    if case.table.get("kind") == "MovieLens":  # see MovieLens.part
        part = "one half" if case.share == 0.5 else f"{case.share:.0%}"
        part += " of each user's events"
    how = f"{counted(seeds, 'other seed')}, which draw the order and what is shown"
    fresh = (
        f"Settings were chosen on {part}. All figures come from the rest, run from scratch for "
        f"{counted(case.steps, 'step')}, with {how}. {means}"
    )
    return [tried, fresh]


def table_note(plan: Plan) -> str:
    """What ± means in the table of what to expect."""
    seeds, fitted = len(plan.held_out), plan.case.fitted
    whose = f"of {counted(seeds, 'run')} that the search did not use"
    if fitted is not None:
        whose = f"in {counted(seeds // fitted.runs, 'world')} that the log allows"
    return (
        f"Means {whose}, ± a 95 % interval. Learning alone uses the best alpha and lambda found "
        "for it."
    )


def explain(setting: Setting) -> str:
    """What a setting means."""
    if setting.mechanism == FREE:
        who = "Nobody is paid: clients share if others' data is worth their cost (PaymentFree)."
    elif setting.mechanism == ALL:
        who = (
            "Everyone shares, and is paid the cost that others' data does not cover (PayEveryone)."
        )
    elif setting.mechanism != PAID or setting.beta is None:
        beta = "" if setting.beta is None else f" at beta {setting.beta:g}"
        who = f"{setting.mechanism} decides who shares and who is paid{beta}."
    else:
        who = (
            f"As few are paid as needed for det V of the shared data to reach {setting.beta:.4g} "
            f"times that of all data (PaymentEfficient, beta {setting.beta:g})."
        )
    if setting.own is not None:
        when = f"Clients ask for a round when {setting.trigger} says so"
    elif setting.news is None:
        when = f"Clients ask for a round when they have enough new data (D_c {setting.threshold:g})"
    else:
        when = (
            "The server opens a round when enough clients share for data alone and it brings "
            f"enough news ({setting.news:g} nats; Patient, signal {setting.signal})"
        )
    if setting.download != EVERYONE:
        when += "; only clients that share get the new model (one-for-one)"
    how = f"Clients learn by ridge regression (lambda {setting.ridge:g})"
    if setting.exploration is not None:
        how += f" and explore with a fixed alpha of {setting.exploration:g}"
    elif setting.width == MIXTURE:
        how += " and explore as the method of mixtures says"
    if setting.width_scale != 1.0:
        how += f", with {setting.width_scale:g} times the alpha of the formula"
    if setting.trust == AUTO:
        how += "; each finds out how far to trust others"
    elif setting.trust != math.inf:
        how += f"; others' data counts for at most {setting.trust:g} of their observations (trust)"
    return f"{who} {when}. {how}."


def lie_words(plan: Plan) -> list[str]:
    """What lying gains under the advice, if the plan was asked to mind it."""
    candidate = plan.case.space.candidates.get(plan.setting.candidate)
    bound = candidate.lie_bound if candidate is not None else None
    return [f"If clients lie about their costs: {bound}."] if bound else []


def shown_metrics(plan: Plan) -> list[str]:
    """The metrics that are known."""
    return [name for name in METRICS if not math.isnan(plan.judgement.chosen[name].mean)]


@dataclass(frozen=True)
class FrontierStep:
    """From one point of the frontier to the next that is better in the held-out runs."""

    cheap: Judged
    dear: Judged
    metric: str  # that money buys
    unit: float  # of money
    tried: int = 0  # settings that the search tried in between, and found no better

    @property
    def bought(self) -> Interval:
        """How much better the dearer one is."""
        pair = (self.dear, self.cheap) if self.metric in GAINS else (self.cheap, self.dear)
        return pair[0].more(pair[1], self.metric)

    @property
    def rate(self) -> float:
        """What a further unit of money buys; NaN if both cost the same."""
        money = self.dear.more(self.cheap, "payment").mean
        return self.unit * self.bought.mean / money if money else math.nan

    def __str__(self) -> str:
        bought, rate = self.bought, self.rate
        better = bought.mean > 0
        more = "more" if better == (self.metric in GAINS) else "less"
        sure = "" if bought.low > 0 or bought.high < 0 else " (within chance)"
        cheap, dear = (human(one["payment"].mean) for one in (self.cheap, self.dear))
        if math.isnan(rate):
            return f"both at {cheap}: {human(abs(bought.mean))} {more} {self.metric}{sure}"
        what = f"{'buys' if better else 'brings'} {human(abs(rate))} {more} {self.metric}{sure}"
        some = counted(self.tried, "setting")
        none = f"; {some} in between looked no better than the cheaper end" if self.tried else ""
        return f"from {cheap} to {dear}: each further {self.unit:,g} {what}{none}"


def frontier_steps(plan: Plan) -> list[FrontierStep]:
    """What each further sum buys, from the cheapest point of the frontier on. Sums are counted in a
    unit of a hundredth to a tenth of the largest."""
    top = max((one["payment"].mean for one in plan.frontier), default=0.0)
    unit = 10.0 ** (math.floor(math.log10(top)) - 1) if top > 0 else 1.0
    return [
        FrontierStep(*pair, plan.goal.bought, unit, _tried_between(plan, *pair))
        for pair in pairwise(plan.judgement.improving(plan.goal.bought))
    ]


def _tried_between(plan: Plan, cheap: Judged, dear: Judged) -> int:
    """How many settings of the search paid more than the one and less than the other, and looked
    no better than the cheaper one."""
    found = dict(plan.tried)
    if cheap.setting not in found or dear.setting not in found:
        return 0
    low, high, metric = found[cheap.setting], found[dear.setting], plan.goal.bought
    return sum(
        low["payment"] < means["payment"] < high["payment"]
        and loss(metric, means[metric]) >= loss(metric, low[metric])
        for means in found.values()
    )


def money_words(plan: Plan) -> list[str]:
    """What each further sum buys, in words."""
    return [str(step) for step in frontier_steps(plan)] or [NOTHING_MORE]


def relax(plan: Plan) -> list[str]:
    """For each limit, a value that could be kept, as far as held-out runs can tell."""
    if plan.within:
        return []
    easiest = plan.judgement.easiest
    limits = [one for one in plan.goal.limits if one.metric in easiest]
    return [_relax_words(plan, one, easiest[one.metric]) for one in limits] or [TWO]


def _relax_words(plan: Plan, limit: Limit, near: Judged) -> str:
    [kept] = [x for x in plan.judgement.limits(plan.goal, near) if x.limit == limit]
    rest = plan.goal.without(limit.metric)
    broken = plan.judgement.broken(rest, near)
    has = f"{near.setting} has {UNITS[limit.metric].format(kept.said)}"
    if broken:
        has += f", but in held-out runs it breaks: {'; '.join(broken)}"
        others = " for this limit"
    else:
        others = ", with the other limits kept" if rest.limits else ", with nothing else asked"
    enough, asked, unit = offer(kept)
    what = f"{asked:.10g}{unit} is kept in held-out runs, though not in the search"
    if enough < asked if limit.metric in GAINS else enough > asked:
        what = f"{enough:.10g}{unit} instead of {asked:.10g}{unit} would do"
    return f"{OPTIONS[limit.metric]} {what}{others}: {has}"


def offer(kept: LimitCheck) -> tuple[float, float, str]:
    """A limit that the whole held-out interval keeps, in three digits, rounded to the easier side;
    the limit as it is; and the unit of both."""
    limit, gain = kept.limit, kept.limit.metric in GAINS
    figure, asked, unit = kept.figure, limit.value, ""
    if limit.share is not None and kept.share is not None:
        figure, asked, unit = kept.share, limit.share, "%"
    end = figure.low if gain else figure.high
    if unit:
        end = max(end, 0.0)  # no share may be negative
    digit = 10.0 ** (math.floor(math.log10(abs(end))) - 2) if end else 1.0
    enough = (math.floor if gain else math.ceil)(end / digit) * digit
    return float(f"{enough:.3g}"), asked, unit
