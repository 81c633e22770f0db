"""The story on a terminal: who knows and earned what, the last rounds, what happens in words."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...results.numbers import human
from .story import Round, Shop, Story

SHARED, PAID, OUT, WAITING = "●", "$", "·", "○"
AROUND = 11  # lines that are neither clients, rounds nor sentences
LEAST, MOST = 3, 10  # rounds that are shown, and sentences


def board(story: Story, title: str, clock: str, height: int) -> RenderableType:
    """As much of it as fits into `height` lines."""
    spare = height - len(story.shops) - AROUND
    rounds = min(MOST, max(LEAST, (spare + 1) // 2))
    words = min(MOST, max(LEAST, spare - rounds))
    head = Table.grid(expand=True)
    head.add_column(no_wrap=True)
    head.add_column(justify="right", no_wrap=True)
    head.add_row(Text("incfed up", "bold"), Text(clock, "dim"))
    return Group(
        head,
        Text(title, "dim", no_wrap=True, overflow="ellipsis"),
        "",
        _clients(story),
        "",
        _rounds(story, rounds),
        "",
        *_words(story, words),
        "",
        _legend(),
    )


def _table() -> Table:
    return Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold cyan", expand=True
    )


def _clients(story: Story) -> Table:
    table = _table()
    table.add_column("Client", no_wrap=True)
    for name in ("Cost", "Steps", "Pending", "Epoch", "Earned", "Scalars", "Bytes", "Regret"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Alone", justify="right", no_wrap=True)
    for shop in story.shops:
        table.add_row(*_shop(shop))
    shops = story.shops
    table.add_row(
        "together", "", f"{story.steps:,}", str(sum(one.pending for one in shops)), "",
        f"{sum(one.earned for one in shops):.2f}",
        human(sum(one.scalars for one in shops)), size(sum(one.bytes for one in shops)),
        f"{sum(one.regret for one in shops):.1f}", f"{sum(one.alone for one in shops):.1f}",
        style="bold",
    )  # fmt: skip
    return table


def _shop(shop: Shop) -> list[RenderableType]:
    if shop.state != "up":
        return [shop.name, f"{shop.cost:.2f}", Text(shop.state, "yellow")]
    mark = Text.assemble(shop.name, (" !", "red") if shop.problem else "")
    return [
        mark, f"{shop.cost:.2f}", f"{shop.steps:,}", str(shop.pending), str(shop.epoch),
        Text(f"{shop.earned:.2f}", "green" if shop.earned else "dim"),
        human(shop.scalars), size(shop.bytes), f"{shop.regret:.1f}",
        Text(f"{shop.alone:.1f}", "dim"),
    ]  # fmt: skip


def _rounds(story: Story, most: int) -> RenderableType:
    table = _table()
    table.add_column("Round", justify="right", no_wrap=True)
    table.add_column("called by", no_wrap=True)
    table.add_column("who shared", no_wrap=True, ratio=1)
    for name in ("paid", "ratio", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = list(story.rounds)[-most:]
    for one in shown:
        caller = "" if one.caller is None else story.shops[one.caller].name
        table.add_row(str(one.number), caller, marks(story, one), *_end(one))
    for _ in range(most - len(shown)):
        table.add_row()
    return table


def _legend() -> Text:
    marks = f"{SHARED} for data  {PAID} paid too  {OUT} not in"
    figures = "ratio: of all data's det V  left: budget"
    return Text(f"{marks}   {figures}", "dim", no_wrap=True, overflow="ellipsis")


def _end(round: Round) -> list[RenderableType]:
    if round.stage in ("open", "offered"):
        return []
    paid = sum(round.payments.values())
    money = Text("none", "yellow") if round.data_only else Text(f"{paid:.2f}")
    share = Text("void", "red") if round.stage == "void" else Text(f"{round.ratio:.2f}")
    return [money, share, f"{round.left:.2f}"]


def marks(story: Story, round: Round) -> Text:
    """One for each client; while the round runs, how far it got."""
    text = Text()
    for who in range(len(story.shops)):
        if round.stage == "open":
            mark = (WAITING, "cyan") if who in round.uploaded else (OUT, "dim")
        elif round.stage == "offered":
            asked = who in round.offers
            mark = (WAITING, "yellow") if asked else (OUT, "dim")
            if who in round.delivered:
                mark = (SHARED, "yellow")
        else:
            pay = round.payments.get(who)
            mark = (OUT, "dim") if pay is None else (PAID, "green") if pay else (SHARED, "bold")
        text.append(*mark)
        text.append(" ")
    if round.stage == "open":
        text.append(f" uploaded: {len(round.uploaded)} of {len(story.shops)}", "cyan")
    elif round.stage == "offered":
        done = len(round.delivered & set(round.offers))
        text.append(f" asked: {len(round.offers)}, delivered: {done}", "yellow")
    return text


def _words(story: Story, most: int) -> list[Text]:
    shown = story.words[-most:]
    lines = [Text(line, "dim" if n + 1 < len(shown) else "", no_wrap=True, overflow="ellipsis")
             for n, line in enumerate(shown)]  # fmt: skip
    return lines + [Text("")] * (most - len(shown))


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
