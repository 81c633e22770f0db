"""The parts of `incfed up`: what it tells from what it is told, and how that looks."""

from __future__ import annotations

import io
import itertools
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import incfed
from incfed.ledger.chain import append, entries_after
from incfed.mechanisms.registry import BUILT_IN
from incfed.service.coordinator.config import read_config
from incfed.service.tour.display import Display, board
from incfed.service.tour.example_client import ClientTask, ExampleClient, events_of, read_report
from incfed.service.tour.folder import TourFolder, find_folder
from incfed.service.tour.options import TourOptions
from incfed.service.tour.state import TourState
from incfed.service.tour.tour import Tour
from support.fake_coordinator import Fake
from support.fake_server import serving
from support.federation import Federation
from support.past import refused, sentence

OPTIONS = TourOptions(clients=3, cost=4.0, budget=10.0)


def entry(kind: str, round: int, **what: Any) -> dict[str, Any]:
    return {"number": 1, "kind": kind, "at": 0.0, "round": round, **what}


OPENED = entry("opened", 1, client=1, epoch=0)


def one_round(number: int, payments: dict[str, float], **more: Any) -> list[dict[str, Any]]:
    fixed = {"failed": [], "data_only": False, "money_digits": 2} | more
    units = {client: round(100 * paid) for client, paid in payments.items()}
    return [
        entry("opened", number, client=1, epoch=number - 1),
        *(entry("uploaded", number, client=k) for k in range(3)),
        entry("decided", number, attempt=1, offers=units, **fixed),
        *(entry("delivered", number, client=int(k)) for k in payments),
        entry("closed", number, epoch=number, payments=units, ratio=0.75, money_digits=2),
    ]


def told(*lines: dict[str, Any], options: TourOptions = OPTIONS) -> TourState:
    state = TourState(options)
    for line in lines:
        state.record(line)
    return state


def test_a_round_in_words_and_figures() -> None:
    state = told({"kind": "founded"}, *one_round(1, {"0": 0.0, "2": 2.5}))
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
            [OPENED, entry("void", 1, reason="nobody uploaded")],
            "ended without a decision: nobody uploaded.",
        ),
        (
            [OPENED, entry("barred", 1, client=0, until_time=300.0)],
            "shop-1 did not deliver as asked: left out of rounds for 300 s.",
        ),
    ],
)
def test_words(lines: list[dict[str, Any]], said: str) -> None:
    assert any(said in line for line in told(*lines).messages)


def test_a_client_that_is_not_of_the_tour_is_told_of_too() -> None:
    """Its federation is an ordinary one, in which others can be enrolled."""
    state = told(entry("opened", 1, client=3, epoch=0), *one_round(1, {"0": 1.0, "3": 1.0})[1:])
    assert state.messages[0] == "Round 1: opened by client 3, which has learned enough."
    assert state.messages[-1] == "Round 1: shop-1 client 3 shared for 2.00."
    assert any("client 3" in line for line in shown(state, 24))
    three = told(*one_round(1, {"0": 1.0, "1": 1.0, "3": 1.0}))
    assert "all" not in three.messages[-1]


def test_what_a_coordinator_records_is_told(tmp_path: Path) -> None:
    """In round 1 a client fails to deliver and is barred; in round 2 nobody uploads."""
    row = np.ones((1, 1))
    three = Federation(
        tmp_path / "a.db",
        3,
        dim=1,
        mechanism=incfed.PayEveryone(),
        threshold=1.0,
        budget=10.0,
        barred_time=60.0,
        answer_time=5.0,
        upload_time=5.0,
    )
    number = three.upload([0, 1, 2], [row] * 3, 2.0)
    three.deliver(0, number, row)
    three.deliver(2, number, row)
    three.wait(6.0)
    three.coordinator.open_round(0)
    three.wait(6.0)
    assert len(three.of("barred")) == 1
    with three.store.read() as connection:
        state = told(*entries_after(connection, 0))
    three.store.close()
    assert state.messages == [
        "Round 1: opened by shop-1, which has learned enough.",
        "shop-2 did not deliver as asked: left out of rounds for 60 s.",
        "Round 1: shop-2 did not deliver; decided again without.",
        f"Round 1: shop-1 shop-3 shared for {state.spent:.2f}.",
        "Round 2: opened by shop-1, which has learned enough.",
        "Round 2 ended without a decision: nobody uploaded.",
    ]
    assert state.spent > 0.0
    assert any("void" in line for line in shown(state, 24))


def test_rounds_of_an_earlier_tour_count_too(tmp_path: Path) -> None:
    """Also one that was open when it was killed. But what happened then is not told again."""
    lines = [*one_round(1, {"0": 1.5}), *one_round(2, {"0": 1.0})]
    with closing(TourFolder(OPTIONS, find_folder(tmp_path), 4711)) as folder:
        write(folder, lines[:-2])
    with closing(TourFolder(OPTIONS, find_folder(tmp_path), 4711)) as folder:
        tour = Tour(OPTIONS, folder, 4711, ["none"])
        state = tour.state
        assert (state.closed, state.spent, state.messages) == (1, 1.5, [])
        write(folder, lines[-2:])
        tour.stop()
    assert (state.closed, state.spent) == (2, 2.5)
    assert state.messages == ["Round 2: shop-1 shared for 1.00."]
    assert [(one.number, one.opener) for one in state.rounds] == [(1, 1), (2, 1)]


