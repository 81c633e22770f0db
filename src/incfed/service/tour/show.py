"""A tour for somebody who watches, or as plain lines for nobody in particular."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from ...support.inputs import counted
from .board import board, size
from .story import Story

EVERY = 10.0  # seconds between lines of figures, where nobody watches


class Show:
    def __init__(self, console: Console, story: Story, title: str) -> None:
        self._console, self._story, self._title = console, story, title
        self._live: Live | None = None
        self._said = 0
        self._next = EVERY

    @contextmanager
    def running(self) -> Iterator[None]:
        """A board that is drawn again and again, and gone at the end; or nothing of the kind."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def update(self, now: float, end: float) -> None:
        """`now` seconds after the beginning, of `end`."""
        if self._live is not None:
            clock = f"{_minutes(now)} of {_minutes(end)}   Ctrl-C ends it"
            height = self._console.height
            self._live.update(board(self._story, self._title, clock, height), refresh=True)
            return
        self.flush()
        if now >= self._next:
            self._next = now + EVERY
            self._line(f"after {now:.0f} s: {figures(self._story)}")

    def flush(self) -> None:
        """What was not said yet, where it is said in lines."""
        if self._live is None and not self._console.is_terminal:
            for line in self._story.words[self._said :]:
                self._line(line)
            self._said = len(self._story.words)

    def last(self, now: float) -> None:
        """The board as it stays."""
        self.flush()
        if self._console.is_terminal:
            height = self._console.height
            self._console.print(board(self._story, self._title, f"{_minutes(now)}, ended", height))

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, emoji=False, soft_wrap=True)


def figures(story: Story) -> str:
    """A line of them."""
    shops = story.shops
    regret, alone = sum(one.regret for one in shops), sum(one.alone for one in shops)
    traffic = sum(one.bytes for one in shops)
    return (
        f"{counted(story.steps, 'step')}, {counted(story.closed, 'round')}, "
        f"{story.spent:.2f} paid, {story.left:.2f} of the budget left, "
        f"regret {regret:.1f} (alone: {alone:.1f}), {size(traffic)} sent"
    )


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
