"""What a tour tells from what it is told, and how that looks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from incfed.service.tour.board import board, size
from incfed.service.tour.plan import Plan
from incfed.service.tour.show import Show
from incfed.service.tour.story import Story, Tail

PLAN = Plan(clients=3, cost=4.0, budget=10.0)


def event(kind: str, round: int, **what: Any) -> dict[str, Any]:
    return {"at": "now", "event": kind, "round": round, **what}


def one_round(number: int, payments: dict[str, float], **more: Any) -> list[dict[str, Any]]:
    fixed = {"failed": [], "data_only": False} | more
    return [
        event("opened", number, client=1, epoch=number - 1),
        *(event("uploaded", number, client=k) for k in range(3)),
        event("decided", number, attempt=1, offers=payments, **fixed),
        *(event("delivered", number, client=int(k)) for k in payments),
        event("closed", number, epoch=number, payments=payments, ratio=0.75),
    ]


def told(*lines: dict[str, Any], plan: Plan = PLAN) -> Story:
    story = Story(plan)
    for line in lines:
        story.logged(line)
    return story


def test_a_round_in_words_and_figures() -> None:
    story = told({"message": "kernels ready"}, *one_round(1, {"0": 0.0, "2": 2.5}))
    assert story.words == [
        "Round 1: shop-2 has learned enough to call for it.",
        "Round 1: shop-1 shared for data, shop-3 for 2.50.",
    ]
    assert (story.closed, story.spent, story.left) == (1, 2.5, 7.5)
    [round] = story.rounds
    assert (round.stage, round.caller, round.ratio, round.left) == ("closed", 1, 0.75, 7.5)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (one_round(1, {"0": 0.0, "1": 0.0, "2": 0.0}), "Round 1: all shared for data."),
        (one_round(1, {"1": 1.0}), "Round 1: shop-2 shared for 1.00."),
        (one_round(1, {}), "Round 1: nobody shared."),
        (one_round(1, {}, data_only=True), "so it offers data alone."),
        (one_round(1, {"0": 0.0}, failed=[2]), "shop-3 did not deliver; decided once more without"),
        ([event("void", 1, reason="nobody uploaded")], "came to nothing: nobody uploaded."),
        ([event("barred", 1, client=0, until=4)], "shop-1 had been asked, and failed"),
    ],
)
def test_words(lines: list[dict[str, Any]], said: str) -> None:
    assert any(said in line for line in told(*lines).words)


def test_a_round_that_was_open_before_counts_too() -> None:
    """After a kill -9, the log begins in the middle."""
    story = told(*one_round(4, {"0": 1.5})[-2:], *one_round(5, {"0": 1.0}))
    assert (story.closed, story.spent) == (2, 2.5)
    assert [(one.number, one.caller) for one in story.rounds] == [(4, None), (5, 1)]


def test_steps_of_an_earlier_tour_are_told_apart() -> None:
    story = Story(PLAN)
    for steps in (40, 45):
        story.reported(0, {"steps": steps})
    story.reported(2, {"steps": 10})
    assert (story.steps, story.before) == (55, 50)


def shown(story: Story, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=80, height=height, record=True)
    console.print(board(story, "title", "0:01 of 1:30   Ctrl-C ends it", height))
    return console.export_text().splitlines()


@pytest.mark.parametrize("height", [24, 30, 60])
def test_the_board_fits(height: int) -> None:
    """Into a terminal of the usual size, with figures as large as a tour gets."""
    rounds = [line for k in range(1, 99) for line in one_round(k, {"0": 0.0, "1": 10.0})]
    story = told(*rounds, event("opened", 99, client=0), plan=Plan(budget=1000.0))
    report: dict[str, Any] = {
        "steps": 1234,
        "pending": 123,
        "epoch": 99,
        "earned": 123.45,
        "scalars": 12345,
    }
    report |= {"bytes": 1234567, "regret": 12.34, "alone": 23.45, "problem": None}
    for who in range(5):
        story.reported(who, report)
    lines = shown(story, height)
    assert len(lines) < height
    text = "\n".join(lines)
    assert "…" not in text
    for word in ("1,234", "123.45", "12,345", "1.2 MB", "12.3", "117.2", "Pending", "Alone"):
        assert word in text, word
    assert "99  shop-1     · · · · ·  uploaded: 0 of 5" in text
    assert "98  shop-2     ● $ · · ·" in text
    assert "budget" in lines[-1]


def test_every_stage_has_marks() -> None:
    lines = one_round(1, {"0": 0.0, "2": 2.5})
    text = ["\n".join(shown(told(*lines[:n]), 24)) for n in range(1, len(lines) + 1)]
    assert "· · ·  uploaded: 0 of 3" in text[0]
    assert "○ ○ ·  uploaded: 2 of 3" in text[2]
    assert "○ · ○  asked: 2, delivered: 0" in text[4]
    assert "● · ○  asked: 2, delivered: 1" in text[5]
    assert "● · $" in text[7]
    assert "starting" in text[0]


def test_without_a_terminal_there_are_lines_each_once() -> None:
    story, out = told(*one_round(1, {"0": 0.0})), io.StringIO()
    show = Show(Console(file=out, width=80), story, "title")
    with show.running():
        for now in (0.0, 5.0, 10.0, 10.1):
            show.update(now, 90.0)
        story.say("The end.")
    show.last(11.0)
    lines = out.getvalue().splitlines()
    assert lines[:2] == story.words[:2]
    assert lines[2].startswith("after 10 s: 0 steps, 1 round, 0.00 paid, 10.00 of the budget left")
    assert lines[3:] == ["The end."]


def test_on_a_terminal_the_last_board_stays() -> None:
    out = io.StringIO()
    show = Show(Console(file=out, width=80, height=24, force_terminal=True), told(), "title")
    with show.running():
        show.update(61.0, 90.0)
        assert "1:01 of 1:30" in out.getvalue()
    show.last(61.0)
    assert "1:01, ended" in out.getvalue()


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (123456, "123 kB"), (4.2e9, "4.2 GB")],
)
def test_sizes(count: float, said: str) -> None:
    assert size(count) == said


def test_a_log_is_read_as_it_grows(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"before": 1}\n')
    tail = Tail(log)
    assert tail.new() == []
    with log.open("a") as file:
        for part, new in (('{"a": 1}\n{"b"', [{"a": 1}]), (": 2}\nTraceback\n", [{"b": 2}])):
            file.write(part)
            file.flush()
            assert tail.new() == new
    assert Tail(tmp_path / "none").new() == []