def write(folder: TourFolder, lines: list[dict[str, Any]]) -> None:
    """Into the ledger, as the coordinator does."""
    with folder._store.write() as connection:
        for line in lines:
            what = {key: value for key, value in line.items() if key not in ("number", "at")}
            append(connection, what.pop("kind"), 0.0, **what)


def test_steps_of_an_earlier_tour_are_told_apart() -> None:
    state = TourState(OPTIONS)
    for steps in (40, 45):
        state.report(0, {"steps": steps})
    state.report(2, {"steps": 10})
    assert (state.total("steps"), state.earlier_steps) == (55, 50)


def shown(state: TourState, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=80, height=height, record=True)
    console.print(board(state, "title", "0:01 of 1:30   Ctrl-C to stop", height))
    return console.export_text().splitlines()


@pytest.mark.parametrize("height", [24, 30, 60])
def test_the_board_fits(height: int) -> None:
    """Into a terminal of the usual size, with figures as large as a tour gets."""
    rounds = [line for k in range(1, 99) for line in one_round(k, {"0": 0.0, "1": 10.0})]
    state = told(*rounds, entry("opened", 99, client=0), options=TourOptions(budget=1000.0))
    report: dict[str, Any] = {
        "steps": 1234,
        "pending": 123,
        "epoch": 99,
        "earned": 123.45,
        "scalars": 12345,
    }
    report |= {"bytes": 123456, "regret": 12.34, "alone": 23.45, "problem": None}
    for who in range(5):
        state.report(who, report)
    lines = shown(state, height)
    assert len(lines) < height
    text = "\n".join(lines)
    assert "…" not in text
    for word in ("1,234", "123.45", "12,345", "123.5 kB", "12.3", "117.2", "Pending", "Alone"):
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


def test_the_ledger_is_read_as_it_grows(tmp_path: Path) -> None:
    with closing(TourFolder(OPTIONS, find_folder(tmp_path), 4711)) as folder:
        assert [one["kind"] for one in folder.new_entries()][:2] == ["founded", "settings"]
        for lines in (one_round(1, {"0": 1.5}), [], one_round(2, {})):
            write(folder, lines)
            assert [(one["kind"], one["round"]) for one in folder.new_entries()] == [
                (line["kind"], line["round"]) for line in lines
            ]


def test_only_reports_of_the_running_process_count(tmp_path: Path) -> None:
    """That of an earlier one stays on disk; one that cannot be read is none."""
    with closing(TourFolder(OPTIONS, find_folder(tmp_path), 4711)) as folder:
        tour = Tour(OPTIONS, folder, 4711, ["none"])
        for k, text in enumerate(('{"pid": 0, "steps": 5}', '{"pid": 1, "steps": 6}', "{")):
            (folder.client(f"shop-{k + 1}") / "progress.json").write_text(text)
        tour.stop()  # none was started: all have the pid 0
    assert [one.state for one in tour.state.clients] == ["up", "starting", "starting"]
    assert tour.state.total("steps") == 5


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_the_folder_is_an_ordinary_federation(kind: str, tmp_path: Path) -> None:
    options = TourOptions(clients=2, mechanism=kind, threshold=2.0, cost=0.0)
    with closing(TourFolder(options, find_folder(tmp_path / "new"), 4711)) as folder:
        config = read_config(folder.config)
        assert config.settings == options.settings
        assert config.server.port == 4711
        tokens = [(folder.client(name) / "token").read_text() for name in options.names]
        assert not folder.again
    with closing(TourFolder(options, find_folder(tmp_path / "new"), 4712)) as folder:
        assert folder.again
        assert tokens == [(folder.client(name) / "token").read_text() for name in options.names]
        assert (folder.client("shop-1") / "token").stat().st_mode & 0o077 == 0
        assert folder.audit().clean
    for other in (TourOptions(clients=3), TourOptions(clients=2, seed=1)):
        with pytest.raises(incfed.InputError, match=r"--(clients|seed): got \d, must be"):
            TourFolder(other, find_folder(tmp_path / "new"), 4711)
    assert tomllib.loads(folder.config.read_text())["server"]["port"] == 4712


def test_a_tour_of_another_version_is_left_as_it_was(tmp_path: Path) -> None:
    with closing(TourFolder(OPTIONS, find_folder(tmp_path), 4711)):
        pass
    with closing(sqlite3.connect(tmp_path / "federation.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0003'")
    with refused(tmp_path, sentence(tmp_path / "federation.db")):
        TourFolder(OPTIONS, find_folder(tmp_path), 4712)


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
                    example.report()
                report = read_report(tmp_path)
                assert report["regret"] == pytest.approx(report["alone"], abs=1e-12)
        assert report["steps"] == 35
        assert report["regret"] > 0.0
