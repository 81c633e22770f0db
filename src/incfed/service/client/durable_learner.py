"""A learner whose every step is on disk before it counts.

The snapshot holds the state at some moment, the journal of its generation what came after. To write
a new snapshot, a new journal is started first, so that `learn` does not wait for the disk; once the
snapshot that names it is durable, the old journal is deleted. After a crash in between there are
the old snapshot and both journals: only the last download is missing, and is repeated.

What is sent was durable before: the upload to a round (`freeze`) and the answer to an offer. Of a
client that holds back steps, or adds noise, a snapshot holds what it froze: a journal, read again
with other options, would not give the same.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ... import errors
from ...kernels.ucb import Rules
from ...protocol.client import Learner, Observations, kernel_rules
from ...protocol.messages import Delivery, Download, Signal, Upload
from ...protocol.money import exact_sum
from ...protocol.packing import add_rows, pack_matrix, pack_rows
from ...protocol.policies import ObservedBounds, OwnPolicy
from ...protocol.triggers import ROWS, TRIGGERS, BuiltIn, Threshold
from ...rules.rounds import EVERYONE
from ...types import Floats
from ..wire import FederationView
from . import journal, state_folder
from .journal import Answered, Freeze, Journal, Signalled, Step
from .policies import PLAIN, CostFunction, Discretion, Stake
from .state_folder import Mark, Snapshot
from .validation import check_cost

MARKS = 8  # signals that are remembered: the coordinator has heard one of the last
LARGEST_JOURNAL = 16 * 2**20  # bytes, before a new snapshot is written


class DurableLearner:
    """Any thread may call `choose` and `learn`; all else is for the background thread."""

    def __init__(
        self, folder: Path, start: Snapshot, trust: float | str | None = None,
        discretion: Discretion = PLAIN, policy: OwnPolicy | None = None,
    ) -> None:  # fmt: skip
        self.folder, self.settings = folder, start.settings
        self.steps, self.earned, self.lost_round = start.steps, start.earned, start.lost_round
        self._trust = trust  # None: the federation's
        self.learner = Learner(start.settings.dim, rules(start.settings), self.trust)
        self.streams = trigger_of(start.settings).streams  # what is said between rounds
        self._recent = deque(start.recent, maxlen=start.settings.dim)  # the last steps
        self._marks = dict(start.marks)  # signals of rows, by step
        self.stream = pack_rows(np.empty((0, start.settings.dim)))  # all that they said together,
        self._sent: tuple[int, int] | None = None  # with the last one: see `pending_signal`
        self.cost, self.answers = start.cost, dict(start.answers)
        self.learner.resume(
            start.epoch, start.clock, start.V, start.b, start.frozen, start.fresh, start.given,
            start.given_rounds, own=start.own, known=start.known,
            uploaded_steps=start.uploaded_steps, noise=start.blur, kept=start.kept,
        )  # fmt: skip
        self.settled, self._entitled, self._acted = start.settled, start.entitled, False
        self.start, self.history = start.start, start.history
        self._lock = threading.Lock()
        self._durable = True  # False: a new snapshot is needed before anything is sent
        generation = start.generation
        while self._replay(generation):
            generation += 1
        self.start = self.start.next(self.settings.start)
        self._discretion = discretion
        self.learner.share_from, self.learner.policy = discretion.share_from, policy
        self._bound_policy()
        self.learner.privacy = discretion.within(self.settings, self.streams, self.trust)
        self._journal = Journal(folder, generation, self.settings.dim)
        self._frozen_at = 0  # steps of the journal that belong to the frozen data
        self._save(self._snapshot())

    # ------------------------------------------------------------------------- any thread

    def act(self) -> bool:
        """The application acts: that is when a download that this client is entitled to is due. Is
        there one?"""
        with self._lock:
            self._acted = True
            return self.due

    def choose(self, arms: Floats) -> int:
        with self._lock:
            return self.learner.choose(arms)

    def learn(self, x: Floats, y: float) -> bool:
        """Write the step down, as a policy of the user's own has it, then learn from it. True:
        there is something to send."""
        with self._lock:
            x, y = self.learner.observed(x, y)
            self._journal.step(x, y)
            self.steps += 1
            self._recent.append((x.copy(), y))
            triggered = self.learner.triggered
            calls = self.learner.learn(x, y) and not triggered
            return calls or self.streams is not None

    @property
    def trust(self) -> float | str:
        """This client's own, or the federation's."""
        return trust_of(self.settings, self._trust)

    @property
    def pending(self) -> int:
        """Steps that are not known to be shared."""
        with self._lock:
            return self.learner.pending_steps

    @property
    def problem(self) -> OSError | None:
        """Why nothing can be stored any more; None: it can."""
        with self._lock:
            try:
                self._journal.check()
            except OSError as error:
                return error
        return None

    # -------------------------------------------------------------- the background thread

    @property
    def everyone(self) -> bool:
        """Does everyone download after a round? Otherwise downloads are one for one."""
        return self.settings.download == EVERYONE

    @property
    def due(self) -> bool:
        """One for one: has it acted since it was entitled to a download?"""
        acted = self._acted or self.learner.fresh.steps > 0
        return not self.everyone and self._entitled and acted

    def entitle(self) -> None:
        """One for one: the coordinator would give it a later epoch."""
        self._entitled = True

    def update_settings(self, settings: FederationView) -> None:
        """The coordinator's settings of today; InputError if this state does not fit them."""
        state_folder.check_owner(self.folder, self.settings, settings)
        streams, trust = trigger_of(settings).streams, trust_of(settings, self._trust)
        privacy = self._discretion.within(settings, streams, trust)
        with self._lock:
            self.settings = settings
            self.learner.rules = rules(settings)
            if self.learner.trust != self.trust:
                self.learner.trust = self.trust
            self.streams, self.learner.privacy = streams, privacy
            self._bound_policy()

    def _bound_policy(self) -> None:
        """What it makes of a step has to fit the coordinator's checks."""
        if self.learner.policy is not None:
            why = "in a federation that is served, which checks it"
            self.learner.policy.bounds = ObservedBounds(self.settings.reward_bound, why)

    @property
    def pending_signal(self) -> tuple[int, int] | None:
        """The round in which it last shared, and the steps, that a signal is about; None: there is
        nothing to say."""
        if self.streams is None or not self.learner.pending_steps:
            return None
        return self.settled, self.steps

    def signal(self, cost_function: CostFunction, said: tuple[int, int] | None) -> Signal:
        """Make the signal of the data that is not shared yet, to be sent between rounds. `said`:
        `pending_signal` of the last signal that was heard."""
        with self._lock:
            learner, learned, rows, dV = self.learner, self.steps, None, None
            epoch, steps = learner.epoch, learner.pending_steps
            growth = max(0.0, learner.logdet - learner.logdet_shared)
            if self.streams == ROWS:
                heard = said is not None and said == self._sent and said[0] == self.settled
                new = learned - said[1] if said is not None and heard else -1
                if 0 < new <= len(self._recent):
                    rows = np.array([x for x, _ in list(self._recent)[-new:]])
                    self.stream = add_rows(self.stream, rows)
                else:
                    self.stream = dV = learner.pending.packed()
                self._sent = self.settled, learned
            pending, at = learner.pending, self._journal.steps
            data = pending.plus(Observations.empty(learner.dim))  # a copy: `learn` goes on
        cost = self._check_cost(cost_function(Stake(0, steps, growth)))
        if self.streams == ROWS:  # it may become this client's upload
            with self._lock:
                self._journal.signal(Signalled(at, cost))
            self.flush()
            self._mark(learned, Mark(data, cost, self.start.nonce))
        return Signal(epoch, learned, steps, growth, cost, rows, dV)

    def _mark(self, learned: int, mark: Mark) -> None:
        self._marks[learned] = mark
        for earlier in sorted(self._marks)[:-MARKS]:
            del self._marks[earlier]

    def heard(self, learned: int) -> None:
        """The coordinator has this signal, and took none of the ones before for an upload."""
        for earlier in [number for number in self._marks if number < learned]:
            del self._marks[earlier]

    def freeze_streamed(self, round: int, taken: int, taken_by: str | None = None) -> bool:
        """The coordinator took what this client streamed up to this step for its upload: set just
        that aside, durably. False: it is not known any more, and cannot be delivered; or another
        start of this client streamed it, with other data."""
        with self._lock:
            learner, new = self.learner, self.steps - taken
            mark = self._marks.get(taken)
            if mark is not None and taken_by not in (None, mark.nonce):
                return False
            complete = min(new, learner.dim) <= len(self._recent)
            if mark is None or not complete or learner.frozen is not None:
                return False
            first, pending = mark.data, learner.pending
            if new < learner.dim:  # with rows
                last = Observations.empty(learner.dim)
                for x, y in list(self._recent)[len(self._recent) - new :]:
                    last = last.add(x, y)
                last = last._replace(scores=pending.scores - first.scores)
            else:
                last = pending.minus(first)
            learner.freeze_first(round, first, last)
            self.cost, self._durable = mark.cost, False
        self.flush()
        return True

    def freeze(self, round: int, cost_function: CostFunction) -> Upload:
        """The upload to this round, durable. The cost function is called once a round."""
        self.flush()
        with self._lock:
            if self.learner.frozen is None:
                self._frozen_at = self._journal.steps
            upload = self.learner.freeze(round, 0.0)
            value = self.learner.logdet - self.learner.logdet_shared
        if self.cost is None:
            stake = Stake(round, upload.steps, max(0.0, value))
            named = cost_function(stake) if upload.steps else 0.0
            cost = self._check_cost(named)
            with self._lock:
                if self.learner.share_from == 1 and self.learner.privacy is None:
                    self._journal.freeze(Freeze(round, self._frozen_at, cost))
                else:
                    self._durable = False  # a new snapshot
            self.cost = cost
            self.flush()
        return upload._replace(cost=self.cost)

    def thaw(self) -> None:
        """The coordinator has another upload to this round: what was frozen for it is pending
        again, durably."""
        with self._lock:
            self.learner.thaw()
            self.cost, self.answers, self._durable = None, {}, False
        self.flush()

    def _check_cost(self, cost: object) -> float:
        """In minor units, rounded up, if the federation has them."""
        settings = self.settings
        return check_cost(cost, settings.cost_limit, settings.money_digits)

    def answer(self, round: int, attempt: int, decide: Callable[[], bool]) -> bool:
        """The answer to an offer, durable. `decide` is called once an attempt."""
        self.flush()
        if attempt not in self.answers:
            accepted = decide()
            with self._lock:
                self._journal.answer(Answered(round, attempt, accepted))
            self.answers[attempt] = accepted
            self.flush()
        return self.answers[attempt]

    def deliver(self, round: int) -> Delivery:
        with self._lock:
            db, scores = self.learner.deliver(round), self.learner.scores(round)
            return Delivery(round, db, scores=scores, upload=self.uploaded)

    @property
    def uploaded(self) -> str | None:
        """The digest of what is frozen; None: nothing is, or it has no digest."""
        frozen = self.learner.frozen
        return None if frozen is None else frozen.digest()

    def take_in(self, download: Download, closed: bool, model: bool = True) -> None:
        """Add a download, durably. One that does not fit this state changes nothing. Without the
        model, it only says what was shared."""
        frozen = self.learner.frozen
        known = {self.lost_round, frozen.round if frozen else None}
        shared = {round: paid for round, paid in download.shared.items() if round > self.settled}
        unknown = sorted(set(shared) - known)
        if unknown and (self.learner.epoch or self.steps):
            allowed = (
                f"up to date: this client shared data in round {unknown[0]}, which this folder "
                "knows nothing of (is it an old copy?) and might share again; start with a new "
                "folder"
            )
            raise self.refused(allowed)
        with self._lock:
            self.learner.take_in(download, closed)
            self.history = download.history
            if self.learner.frozen is None:
                self.cost, self.answers = None, {}
            paid = sum(shared.values())
            self.earned = exact_sum(self.earned, paid, download.money_digits)
            self.settled = max(self.settled, *shared, 0)
            if shared:
                self._marks.clear()  # they counted what is shared now
            if not self.everyone and (shared or model):
                self._entitled, self._acted = not model, False
            self._durable = False
        self.flush()

    def refused(self, allowed: str) -> errors.InputError:
        """This folder cannot be used any more."""
        return errors.refuse("state", str(self.folder), allowed)

    def restart_clock(self) -> None:
        """A round is over. (After a crash the clock may show more: it only calls earlier then.)"""
        with self._lock:
            self.learner.clock = 0

    def flush(self) -> None:
        """Everything so far is durable when this returns."""
        if self._durable:
            self._durable = False  # after a failed fsync, the journal cannot be trusted
            self._journal.sync()
            self._durable = True
        else:
            self.rotate()

    def rotate_if_large(self) -> None:
        """Limit the journal, however long the coordinator is away."""
        self._journal.check()
        if self._journal.size > LARGEST_JOURNAL:
            self.rotate()

    def rotate(self) -> None:
        """Start a new journal and write a new snapshot."""
        self._durable = False
        self._journal.check()  # if it was deleted, the folder may belong to another client now
        with self._lock:
            old = self._journal
            self._journal = Journal(self.folder, old.generation + 1, self.settings.dim)
            self._frozen_at = 0
            snapshot = self._snapshot()
        old.close()
        self._save(snapshot)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            with self._lock:
                self._journal.close()

    # -------------------------------------------------------------------------- the files

    def _snapshot(self) -> Snapshot:
        learner = self.learner
        fresh = learner.fresh.plus(Observations.empty(learner.dim))  # a copy: `learn` goes on
        return Snapshot(
            self._journal.generation, self.settings, learner.epoch, learner.clock, learner.V,
            learner.b, learner.frozen, self.cost, dict(self.answers), fresh,
            self.steps, self.earned, self.lost_round,
            learner.own.plus(Observations.empty(learner.dim)),
            learner.given if learner.given.steps else None, self.settled, self._entitled,
            learner.given_rounds, dict(self._marks), list(self._recent) if self._marks else [],
            learner.known, self.start,
            learner.uploaded_steps, learner.noise, learner.kept if learner.kept.steps else None,
            self.history,
        )  # fmt: skip

    def _save(self, snapshot: Snapshot) -> None:
        state_folder.save(self.folder, snapshot)
        self._durable = True
        for path in self.folder.glob(state_folder.JOURNALS):
            if path != self._journal.path:
                path.unlink()

    def _replay(self, generation: int) -> bool:
        """Apply the records of a journal; False: there is no such journal."""
        records = journal.read(self.folder, generation, self.settings.dim)
        if records is None:
            return False
        freezes = {record.steps: record for record in records if isinstance(record, Freeze)}
        signals = {record.steps: record for record in records if isinstance(record, Signalled)}
        steps = [record for record in records if isinstance(record, Step)]
        for number in range(len(steps) + 1):
            if freeze := freezes.get(number):
                self.learner.freeze(freeze.round, freeze.cost)
                self.cost, self.answers = freeze.cost, {}
            if signal := signals.get(number):
                data = self.learner.pending.plus(Observations.empty(self.learner.dim))
                self._mark(self.steps, Mark(data, signal.cost, self.start.nonce))
            if number < len(steps):
                self.learner.learn(*steps[number])
                self.steps += 1
                self._recent.append(steps[number])
        for record in records:
            if isinstance(record, Answered):
                self.answers[record.attempt] = record.accepted
        return True


