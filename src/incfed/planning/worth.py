"""What sharing is worth: in money after payments, and to each client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..results import document as doc
from ..results.intervals import Interval
from ..results.numbers import human, human_spread
from ..support.inputs import counted, joined, noun
from .by_client import ClientWorth
from .goals import GAINS
from .judging import Judgement, gains

if TYPE_CHECKING:
    from .planner import Plan

MOST_ROWS = 30  # of a table; of more clients it has both ends
ENDS = 12  # rows of each
NAMED = 5  # in a sentence


def net(judgement: Judgement, performance: str, value: float) -> Interval:
    """The gain in money, less what is paid for it, seed by seed."""
    chosen = judgement.chosen
    better = gains(chosen, judgement.alone, performance)
    pairs = zip(better, chosen.values("payment"), strict=True)
    return chosen.interval(value * gain - paid for gain, paid in pairs)


def blocks(plan: Plan) -> list[doc.Block]:
    """What sharing is worth to each client."""
    if not plan.shops:
        return []
    return [doc.Heading("What sharing is worth to each client"), *_clients(plan)]


def net_words(plan: Plan) -> str:
    """ "Sharing is worth 2,100 ± 300 after payments ..."; empty if nobody said what reward is
    worth."""
    worth, value = plan.net, plan.case.value_per_reward
    if worth is None or value is None:
        return ""
    over = f"after payments, over {counted(plan.case.steps, 'step')}"
    said = cannot_show(plan, f"sharing is worth its money {over}", worth)
    if worth.low > 0:
        said = f"Sharing is worth {worth} {over}."
    elif worth.high < 0:
        said = f"Sharing costs {replace(worth, mean=-worth.mean)} more than it brings {over}."
    paid = "nothing is paid" if plan.payment.high == 0 else f"{plan.payment} is paid"
    return f"{said} It brings {brings(plan, plan.gain)}, worth {value:g} each, and {paid}."


def brings(plan: Plan, gain: Interval) -> str:
    """A gain in words: "80 ± 20 more reward"."""
    metric = plan.goal.performance
    more = "more" if (gain.mean >= 0) == (metric in GAINS) else "less"
    return f"{replace(gain, mean=abs(gain.mean))} {more} {metric}"


def gain_title(plan: Plan) -> str:
    """A column of gains."""
    metric = plan.goal.performance
    return f"{'More' if metric in GAINS else 'Less'} {metric} than alone"


def cell(figure: Interval) -> doc.TableCell:
    """A figure in a table, its interval paler."""
    mean, _, half = str(figure).partition(" ± ")
    return doc.TableCell(mean, half)


def cannot_show(plan: Plan, whether: str, apart: Interval) -> str:
    """That a difference may be chance."""
    mean, half, unit = human_spread(apart.mean, apart.half)
    return (
        f"{_these(plan)} cannot show whether {whether}: the difference is {mean}{unit}, and chance "
        f"alone explains {half}{unit}."
    )


def _these(plan: Plan) -> str:
    return "These runs" if plan.case.fitted is None else "This log"


def _clients(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Text(client_words(plan))
    paid = any(one.payment for one in plan.shops)
    columns = [
        doc.Column("Client", "left"),
        doc.Column(gain_title(plan)),
        *([doc.Column("Payment")] if paid else []),
    ]
    note = (
        "Held-out means, seed by seed, with 95 % intervals of each client by itself: of 40 clients "
        "that neither gain nor lose, one looks by chance as if it lost."
    )
    yield doc.Table(tuple(columns), tuple(_rows(plan.shops, paid)), note)


def _rows(clients: Sequence[ClientWorth], paid: bool) -> Iterator[doc.TableRow]:
    def row(one: ClientWorth) -> doc.TableRow:
        gain = cell(one.gain)
        if one.loses:
            gain = replace(gain, tone="bad", why="loses for sure")
        return doc.TableRow.of(one.name, gain, *([human(one.payment)] if paid else []))

    if len(clients) <= MOST_ROWS:
        yield from map(row, clients)
        return
    yield from map(row, clients[:ENDS])
    rest = clients[ENDS:-ENDS]
    least, most = (human(end(one.gain.mean for one in rest)) for end in (min, max))
    cells = (f"{least} to {most}", *([""] if paid else []))
    yield doc.TableRow.of(f"{counted(len(rest), 'other')}", *cells)
    yield from map(row, clients[-ENDS:])


def client_words(plan: Plan) -> str:
    """Who loses for sure, by name, and how many gain."""
    clients, count = plan.shops, counted(len(plan.shops), "client")
    losers = [one for one in clients if one.loses]
    winners = sum(one.wins for one in clients)
    unsure = len(clients) - winners - len(losers)
    if unsure == len(clients):
        return f"{_these(plan)} cannot show of any client whether it gains or loses by sharing."
    said = f"None of the {count} loses by sharing for sure."
    if losers:
        names = [f"{one.name} ({one.gain})" for one in losers[:NAMED]]
        if rest := len(losers) - len(names):
            names.append(f"{rest:,} {noun(rest, 'other')}")
        verb = "loses" if len(losers) == 1 else "lose"
        said = f"{len(losers):,} of the {count} {verb} by sharing for sure: {joined(names)}."
    said += f" {winners:,} {'gains' if winners == 1 else 'gain'} for sure"
    return f"{said}; of {unsure:,} it cannot be told." if unsure else f"{said}."
