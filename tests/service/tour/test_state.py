"""The parts of `incfed up`: what it tells from what it is told, and how that looks."""

from __future__ import annotations

import io
import itertools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import incfed
from incfed.service.coordinator.config import read_config
from incfed.service.tour.display import Display, board, size
from incfed.service.tour.example_client import ClientTask, ExampleClient, events_of
from incfed.service.tour.folder import audit_folder, find_folder, prepare_folder
from incfed.service.tour.options import TourOptions
from incfed.service.tour.state import LogTail, TourState
from support.fake_coordinator import Fake
from support.fake_server import serving

OPTIONS = TourOptions(clients=3, cost=4.0, budget=10.0)


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


def told(*lines: dict[str, Any], options: TourOptions = OPTIONS) -> TourState:
    state = TourState(options)
    for line in lines:
        state.log(line)
    return state


def test_a_round_in_words_and_figures() -> None:
    state = told({"message": "kernels ready"}, *one_round(1, {"0": 0.0, "2": 2.5}))
    assert state.messages == [
        "Round 1: opened by shop-2, which has learned enough.",
        "Round 1: shop-1 shared for data, shop-3 for 2.50.",
    ]
    assert (state.closed, state.spent, state.left) == (1, 2.5, 7.5)
    [round] = state.rounds
    assert (round.stage, round.opener, round.ratio, round.left) == ("closed", 1, 0.75, 7.5)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (one_round(1, {"0": 0.0, "1": 0.0, "2": 0.0}), "Round 1: all shared for data."),
        (one_round(1, {"1": 1.0}), "Round 1: shop-2 shared for 1.00."),
        (one_round(1, {}), "Round 1: nobody shared."),
        (one_round(1, {}, data_only=True), "so it offers only data."),
        (one_round(1, {"0": 0.0}, failed=[2]), "shop-3 did not deliver; decided again without"),
        (
            [event("void", 1, reason="nobody uploaded")],
            "ended without a decision: nobody uploaded.",
        ),
        ([event("barred", 1, client=0, until=4)], "shop-1 did not deliver as asked"),
    ],
)
def test_words(lines: list[dict[str, Any]], said: str) -> None:
    assert any(said in line for line in told(*lines).messages)


def test_a_round_that_was_open_before_counts_too() -> None:
    """After a kill -9, the log begins in the middle."""
    state = told(*one_round(4, {"0": 1.5})[-2:], *one_round(5, {"0": 1.0}))
    assert (state.closed, state.spent) == (2, 2.5)
    assert [(one.number, one.opener) for one in state.rounds] == [(4, None), (5, 1)]


def test_steps_of_an_earlier_tour_are_told_apart() -> None:
    state = TourState(OPTIONS)
    for steps in (40, 45):
        state.report(0, {"steps": steps})
    state.report(2, {"steps": 10})
    assert (state.steps, state.earlier_steps) == (55, 50)


def shown(state: TourState, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=80, height=height, record=True)
    console.print(board(state, "title", "0:01 of 1:30   Ctrl-C to stop", height))
    return console.export_text().splitlines()


@pytest.mark.parametrize("height", [24, 30, 60])
def test_the_board_fits(height: int) -> None:
    """Into a terminal of the usual size, with figures as large as a tour gets."""
    rounds = [line for k in range(1, 99) for line in one_round(k, {"0": 0.0, "1": 10.0})]
    state = told(*rounds, event("opened", 99, client=0), options=TourOptions(budget=1000.0))
    report: dict[str, Any] = {
        "steps": 1234,
        "pending": 123,
        "epoch": 99,
        "earned": 123.45,
        "scalars": 12345,
    }
    report |= {"bytes": 1234567, "regret": 12.34, "alone": 23.45, "problem": None}
    for who in range(5):
        state.report(who, report)
    lines = shown(state, height)
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
    state, out = told(*one_round(1, {"0": 0.0})), io.StringIO()
    display = Display(Console(file=out, width=80), state, "title")
    with display.running():
        for now in (0.0, 5.0, 10.0, 10.1):
            display.update(now, 90.0)
        state.say("The end.")
    display.last(11.0)
    lines = out.getvalue().splitlines()
    assert lines[:2] == state.messages[:2]
    assert lines[2].startswith("after 10 s: 0 steps, 1 round, 0.00 paid, 10.00 of the budget left")
    assert lines[3:] == ["The end."]


