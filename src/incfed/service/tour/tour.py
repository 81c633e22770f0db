"""The tour: start a coordinator and clients, restart what dies, stop everything at the end."""

from __future__ import annotations

import json
import os
import shlex
import socket
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from ...errors import InputError, refuse
from ...experiments.warm_up import compiling
from ...support.files import alone_in
from ...support.inputs import counted
from ...support.terminal import COMPILING, Terminal, short
from ..client.durable_learner import warm_up
from ..codec import read
from ..wire import FederationView
from .display import Display, figures
from .example_client import ClientTask, read_report
from .folder import TourFolder, find_folder
from .options import TourOptions
from .processes import ChildProcess
from .state import TourState

REFRESH = 0.1  # seconds between updates of the display
EXAMPLE_CLIENT = "incfed.service.tour.example_client"


def run(
    screen: Terminal,
    options: TourOptions,
    folder: Path | None,
    port: int | None,
    serve: Sequence[str],
) -> bool:
    """A whole tour; False: the audit found something. `serve`: the module and arguments that run a
    coordinator; the path of its config is appended."""
    port, operators, path = _find_port(port), _find_port(None), find_folder(folder)
    with alone_in(path), closing(TourFolder(options, path, port, operators)) as made:
        tour = Tour(options, made, port, serve)
        screen.note(f"Watch it in a browser, once it runs: {made.console(operators)}")
        _watch(screen, tour, _title(options))
        return _conclude(screen, made, tour.state)


def _watch(screen: Terminal, tour: Tour, title: str) -> None:
    display, seconds = Display(screen.out, tour.state, title), tour.options.seconds
    began: float | None = None  # the time runs once all clients are up
    now = 0.0
    try:
        with screen.busy("starting"), compiling(lambda: screen.note(COMPILING)):
            tour.start()
        with display.running():
            while now < seconds and not tour.done:
                tour.update()
                if began is None and tour.all_up():
                    began = time.monotonic()
                now = 0.0 if began is None else time.monotonic() - began
                display.update(now, seconds)
    except KeyboardInterrupt:
        tour.state.say("Stopped: all processes end, and what was learned stays on disk.")
    finally:
        with screen.busy("stopping"):
            tour.stop()
    display.last(now)


