"""One member of a real federation: chooses and learns here, shares in the background."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...support import inputs
from ..wire import StateView, get_download, get_federation, get_state, read
from . import snapshot
from .address import address
from .agent import Agent
from .contact import ask
from .ground import entered
from .intake import Intake
from .keeper import Keeper, blank
from .link import Link
from .patience import Patience
from .policies import Accept, Cost, accept_all, price_of, told
from .refusals import Unreachable
from .snapshot import Snapshot
from .terms import Terms
from .traffic import Traffic, Wire
from .transport import Transport
from .warm_up import warm_up
from .wishes import Wish

Connect = Callable[[], Transport]


class Client:
    """A client of the coordinator at `url`, known there by its `token`.

    state: the folder that holds what it knows; one for each client, used by one process at a time.
    cost: what sharing is to be worth: a number, or a function of a `Stake`. accept: a function of a
    `Proposal` that says whether to take an offer (all are, by default). timeout: seconds for the
    coordinator to answer a request. ca: a file with the certificates to trust, if not the system's.

    `choose` and `learn` never wait for the network. The first start needs the coordinator, later
    ones do not: a client learns alone while it is away, and catches up after.
    """

    def __init__(
        self,
        url: str,
        token: str,
        state: str | os.PathLike[str],
        *,
        cost: Cost = 0.0,
        accept: Accept = accept_all,
        timeout: float = 10.0,
        ca: str | os.PathLike[str] | None = None,
    ) -> None:
        self._closed, self._pid = True, os.getpid()
        url = address(url)
        if not isinstance(token, str) or not token or not (token.isascii() and token.isprintable()):
            raise inputs.refuse("token", "a token that cannot be shown here", "printable ASCII")
        if not callable(accept):
            raise inputs.refuse("accept", accept, "a function of a Proposal")
        folder = inputs.path("state", state)
        price = price_of(cost)
        seconds = inputs.number("timeout", timeout, low=0.0, open_low=True)
        trust = None if ca is None else os.fspath(ca)
        if trust is not None and not os.path.isfile(trust):
            raise inputs.refuse("ca", trust, "a file of certificates")

        self._wire = Wire()

        def connect() -> Transport:
            return Transport(url, token, seconds, trust, self._wire)

        with entered(folder) as lock:
            said, start = _meet(connect, folder)
            if not callable(cost):
                told(cost, (start.terms if said is None else Terms.read(said)).cost_limit)
            self._keeper = Keeper(folder, start)
            try:
                self._agent = Agent(self._keeper, price, accept, Patience(np.random.default_rng()))
                _agree(connect, self._agent, said)
                warm_up(self._keeper.terms)
            except BaseException:
                self._keeper.close()
                raise
        self._lock = lock
        self._intake = Intake(self._keeper)
        self._link = Link(self._agent, connect)
        self._closed = False
        self._link.start()

    def choose(self, arms: ArrayLike) -> int:
        """The index of one of these arms [K, d]: the largest optimistic estimate (Eq. 2)."""
        self._mine()
        return self._keeper.choose(self._intake.arms(arms))

    def learn(self, arm: ArrayLike, reward: float) -> None:
        """What came of an arm [d]. It is on record when this returns."""
        self._mine()
        if self._keeper.learn(*self._intake.step(arm, reward)):
            self._link.wake()

    def sync(self, timeout: float | None = None) -> None:
        """Be up to date: if a round is open, or if this client calls for one, wait until it is
        over and taken in; otherwise ask the coordinator once, and take in what is new.

        TimeoutError after so many seconds (None: wait for ever). A refusal by the coordinator (a
        wrong token, say) is raised as it comes, and so is what a policy of yours raised.
        """
        self._mine()
        self._not_here("sync")
        if timeout is not None:
            timeout = inputs.number("timeout", timeout, low=0.0, finite=False)
            timeout = min(timeout, 1e8)
        wish = Wish()
        self._link.wish(wish)
        try:
            wish.granted.result(timeout)
        except TimeoutError:
            wish.granted.cancel()
            why = f" (the last problem: {self.problem})" if self.problem else ""
            raise TimeoutError(f"not up to date within {timeout:g} s{why}") from None

    def close(self) -> None:
        """Stop talking; what is on record stays there for the next start."""
        if self._closed or os.getpid() != self._pid:
            return
        self._not_here("close")
        self._closed = True
        self._link.stop()
        try:
            self._keeper.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """As it was enrolled."""
        return self._keeper.terms.name

    @property
    def dim(self) -> int:
        return self._keeper.terms.dim

    @property
    def epoch(self) -> int:
        """Of the shared statistics that it has."""
        return self._keeper.learner.epoch

    @property
    def steps(self) -> int:
        """Learned, ever."""
        return self._keeper.steps

    @property
    def pending(self) -> int:
        """Steps that are not known to be shared."""
        return self._keeper.pending

    @property
    def earned(self) -> float:
        """Payments for what was shared, ever."""
        return self._keeper.earned

    @property
    def traffic(self) -> Traffic:
        """What went back and forth since this Client was made."""
        meter, wire = self._agent.meter, self._wire
        return Traffic(meter.up, meter.down, wire.sent, wire.received, wire.requests)

    @property
    def problem(self) -> Exception | None:
        """What keeps it from being up to date; None: nothing that it knows of."""
        return self._keeper.problem or self._agent.problem

    def _not_here(self, what: str) -> None:
        if self._link.here:  # it would wait for itself
            raise RuntimeError(f"{what}: not to be called by a cost or accept function")

    def _mine(self) -> None:
        if self._closed:
            raise RuntimeError("this Client is closed")
        if os.getpid() != self._pid:
            raise RuntimeError("this Client belongs to the process that made it, not to a fork")


def _meet(connect: Connect, folder: Path) -> tuple[Any, Snapshot]:
    """What the coordinator says (None: it is away), and what this client knows."""
    start = snapshot.load(folder)
    if start is not None:
        try:
            [said] = ask(connect, get_federation())
        except Unreachable:
            return None, start
        if conflict := start.terms.conflict(Terms.read(said)):
            allowed = f"a folder of this client in this federation: it is {conflict}"
            raise inputs.refuse("state", str(folder), allowed)
        return said, start
    said, now = ask(connect, get_federation(), get_state())
    active = read(StateView, now).active
    former = active.number if active and active.uploaded else None
    return said, blank(Terms.read(said), former)


def _agree(connect: Connect, agent: Agent, said: Any) -> None:
    """Settle terms, if the coordinator is there; a new client starts from what is shared."""
    if said is None:
        return
    agent.replied(get_federation(), 200, said, time.monotonic())
    new = agent.keeper.learner.epoch == 0 and agent.keeper.steps == 0
    if not agent.problem and new and said["epoch"] > 0:
        request = get_download(0, closed=True)
        agent.replied(request, 200, ask(connect, request)[0], time.monotonic())
    if agent.problem:
        raise agent.problem
