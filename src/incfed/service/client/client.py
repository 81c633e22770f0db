"""The public Client: chooses and learns in the application, shares in the background."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ... import errors, ranges
from ...configured import Described, Made
from ...protocol.policies import OwnPolicy, Policy
from ...rules.plugins import copied
from ...rules.privacy import Privacy
from ...support import inputs
from ...values import Number
from ..codec import read
from ..requests import HISTORY, get_download, get_federation, get_state
from ..wire import FederationView, StateView
from . import state_folder
from .agent import Agent
from .background import BackgroundThread
from .durable_learner import DurableLearner, warm_up
from .keys import Signer
from .policies import Accept, Cost, Discretion, accept_all, cost_function
from .receipts import Receipts
from .state_folder import Snapshot
from .sync import PendingSync
from .traffic import Traffic
from .transport import ServiceError, Transport, Unreachable, ask, warn_of_plain_http
from .validation import check_arms, check_ca, check_cost, check_step, check_token, check_url

Connect = Callable[[], Transport]


class Client(Described):
    """A client of the coordinator at `url`, which knows it by its `token`.

    state: the folder for what it learns; one for each client, used by one process at a time.
    cost: what sharing costs you, as a number or a function of a `Stake`.
    accept: a function of a `Proposal` that says whether to accept an offer (default: accept all).
    timeout: seconds to wait for a reply of the coordinator.
    ca: a file of certificates to trust instead of the system's.
    trust: for how many observations the data of others counts at most in your own choices, or
    "auto"; None: as the federation says (docs/trust.md).
    share_from: share only from so many steps on that no upload has had before.
    privacy: noise on all that is shared, at least as strict as the federation's; None: as the
    federation says (docs/privacy.md).
    policy: of your own, how this client chooses and learns (docs/extending.md); it has a copy, and
    at each start begins with the object as given. What was learned is kept.

    `choose` and `learn` never wait for the network. The first start needs the coordinator, later
    ones do not: while it is away a client learns alone, and catches up afterwards.

    >>> arms = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    >>> with incfed.Client(url, token, state="state/shop-7", cost=10.0) as client:
    ...     picked = client.choose(arms)
    ...     client.learn(arms[picked], 1.0)
    ...     print(client.steps)
    1
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
        trust: float | str | None = None,
        share_from: int = 1,
        privacy: Privacy | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._closed, self._pid = True, os.getpid()
        url, token = check_url(url), check_token(token)
        if not callable(accept):
            raise errors.refuse("accept", accept, "a function of a Proposal")
        folder = inputs.path("state", state)
        costs = cost_function(cost)
        seconds = float(Number(0.0, above=True).of("timeout", timeout))
        certificates = check_ca(ca)
        own_trust = None if trust is None else ranges.TRUST.of("trust", trust)
        discretion = Discretion.of(share_from, privacy)
        own_policy = None
        if policy is not None:
            given = Made(Policy).of("policy", policy)
            own_policy = OwnPolicy(copied(given), np.random.default_rng())
        self._traffic = Traffic()
        self._start: str | None = None  # not known before the folder is open
        warn_of_plain_http(url)

        def connect() -> Transport:
            return Transport(url, token, seconds, certificates, self._traffic, self._start)

        with state_folder.locked(folder) as lock:
            federation, start = _load_or_join(connect, folder)
            if not callable(cost):
                check_cost(cost, start.settings.cost_limit, start.settings.money_digits)
            self._durable = DurableLearner(folder, start, own_trust, discretion, own_policy)
            self._start = str(self._durable.start)
            try:
                self._agent = Agent(self._durable, costs, accept, self._traffic)
                signer, receipts = Signer(self._durable), Receipts(folder)
                if federation is not None:
                    _handshake(connect, self._agent, federation)
                    if signer.unregistered:
                        ask(connect, signer.registration())
                        signer.registered()
                    _check_ledger(connect, receipts)
                warm_up(self.settings, own_trust, policy=policy is not None)
            except BaseException:
                self._durable.close()
                raise
        self._lock = lock
        self._background = BackgroundThread(self._agent, signer, receipts, connect)
        self._closed = False
        self._background.start()

    def choose(self, arms: ArrayLike) -> int:
        """The index of the arm [K, d] with the largest optimistic estimate (Eq. 2), or of the one
        that its own policy chooses.

        >>> client = incfed.Client(url, token, state="state/shop-7")  # goes on as before
        >>> client.choose(arms)
        1
        """
        self._check_open()
        checked = check_arms(arms, self.settings)
        if self._durable.act():
            self._background.wake()
        return self._durable.choose(checked)

    def learn(self, arm: ArrayLike, reward: float) -> None:
        """Learn the reward of an arm [d]. The step is recorded when this returns.

        >>> client.learn(arms[1], reward=0.5)
        """
        self._check_open()
        if self._durable.learn(*check_step(arm, reward, self.settings)) or self._durable.act():
            self._background.wake()

    def sync(self, timeout: float | None = None) -> None:
        """Wait until this client is up to date: if a round is open, or if this client asks for
        one, until it is over and its result downloaded; otherwise until the coordinator was asked
        once, and anything new downloaded.

        Raises TimeoutError after `timeout` seconds (None: wait for ever), ServiceError if the
        coordinator refuses a request (a wrong token, for example), and what a cost or accept
        function raised.

        >>> client.sync(timeout=30)
        """
        self._check_open()
        self._check_thread("sync")
        if timeout is not None:
            timeout = float(Number(0.0, or_inf=True).of("timeout", timeout))
            timeout = min(timeout, 1e8)
        sync = PendingSync()
        self._background.sync(sync)
        try:
            sync.future.result(timeout)
        except TimeoutError:
            sync.future.cancel()
            why = f" (last problem: {self.problem})" if self.problem else ""
            raise TimeoutError(f"not up to date within {timeout:g} s{why}") from None

    def close(self) -> None:
        """Stop sharing, and make everything durable for the next start.

        >>> client.close()
        >>> client
        <Client: closed>
        """
        if self._closed or os.getpid() != self._pid:
            return
        self._check_thread("close")
        self._closed = True
        self._background.stop()
        try:
            self._durable.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def settings(self) -> FederationView:
        """The settings of the federation, as the coordinator last sent them.

        >>> client.settings.dim, client.settings.threshold
        (3, 0.5)
        """
        return self._durable.settings

    @property
    def name(self) -> str:
        """The name it was enrolled under.

        >>> client.name
        'client-0'
        """
        return self.settings.client.name

    @property
    def dim(self) -> int:
        """d, the number of features of an arm.

        >>> client.dim
        3
        """
        return self.settings.dim

    @property
    def epoch(self) -> int:
        """The epoch of the shared statistics that it has.

        >>> client.epoch >= 0
        True
        """
        return self._durable.learner.epoch

    @property
    def steps(self) -> int:
        """Steps learned since the state folder was created.

        >>> client.steps
        2
        """
        return self._durable.steps

    @property
    def pending(self) -> int:
        """Steps that are not known to be shared.

        >>> 0 <= client.pending <= client.steps
        True
        """
        return self._durable.pending

    @property
    def earned(self) -> float:
        """Payments for what was shared since the state folder was created.

        >>> client.earned >= 0.0
        True
        """
        return self._durable.earned

    @property
    def traffic(self) -> Traffic:
        """What was sent and received since this Client was created.

        >>> client.traffic.requests > 0
        True
        """
        return replace(self._traffic)

    @property
    def problem(self) -> Exception | None:
        """What keeps this client from being up to date; None: nothing it knows of.

        >>> client.problem
        RuntimeError('this Client was closed')
        """
        return self._durable.problem or self._agent.problem

    def _facts(self) -> dict[str, Any]:
        names = ("name", "dim", "epoch", "steps", "pending", "earned", "problem")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        if self._closed:
            return "<Client: closed>"
        steps = inputs.counted(self.steps, "step")
        return (
            f"<Client {self.name!r}: {steps} learned, {self.pending:,} not shared, "
            f"epoch {self.epoch}, earned {self.earned:,.10g}>"
        )

    def _check_thread(self, what: str) -> None:
        if self._background.is_current:  # it would wait for itself
            raise RuntimeError(f"{what}: cannot be called by a cost or accept function")

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this Client is closed")
        if os.getpid() != self._pid:
            raise RuntimeError("this Client belongs to the process that created it, not to a fork")


