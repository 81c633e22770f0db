"""The plan in words: on the terminal, on the page and in `str(plan)` the same ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..results.numbers import human
from ..support.inputs import counted
from .evidence import Interval
from .goals import GAINS, METRICS, UNITS
from .judging import Judged, Kept
from .money import money_words
from .relaxing import relax
from .selection import LESS
from .space import ALL, FREE, PAID, Setting

if TYPE_CHECKING:
    from .planner import Plan

TITLES = {
    "regret": "Regret",
    "reward": "Reward",
    "payment": "Payment",
    "communication": "Communication",
}
COSTLY = {0.5: "half", 1.0: "as planned", 2.0: "twice"}  # if costs are off by a factor
LUCKY = "Held-out it keeps them all, but in the search it did not: do not count on it."
CONFIG, FEDERATION = "run.toml", "federation.toml"  # to go on with


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


def mark(kept: Kept) -> str:
    """Kept for sure, just so, or not."""
    return ("✓" if kept.sure else "≈") if kept.kept else "✗"


def limit_words(kept: Kept) -> str:
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


def whole_text(plan: Plan) -> str:
    """All of it as plain text."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield advice(plan)
    yield f"Asked for: {plan.goal}."
    yield from (f"  {limit_words(kept)}" for kept in plan.limits)
    yield from (*relax(plan), *thrift(plan))
    yield f"What money buys ({plan.goal.bought}):"
    yield from (
        f"  {human(one['payment'].mean)} paid: {one[plan.goal.bought]} ({point_label(plan, one)})"
        for one in plan.frontier
    )
    yield from (f"  {text}" for text in money_words(plan))
    yield from sensitivity_words(plan)
    for one in plan.judgement.references:
        words = ", ".join(UNITS[m].format(one[m]) for m in shown_metrics(plan))
        yield f"For comparison, {one.label}: {words}."
    yield from basis(plan)


def shown_metrics(plan: Plan) -> list[str]:
    """Those that are known."""
    return [name for name in METRICS if not math.isnan(plan.judgement.chosen[name].mean)]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