def test_on_a_terminal_the_last_board_stays() -> None:
    out = io.StringIO()
    display = Display(Console(file=out, width=80, height=24, force_terminal=True), told(), "title")
    with display.running():
        display.update(61.0, 90.0)
        assert "1:01 of 1:30" in out.getvalue()
    display.last(61.0)
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
    tail = LogTail(log)
    assert tail.new() == []
    with log.open("a") as file:
        for part, new in (('{"a": 1}\n{"b"', [{"a": 1}]), (": 2}\nTraceback\n", [{"b": 2}])):
            file.write(part)
            file.flush()
            assert tail.new() == new
    assert LogTail(tmp_path / "none").new() == []


@pytest.mark.parametrize("kind", ["PaymentEfficient", "PaymentFree", "PayEveryone"])
def test_the_folder_is_an_ordinary_federation(kind: str, tmp_path: Path) -> None:
    options = TourOptions(clients=2, mechanism=kind, threshold=2.0, cost=0.0)
    folder = prepare_folder(options, find_folder(tmp_path / "new"), 4711)
    config = read_config(folder.config)
    assert config.settings == options.settings
    assert config.server.port == 4711
    tokens = [(folder.client(name) / "token").read_text() for name in options.names]
    assert not folder.again
    assert prepare_folder(options, find_folder(tmp_path / "new"), 4712).again
    assert tokens == [(folder.client(name) / "token").read_text() for name in options.names]
    assert (folder.client("shop-1") / "token").stat().st_mode & 0o077 == 0
    assert audit_folder(folder).clean
    for other in (TourOptions(clients=3), TourOptions(clients=2, seed=1)):
        with pytest.raises(incfed.InputError, match=r"--(clients|seed): got \d, must be"):
            prepare_folder(other, find_folder(tmp_path / "new"), 4711)
    assert tomllib.loads(folder.config.read_text())["server"]["port"] == 4712


def test_costs_lie_around_the_one_given() -> None:
    assert TourOptions(clients=3, cost=4.0).costs == [2.0, 4.0, 6.0]
    assert TourOptions(clients=1, cost=4.0).costs == [4.0]


def test_each_client_sees_its_own_part_of_one_world() -> None:
    world = TourOptions(clients=3).world
    stream = world.open(np.random.SeedSequence(7))
    events = stream.take(300)
    for who in range(3):
        own = np.flatnonzero(events.clients == who)
        seen = list(itertools.islice(events_of(world, 7, who), len(own)))
        for t, moment in zip(own, seen, strict=True):
            np.testing.assert_array_equal(moment.arms, stream.items[events.arms[t]])
            np.testing.assert_array_equal(moment.rewards, events.rewards[t])


def test_regret_and_that_of_learning_alone_are_of_the_same_steps(tmp_path: Path) -> None:
    """Also after a kill -9 between two reports. Who never shares is as good as alone."""
    world = {key: value for key, value in TourOptions().world.settings().items() if key != "kind"}
    with serving(Fake(1, 10, threshold=1e9, reward_bound=2.0)) as (url, _):
        task = ClientTask(url, str(tmp_path), 0, 3, 0.0, 1.0, world)
        for steps, reported in ((20, True), (5, False), (10, True)):
            with incfed.Client(url, "token-0", tmp_path / "state") as client:
                example = ExampleClient(task, client)
                for _ in range(steps):
                    example.step()
                if reported:
                    report = example.report()
                assert report["regret"] == pytest.approx(report["alone"], abs=1e-12)
        assert report["steps"] == 35
        assert report["regret"] > 0.0