def _load_or_join(connect: Connect, folder: Path) -> tuple[Any, Snapshot]:
    """The coordinator's settings (None: it is away), and the state to start from."""
    start = state_folder.load(folder)
    if start is not None:
        try:
            [federation] = ask(connect, get_federation()._replace(history=start.history))
        except Unreachable:
            return None, start
        except ServiceError as refused:
            if refused.field == HISTORY:
                raise state_folder.other_history(folder, start.history) from None
            raise
        settings = read(FederationView, federation)
        state_folder.check_owner(folder, start.settings, settings)
        return federation, start._replace(settings=settings)
    federation, state = ask(connect, get_federation(), get_state())
    active = read(StateView, state).active
    lost_round = active.number if active and active.uploaded else None
    return federation, Snapshot.new(read(FederationView, federation), lost_round)


def _handshake(connect: Connect, agent: Agent, federation: Any) -> None:
    """Adopt the coordinator's settings; a new client downloads the shared statistics (one for one:
    when it acts)."""
    agent.replied(get_federation(), 200, federation, time.monotonic())
    new = agent.durable.learner.epoch == 0 and agent.durable.steps == 0
    if not agent.problem and new and federation["epoch"] > 0:
        request = get_download(0, closed=True, model=agent.durable.everyone)
        headers: dict[str, str] = {}
        [reply] = ask(connect, request, headers=headers)
        agent.replied(request, 200, reply, time.monotonic(), headers)
    if agent.problem:
        raise agent.problem


def _check_ledger(connect: Connect, receipts: Receipts) -> None:
    """Fork, if the ledger does not extend the one that this client has seen."""
    if not receipts.last.number:
        return
    try:
        [reply] = ask(connect, receipts.question())
        receipts.check(200, reply)
    except ServiceError as refused:
        receipts.check(refused.status, {"field": refused.field, "message": str(refused)})