def trigger_of(settings: FederationView) -> BuiltIn:
    """When a round opens. InputError if this version does not know the trigger."""
    if settings.trigger is None:
        return Threshold(math.inf if settings.threshold is None else settings.threshold)
    with errors.at("trigger"):
        known: BuiltIn = TRIGGERS.recorded(errors.table("trigger", settings.trigger, "a kind"))
    return known


def rules(settings: FederationView) -> Rules:
    """The settings as the kernels take them."""
    return kernel_rules(settings, trigger_of(settings), settings.dim)


def trust_of(settings: FederationView, own: float | str | None) -> float | str:
    """How far a client trusts others: its own setting, or the federation's."""
    given = settings.trust if own is None else own
    return math.inf if given is None else given


def warm_up(
    settings: FederationView, trust: float | str | None = None, *, policy: bool = False
) -> None:
    """Compile what a client needs, by calling each of it once; `policy`: also what one of the
    user's own may ask of its model."""
    dim = settings.dim
    learner, x = Learner(dim, rules(settings), trust_of(settings, trust)), np.full(dim, 1e-3)
    learner.choose(np.ones((2, dim)))
    if policy:
        learner.model().predict(np.ones((2, dim)))
    learner.learn(x, 0.0)
    learner.freeze(1, 0.0)
    learner.take_in(Download(1, None, pack_matrix(np.eye(dim)), np.ones(dim), {1: 0.0}))
