"""Start a coordinator and its clients, look after them, and leave nothing running behind."""

from __future__ import annotations

import json
import os
import queue
import shlex
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...experiments.screen import Screen
from ...experiments.warm_up import compiling
from ...support.files import alone_in
from ...support.inputs import InputError, counted, refuse
from ...support.terminal import COMPILING, short
from ..client.terms import Terms
from ..client.warm_up import warm_up
from .child import Child
from .folder import Folder, check, find, furnish
from .plan import Plan
from .show import Show, figures
from .story import Story, Tail

GLANCE = 0.1  # seconds between looks
MEMBER = "incfed.service.tour.member"


def run(
    screen: Screen, plan: Plan, folder: Path | None, port: int | None, serve: Sequence[str]
) -> bool:
    """The whole of it; False: the ledger is not clean. `serve`: the module, and its arguments, that
    runs a coordinator by a config named after them."""
    port, path = _port(port), find(folder)
    with alone_in(path):
        return _run(screen, plan, furnish(plan, path, port), port, serve)


def _run(screen: Screen, plan: Plan, place: Folder, port: int, serve: Sequence[str]) -> bool:
    before = check(place)
    story = Story(plan, before.rounds, before.spent)
    tour = Tour(plan, place, port, serve, story)
    show = Show(screen.out, story, f"{_name(plan)}   http://127.0.0.1:{port}/docs")
    began: float | None = None  # time begins when all are there
    now = 0.0
    try:
        with screen.busy("starting"), compiling(lambda: screen.note(COMPILING)):
            tour.open()
        with show.running():
            while now < plan.seconds and not tour.done:
                tour.look()
                if began is None and tour.greet():
                    began = time.monotonic()
                now = 0.0 if began is None else time.monotonic() - began
                show.update(now, plan.seconds)
    except KeyboardInterrupt:
        story.say("Stopped: every process ends by itself, and what was learned stays on disk.")
    finally:
        with screen.busy("stopping"):
            tour.close()
    show.last(now)
    return _conclude(screen, place, story)


class Tour:
    """The processes, and what they tell."""

    def __init__(
        self, plan: Plan, folder: Folder, port: int, serve: Sequence[str], story: Story
    ) -> None:
        self.plan, self.folder, self.story = plan, folder, story
        self._port = port
        self._heard: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        self._tail = Tail(folder.log)
        command = [*serve, str(folder.config)]
        self.coordinator = Child("the coordinator", command, folder.log, lambda said: None)
        self.members = [self._member(who, name) for who, name in enumerate(plan.names)]

    def _member(self, who: int, name: str) -> Child:
        plan, home = self.plan, self.folder.client(name)
        world = {key: value for key, value in plan.world.settings().items() if key != "kind"}
        orders = {
            "url": f"http://127.0.0.1:{self._port}", "folder": str(home), "who": who,
            "seed": plan.seed, "cost": plan.costs[who], "world": world,
            "rate": plan.pace * plan.clients * float(plan.world.shares()[who]),
        }  # fmt: skip
        home.mkdir(parents=True, exist_ok=True)

        def hear(said: dict[str, Any]) -> None:
            self._heard.put((who, said))

        return Child(name, [MEMBER, json.dumps(orders)], home / "log", hear)

    def greet(self) -> bool:
        """Are all there? Says so."""
        if any(shop.state == "starting" for shop in self.story.shops):
            return False
        last = self.members[-1]
        self.story.say(f"All are up. To see what a crash does: kill -9 {last.pid} ({last.name}).")
        return True

    @property
    def done(self) -> bool:
        new = self.story.steps - self.story.before
        return self.plan.steps is not None and new >= self.plan.steps

    def open(self) -> None:
        self.coordinator.start(time.monotonic())
        _warm_up(self.plan)  # meanwhile, before many processes would each compile the same
        while not self._answers():
            if (code := self.coordinator.died()) is not None:
                if code >= 0:  # it says why, and would again
                    raise _gave_up(self.coordinator)
                self._again(self.coordinator, code)
            time.sleep(0.05)
        for one in self.members:
            one.start(time.monotonic())
        again = " again: it goes on where it stopped" if self.folder.again else ""
        clients = counted(self.plan.clients, "client")
        self.story.say(f"The coordinator is up{again}. Starting {clients}.")

    def look(self) -> None:
        """Wait a moment, and take in what happened."""
        self._hear(time.monotonic() + GLANCE)
        for one in (self.coordinator, *self.members):
            if (code := one.died()) is not None:
                self._again(one, code)
                if one in self.members:
                    self.story.shops[self.members.index(one)].state = "down"

    def _again(self, one: Child, code: int) -> None:
        """Start what died, unless that is of no use."""
        now = time.monotonic()
        if one.hopeless(code, now):
            raise _gave_up(one)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        what = "all that it knew is on disk: it is started again"
        self.story.say(f"{one.name} died ({how}); {what}.")
        one.start(now)

    def close(self) -> None:
        """Clients first: they have something to tell. Nothing is left running, whatever happens."""
        try:
            for one in self.members:
                one.ask_to_end()
            for one in self.members:
                one.end()
            self.coordinator.end()
        finally:
            for one in (*self.members, self.coordinator):
                one.end(0.0)
        self._hear(0.0)

    def _hear(self, until: float) -> None:
        while True:
            for line in self._tail.new():
                self.story.logged(line)
            left = until - time.monotonic()
            try:
                self.story.reported(*self._heard.get(block=left > 0, timeout=max(left, 0.001)))
            except queue.Empty:
                return

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1.0).close()
        except OSError:
            return False
        return True


def _port(port: int | None) -> int:
    if port is not None and not 1 <= port <= 65535:
        raise refuse("--port", port, "a whole number from 1 to 65,535")
    try:
        with socket.create_server(("127.0.0.1", port or 0)) as free:
            return int(free.getsockname()[1])
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise refuse("--port", port, f"free ({why}); without it, a free one is found") from None


def _warm_up(plan: Plan) -> None:
    """What clients need; the coordinator sees to its own."""
    settings = plan.settings
    said = {**settings.body(), "federation": settings.name, "client": {"id": 0, "name": "shop-1"}}
    warm_up(Terms.read(said))
    plan.world.open(np.random.SeedSequence(0)).take(1)


def _gave_up(child: Child) -> InputError:
    lines = child.log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "nothing")
    return InputError(f"{child.name}: ends as soon as it is started; {child.log} ends with: {last}")


def _name(plan: Plan) -> str:
    options = plan.made.settings()
    beta = f" beta {options['beta']:g}" if "beta" in options else ""
    return f"{plan.mechanism}{beta}, D_c {plan.threshold:g}"


def _conclude(screen: Screen, folder: Folder, story: Story) -> bool:
    report = check(folder)
    for finding in report.findings:
        screen.error(finding)
    screen.say(f"Audit: {report.words}.")
    story.closed, story.spent = report.rounds, report.spent  # a kill may have cost a line of log
    screen.say(f"In all: {figures(story)}.")
    config = shlex.quote(short(folder.config))
    where = short(folder.path)
    screen.note(
        f"""
Everything is in {where}: the config, the ledger, a log and a folder for each client.
Try next:
  incfed ledger audit --config {config}
  incfed ledger export payments.csv --config {config}
  incfed client list --config {config}
  incfed up -o {shlex.quote(where)}   goes on with this federation
A federation of your own: docs/service.md"""
    )
    return report.clean
