"""A tour on the screen: a live board on a terminal, plain lines elsewhere."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from rich import filesize
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ...results.numbers import human
from ...support.inputs import counted
from .state import ClientStatus, RoundStatus, TourState

SHARED, PAID, OUT, WAITING = "●", "$", "·", "○"
FIGURES = ("Cost", "Steps", "Pending", "Epoch", "Earned", "Scalars", "Bytes", "Regret", "Alone")
LEGEND = (
    f"{SHARED} for data  {PAID} also paid  {OUT} not in   ratio: of all data's det V  left: budget"
)
OTHER_LINES = 11  # lines that are neither clients, rounds nor messages
LEAST, MOST = 3, 10  # rounds that are shown, and messages
EVERY = 10.0  # seconds between lines of figures, without a terminal


def board(state: TourState, title: str, clock: str, height: int) -> RenderableType:
    """As much as fits into `height` lines."""
    spare = height - len(state.clients) - OTHER_LINES
    rounds = min(MOST, max(LEAST, (spare + 1) // 2))
    messages = min(MOST, max(LEAST, spare - rounds))
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right")
    head.add_row(Text("incfed up", "bold"), Text(clock, "dim"))
    return Group(
        head,
        _line(title, "dim"),
        "",
        _clients(state),
        "",
        _rounds(state, rounds),
        "",
        *_messages(state, messages),
        "",
        _line(LEGEND, "dim"),
    )


def _line(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


def _table() -> Table:
    return Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold cyan", expand=True
    )


def _clients(state: TourState) -> Table:
    table, total = _table(), state.total
    table.add_column("Client", no_wrap=True)
    for name in FIGURES:
        table.add_column(name, justify="right", no_wrap=True)
    for client in state.clients:
        table.add_row(*_client(client))
    table.add_row(
        "together", "", f"{total('steps'):,}", f"{total('pending')}", "",
        f"{total('earned'):.2f}", human(total("scalars")), filesize.decimal(total("bytes")),
        f"{total('regret'):.1f}", f"{total('alone'):.1f}", style="bold",
    )  # fmt: skip
    return table


def _client(client: ClientStatus) -> list[RenderableType]:
    if client.state != "up":
        return [client.name, f"{client.cost:.2f}", Text(client.state, "yellow")]
    mark = Text.assemble(client.name, (" !", "red") if client.problem else "")
    return [
        mark, f"{client.cost:.2f}", f"{client.steps:,}", str(client.pending), str(client.epoch),
        Text(f"{client.earned:.2f}", "green" if client.earned else "dim"),
        human(client.scalars), filesize.decimal(client.bytes), f"{client.regret:.1f}",
        Text(f"{client.alone:.1f}", "dim"),
    ]  # fmt: skip


def _rounds(state: TourState, most: int) -> RenderableType:
    table = _table()
    table.add_column("Round", justify="right", no_wrap=True)
    table.add_column("opened by", no_wrap=True)
    table.add_column("who shared", no_wrap=True, ratio=1)
    for name in ("paid", "ratio", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = state.rounds[-most:]
    for one in shown:
        opener = state.name(one.opener)
        table.add_row(str(one.number), opener, marks(state, one), *_end(one))
    for _ in range(most - len(shown)):
        table.add_row()
    return table


def _end(round: RoundStatus) -> list[RenderableType]:
    if round.stage in ("open", "offered"):
        return []
    paid = sum(round.payments.values())
    money = Text("none", "yellow") if round.data_only else Text(f"{paid:.2f}")
    share = Text("void", "red") if round.stage == "void" else Text(f"{round.ratio:.2f}")
    return [money, share, f"{round.left:.2f}"]


def marks(state: TourState, round: RoundStatus) -> Text:
    """One for each client; while the round is in progress, how far it got."""
    text = Text()
    for who in range(len(state.clients)):
        if round.stage == "open":
            mark = (WAITING, "cyan") if who in round.uploaded else (OUT, "dim")
        elif round.stage == "offered":
            mark = (WAITING, "yellow") if who in round.offers else (OUT, "dim")
            if who in round.delivered:
                mark = (SHARED, "yellow")
        else:
            pay = round.payments.get(who)
            mark = (OUT, "dim") if pay is None else (PAID, "green") if pay else (SHARED, "bold")
        text.append(*mark)
        text.append(" ")
    if round.stage == "open":
        text.append(f" uploaded: {len(round.uploaded)} of {len(state.clients)}", "cyan")
    elif round.stage == "offered":
        done = len(round.delivered & set(round.offers))
        text.append(f" asked: {len(round.offers)}, delivered: {done}", "yellow")
    return text


def _messages(state: TourState, most: int) -> list[Text]:
    """The last ones, and empty lines in place of those that are still to come."""
    *older, last = state.messages[-most:] or [""]
    lines = [*(_line(text, "dim") for text in older), _line(last, "")]
    return lines + [Text("")] * (most - len(lines))


class Display:
    def __init__(self, console: Console, state: TourState, title: str) -> None:
        self._console, self._state, self._title = console, state, title
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._printed = 0  # messages
        self._next = EVERY

    def running(self) -> AbstractContextManager[object]:
        """On a terminal: a board that is redrawn, and removed at the end."""
        return self._live if self._console.is_terminal else nullcontext()

    def update(self, now: float, end: float) -> None:
        """Show the state, `now` seconds after the start, of `end`."""
        if self._console.is_terminal:
            clock = f"{_minutes(now)} of {_minutes(end)}   Ctrl-C to stop"
            self._live.update(self._board(clock), refresh=True)
            return
        self._print_messages()
        if now >= self._next:
            self._next = now + EVERY
            self._print(f"after {now:.0f} s: {figures(self._state)}")

    def last(self, now: float) -> None:
        """The last board, which stays on the terminal."""
        if self._console.is_terminal:
            self._console.print(self._board(f"{_minutes(now)}, ended"))
        else:
            self._print_messages()

    def _board(self, clock: str) -> RenderableType:
        return board(self._state, self._title, clock, self._console.height)

    def _print_messages(self) -> None:
        for line in self._state.messages[self._printed :]:
            self._print(line)
        self._printed = len(self._state.messages)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, emoji=False, soft_wrap=True)


def figures(state: TourState) -> str:
    """The main figures in one line."""
    total, sent = state.total, filesize.decimal(state.total("bytes"))
    return (
        f"{counted(total('steps'), 'step')}, {counted(state.closed, 'round')}, "
        f"{state.spent:.2f} paid, {state.left:.2f} of the budget left, "
        f"regret {total('regret'):.1f} (alone: {total('alone'):.1f}), {sent} sent"
    )


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