class Tour:
    """The processes of a tour, and the state that they report."""

    def __init__(
        self, options: TourOptions, folder: TourFolder, port: int, serve: Sequence[str]
    ) -> None:
        self.options, self.folder, self._port = options, folder, port
        command = [*serve, str(folder.config)]
        self.coordinator = ChildProcess("the coordinator", command, folder.log)
        self.clients = [self._client(who, name) for who, name in enumerate(options.names)]
        self.state = TourState(options)
        self._take_in()
        self.state.messages.clear()  # of earlier tours

    def _client(self, who: int, name: str) -> ChildProcess:
        options, home = self.options, self.folder.client(name)
        world = {key: value for key, value in options.world.settings().items() if key != "kind"}
        task = ClientTask(
            url=f"http://127.0.0.1:{self._port}",
            folder=str(home),
            who=who,
            seed=options.seed,
            cost=options.costs[who],
            rate=options.pace * options.clients * float(options.world.shares()[who]),
            world=world,
        )
        home.mkdir(parents=True, exist_ok=True)
        return ChildProcess(name, [EXAMPLE_CLIENT, json.dumps(task._asdict())], home / "log")

    def all_up(self) -> bool:
        """Are all clients up? If so, say it."""
        if any(one.state == "starting" for one in self.state.clients):
            return False
        last = self.clients[-1]
        self.state.say(f"All are up. To see what a crash does: kill -9 {last.pid} ({last.name}).")
        return True

    @property
    def done(self) -> bool:
        new = self.state.total("steps") - self.state.earlier_steps
        return self.options.steps is not None and new >= self.options.steps

    def start(self) -> None:
        self.coordinator.start(time.monotonic())
        _warm_up(self.options)  # once, before every client would compile the same
        while not self._coordinator_is_up():
            if (code := self.coordinator.exit_code()) is not None:
                if code >= 0:  # it said why; a restart would not help
                    raise _cannot_run(self.coordinator)
                self._restart(self.coordinator, code)
            time.sleep(0.05)
        for one in self.clients:
            one.start(time.monotonic())
        again = " and continues where it stopped" if self.folder.again else ""
        clients = counted(self.options.clients, "client")
        self.state.say(f"The coordinator is up{again}. Starting {clients}.")

    def update(self) -> None:
        """Wait a moment, take in what is new, and restart what has died."""
        time.sleep(REFRESH)
        self._take_in()
        if (code := self.coordinator.exit_code()) is not None:
            self._restart(self.coordinator, code)
        for one, status in zip(self.clients, self.state.clients, strict=True):
            if (code := one.exit_code()) is not None:
                self._restart(one, code)
                status.state = "down"

    def _restart(self, one: ChildProcess, code: int) -> None:
        now = time.monotonic()
        if one.keeps_failing(code, now):
            raise _cannot_run(one)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        self.state.say(f"{one.name} died ({how}); everything is on disk, so it is restarted.")
        one.start(now)

    def stop(self) -> None:
        """Clients first: they have a last report. Nothing is left running, whatever happens."""
        try:
            for one in self.clients:
                one.ask_to_stop()
            for one in self.clients:
                one.stop()
            self.coordinator.stop()
        finally:
            for one in (*self.clients, self.coordinator):
                one.stop(0.0)
        self._take_in()

    def _take_in(self) -> None:
        """What the coordinator has recorded, and what the clients report."""
        for entry in self.folder.new_entries():
            self.state.record(entry)
        for who, child in enumerate(self.clients):
            report = read_report(self.folder.client(child.name))
            if report.get("pid") == child.pid:  # else of an earlier process
                self.state.report(who, report)

    def _coordinator_is_up(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1.0).close()
        except OSError:
            return False
        return True


def _find_port(port: int | None) -> int:
    if port is not None and not 1 <= port <= 65535:
        raise refuse("--port", port, "a whole number from 1 to 65,535")
    try:
        with socket.create_server(("127.0.0.1", port or 0)) as free:
            return int(free.getsockname()[1])
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        allowed = f"a free port ({why}); leave it out to use any free port"
        raise refuse("--port", port, allowed) from None


def _warm_up(options: TourOptions) -> None:
    """Compile what clients need; the coordinator compiles its own."""
    settings = options.settings
    more = {"federation": settings.name, "client": {"id": 0, "name": "shop-1"}, "epoch": 0}
    more["answer_within"] = settings.answer_time
    warm_up(read(FederationView, settings.body() | more))
    options.world.open(np.random.SeedSequence(0)).take(1)


def _cannot_run(child: ChildProcess) -> InputError:
    lines = child.log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "nothing")
    return InputError(f"{child.name} stops right after its start; {child.log} ends with: {last}")


def _title(options: TourOptions) -> str:
    settings = options.settings.mechanism.settings()
    beta = f" beta {settings['beta']:g}" if "beta" in settings else ""
    return f"{options.mechanism}{beta}, D_c {options.threshold:g}"


def _conclude(screen: Terminal, folder: TourFolder, state: TourState) -> bool:
    report = folder.audit()
    for finding in report.findings:
        screen.error(finding)
    screen.say(f"Audit: {report.words}.")
    screen.say(f"In total: {figures(state)}.")
    config = shlex.quote(short(folder.config))
    where = short(folder.path)
    screen.note(
        f"""
Everything is in {where}: the config, the ledger, a log and a folder for each client.
Try next:
  incfed ledger audit --config {config}
  incfed ledger export payments --config {config}
  incfed client list --config {config}
  incfed up -o {shlex.quote(where)}   continues this federation
To run your own federation: docs/service.md"""
    )
    return report.clean
