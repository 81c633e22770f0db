"""Record the inputs of a trace: `PYTHONPATH=tests python tests/frozen/record.py NAME ...`

Clients with the protocol's own learner choose, learn and share in a small world, each with its
temper, and what they send is kept. Everything follows from the seed. Inputs whose decisions change
with the last digits of prices or data are not kept: another seed has to be taken.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

import incfed
from frozen import golden
from frozen.driver import Driver, play
from frozen.scenarios import SCENARIOS, Scenario, Temper
from frozen.traces import KIND, played
from incfed.ledger.settings import Settings
from incfed.protocol.client import Learner, Observations
from incfed.protocol.open_round import Uploads
from incfed.protocol.packing import FACTOR, Packed

NEAR = 1e-7  # relative: of prices and data


@dataclass
class Client:
    """A client: its learner, its temper, and what it has said."""

    number: int
    temper: Temper
    learner: Learner
    chance: np.random.Generator
    steps: int = 0  # learned
    settled: int = 0  # the last round that is known to have shared its data
    said: tuple[int, int] | None = None  # `settled` and `steps` at its last signal
    recent: list[Any] = field(default_factory=list)  # rows
    marks: dict[int, Observations] = field(default_factory=dict)  # pending, by steps, at signals
    silent: int = 0  # the round in which it says no more
    answered: tuple[int, int] | None = None  # the last round and attempt
    owes: bool = False  # a download: it has shared since its epoch
    gone: bool = False  # it knows that it was revoked
    price: dict[int, float] = field(default_factory=dict)  # by round

    def away(self, at: float) -> bool:
        return self.gone or any(begin <= at < end for begin, end in self.temper.away)

    def learn(self, theta: Any) -> None:
        arms = self.chance.standard_normal((4, len(theta)))
        arms *= 0.9 / np.linalg.norm(arms, axis=1, keepdims=True)
        x = arms[self.learner.choose(arms)]
        self.learner.learn(x, float(np.clip(x @ theta + 0.1 * self.chance.normal(), -0.95, 0.95)))
        self.steps += 1
        self.recent.append(x)

    def asks(self, round: int) -> float:
        """What it wants for its data, in cents."""
        varied = self.temper.price * self.chance.uniform(1.0 - self.temper.varies, 1.0)
        return self.price.setdefault(round, math.ceil(100.0 * varied) / 100.0)


class Recorder:
    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.chance = np.random.default_rng(scenario.seed)
        self.settings = Settings.read(scenario.settings, folder)
        self.scenario, dim = scenario, self.settings.dim
        self.theta = self.chance.standard_normal(dim)
        self.theta /= np.linalg.norm(self.theta)
        self.members = [
            {"name": f"client {k}"} | ({"key": k} if temper.signs else {})
            for k, temper in enumerate(scenario.tempers)
        ]
        self.driver = Driver(scenario.settings, self.members, folder)
        self.clients = [
            Client(k, temper, self._learner(), self.chance.spawn(1)[0])
            for k, temper in enumerate(scenario.tempers)
        ]
        self.events: list[dict[str, Any]] = []
        self._now = 0.0
        self._acts = [dict(act) for act in scenario.acts]  # of operators, to come
        self._late: list[tuple[float, str, dict[str, Any]]] = []  # when, and what is sent then

    def run(self) -> dict[str, Any]:
        """The inputs."""
        while self._now < self.scenario.seconds:
            for late in [late for late in self._late if late[0] <= self._now]:
                self._late.remove(late)
                self._send(late[1], **late[2])
            self._step([client for client in self.clients if not client.away(self._now)])
            self._now = math.floor(self._now) + 1.0
        assert not self._acts, self._acts
        self.driver.close()
        config = golden.plain(dict(self.scenario.settings))
        return {"settings": config, "members": self.members, "events": self.events}

    def _learner(self) -> Learner:
        known, dim = self.settings, self.settings.dim
        names = ("ridge", "noise", "delta", "width", "width_scale", "exploration")
        rules = {name: getattr(known, name) for name in names}
        algorithm = incfed.IncFedUCB(incfed.PayEveryone(), trigger=known.rule, **rules)
        trust = math.inf if known.trust is None else known.trust
        learner = Learner(dim, algorithm.rules(dim), trust)
        if known.privacy is not None:
            # within what is checked, so that no check is nearly failed
            bounds = 0.95 * known.arm_norm, 0.95 * known.reward_bound
            learner.privacy = incfed.Privacy(known.privacy.epsilon, known.privacy.delta, *bounds)
            learner.normals = self.chance.spawn(1)[0].standard_normal
        return learner

    def _send(self, do: str, **what: Any) -> Any:
        event = golden.plain({"at": round(self._now, 3), "do": do, **what})
        self._now += 0.01
        self.events.append(event)
        return self.driver.play(event)

    def _act(self, stage: str | None) -> None:
        """What an operator does now, in this stage of a round; again later, if it is refused."""
        if not self._acts or self._acts[0]["at"] > self._now:
            return
        act = self._acts[0]
        if act.get("stage", stage) != stage:
            return
        act.pop("stage", None)
        self._now += act.get("after", 0.0)
        kept = {name: act[name] for name in ("client", "settings") if name in act}
        if self._send(act["do"], **kept) is not None:
            self._acts.pop(0)
            if act["do"] == "revoke":
                self.clients[act["client"]].gone = True
                self._send("poll", clients=[act["client"]])

    def _step(self, clients: list[Client]) -> None:
        """A second: those that are there learn, look at the state and act on it."""
        if not clients:
            return
        for client in clients:
            if client.chance.random() < client.temper.learns:
                client.learn(self.theta)
        states = self._send("poll", clients=[client.number for client in clients])
        active = states[0].active
        self._act(None if active is None else active.stage)
        for k in self.chance.permutation(len(clients)).tolist():
            if clients[k].chance.random() >= clients[k].temper.slow:
                self._go(clients[k], states[k])

    def _go(self, client: Client, seen: Any) -> None:
        """One errand, as an agent would."""
        learner, round = client.learner, seen.active
        over = learner.frozen is not None and seen.over(learner.frozen.round)
        everyone, behind = self.settings.download == "everyone", seen.epoch - learner.epoch
        lags = client.temper.lags and not client.owes
        if over or behind > (self.settings.lag if lags else 0):
            self._download(client, model=not over or (everyone and not client.temper.lags))
        elif round is None:
            if self.settings.rule.streams and learner.pending_steps:
                self._signal(client)
            elif (learner.triggered and not behind) or client.chance.random() < client.temper.hasty:
                last = seen.round.number if seen.round is not None else 0
                call = {"epoch": learner.epoch, "after": last}
                noisy = learner.privacy is not None
                self._send("open", client=client.number, **call, noisy=noisy)
                if client.chance.random() < client.temper.deserts:
                    client.silent = last + 1
        elif round.number == client.silent:
            pass
        elif round.stage == "open" and not round.uploaded and learner.frozen is None:
            self._upload(client, round.number)
        elif round.stage == "offered" and round.offer is not None and not round.delivered:
            self._answer(client, round)

    def _download(self, client: Client, model: bool) -> None:
        epoch, frozen = client.learner.epoch, client.learner.frozen
        found = self._send("download", client=client.number, since=epoch, model=model)
        if found is not None:
            client.owes = frozen is not None and frozen.round in found.shared
            if frozen is not None and client.owes:
                client.settled = frozen.round
            client.learner.take_in(found)

    def _signal(self, client: Client) -> None:
        learner, said = client.learner, client.said
        if said == (client.settled, client.steps):
            return
        growth = max(0.0, learner.logdet - learner.logdet_shared)
        figures: dict[str, Any] = {
            "epoch": learner.epoch, "learned": client.steps, "steps": learner.pending_steps,
            "growth": growth, "price": client.asks(-client.settled),
        }  # fmt: skip
        if client.chance.random() < client.temper.wrong:
            figures["growth"] *= 2.0
        if self.settings.rule.streams == "rows":
            if said is not None and said[0] == client.settled:
                figures["rows"] = client.recent[said[1] :]
            else:
                figures["dV"] = _plain(learner.pending.packed())
        client.marks[client.steps] = learner.pending.plus(Observations.empty(learner.dim))
        heard = self._send("signal", client=client.number, **figures)
        client.said = None if heard is None else (client.settled, client.steps)

    def _upload(self, client: Client, round: int) -> None:
        upload = client.learner.freeze(round, client.asks(round))
        event = {
            "client": client.number, "round": round, "epoch": upload.epoch, "steps": upload.steps,
            "price": upload.cost, "dV": _plain(upload.dV),
        }  # fmt: skip
        self._share(client, "upload", event)

    def _answer(self, client: Client, round: Any) -> None:
        temper, number, attempt = client.temper, round.number, round.offer.attempt
        if client.learner.frozen is None and round.taken is not None:  # of what it streamed
            first = client.marks[round.taken]
            client.learner.freeze_first(number, first, client.learner.pending.minus(first))
        said = {"client": client.number, "round": number, "attempt": attempt}
        if client.answered != (number, attempt):
            client.answered, dice = (number, attempt), client.chance.random()
            if dice < temper.declines:
                client.silent = number
                self._send("answer", **said, accepted=False)
                return
            if dice < temper.declines + temper.fails:
                client.silent = number
                if client.chance.random() < 0.5:
                    self._send("answer", **said, accepted=True)
                return
            if client.chance.random() < temper.slow:
                self._send("answer", **said, accepted=True)  # it delivers later
                return
        event = {"client": client.number, "round": number, "db": client.learner.deliver(number)}
        scores = client.learner.scores(number)
        event |= {} if scores is None else {"scores": scores}
        self._share(client, "deliver", event)

    def _share(self, client: Client, do: str, event: dict[str, Any]) -> None:
        """Perhaps late; perhaps something impossible before, and the same, or nearly so, again."""
        if client.chance.random() < client.temper.late:
            client.silent = event["round"]
            self._late.append((self._now + client.chance.uniform(1.0, 6.0), do, event))
            return
        if client.chance.random() < client.temper.wrong:
            self._send(do, **event | self._spoilt(client, do, event))
        self._send(do, **event)
        if client.chance.random() < client.temper.wrong:
            again = {"price": event["price"] + 1.0} if do == "upload" else {}
            self._send(do, **event | (again if client.chance.random() < 0.5 else {}))

    def _spoilt(self, client: Client, do: str, event: dict[str, Any]) -> dict[str, Any]:
        """Something impossible."""
        spoilt: list[dict[str, Any]] = [{"round": event["round"] + 1}]
        if do == "upload" and event["steps"]:
            large = {name: 100.0 * np.array(rows) for name, rows in event["dV"].items()}
            spoilt += [{"price": 1e6}, {"price": -1.0}, {"epoch": 99}, {"steps": 0}, {"dV": large}]
        elif do == "deliver":
            spoilt += [{"db": 100.0 * event["db"] + 1.0}, {"db": event["db"][:-1]}]
        return spoilt[int(client.chance.integers(len(spoilt)))]


def _plain(dV: Packed) -> dict[str, Any]:
    return {"factor": dV.rows()} if dV.form == FACTOR else {"matrix": dV.matrix()}


# ------------------------------------------------------------------------------------ near ties


def near_ties(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    """What would be decided otherwise if prices, or data, were larger or smaller by 1e-7."""
    found = []
    for name, price, data in [
        ("higher prices", NEAR, 0.0), ("lower prices", -NEAR, 0.0),
        ("more data", 0.0, NEAR), ("less data", 0.0, -NEAR),
    ]:  # fmt: skip
        scaled = {**inputs, "events": [_scaled(event, 1.0 + data) for event in inputs["events"]]}
        with TemporaryDirectory() as folder, patch.object(Uploads, "of", _dearer(price)):
            differences = golden.differences(
                _choices(play(scaled, Path(folder))), _choices(outputs), name
            )
        found += differences[:1]
    return found


_of = Uploads.of


def _dearer(more: float) -> Any:
    """Uploads with all prices changed: those of messages are rounded to minor units."""

    def of(*messages: Any) -> Uploads:
        uploads = _of(*messages)
        return uploads._replace(costs=uploads.costs * (1.0 + more))

    return of


def _scaled(event: dict[str, Any], factor: float) -> dict[str, Any]:
    changed = dict(event)
    if "dV" in event:
        root = {"matrix": factor, "factor": math.sqrt(factor)}
        changed["dV"] = {name: _times(rows, root[name]) for name, rows in event["dV"].items()}
    if "rows" in event:
        changed["rows"] = _times(event["rows"], math.sqrt(factor))
    if "growth" in event:
        changed["growth"] = event["growth"] * factor
    return changed


def _times(rows: list[list[float]], factor: float) -> list[list[float]]:
    return [[factor * number for number in row] for row in rows]


def _choices(outputs: Mapping[str, Any]) -> list[Any]:
    """Who called for a round, who was asked, who shared, and who was refused."""
    plain = golden.plain(outputs)
    rounds = []
    for round in plain["rounds"]:
        asked = [[sorted(each["offers"]), each.get("removed")] for each in round["decisions"]]
        sharers = sorted(round.get("payments", []))
        rounds.append([round["trigger"], round["opened"], round.get("state"), asked, sharers])
    return [rounds, plain["refused"]]


def main(names: list[str]) -> None:
    file = golden.FOLDER / f"{KIND}.json.xz"
    kept = golden.load(KIND) if file.exists() else {}
    for name in names or SCENARIOS:
        with TemporaryDirectory() as folder:
            inputs = Recorder(SCENARIOS[name], Path(folder)).run()
        trace = played(inputs)
        if ties := near_ties(inputs, trace["outputs"]):
            print(f"{name}: {'; '.join(ties)}: take another seed")  # noqa: T201
        else:
            kept[name] = trace
            golden.save(KIND, kept)


if __name__ == "__main__":
    main(sys.argv[1:])
