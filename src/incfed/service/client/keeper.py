"""A learner whose every step is on disk before it counts.

The snapshot is the state at some moment, the journal of its generation what came after. To write a
new snapshot, a new journal is begun first (steps go there at once, nobody waits for the disk); once
the snapshot that names it is durable the old one goes. A crash in between finds the old snapshot
and both journals: whatever was downloaded meanwhile is downloaded once more.

What is sent was durable before: what a round is told (`freeze`) and how an offer is answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...kernels.factor import Floats
from ...protocol.client import Heap, Learner
from ...protocol.messages import Download, Upload
from ...support import inputs
from . import journal as journals
from . import points, policies, snapshot
from .journal import Answered, Freeze, Journal, Step
from .snapshot import Snapshot, Told
from .terms import Terms

LONGEST = 16 * 2**20  # bytes of a journal; beyond, a snapshot is worth its while


def blank(terms: Terms, former: int | None = None) -> Snapshot:
    """Where a new client starts."""
    V, b, fresh = np.zeros((terms.dim, terms.dim)), np.zeros(terms.dim), Heap.empty(terms.dim)
    return Snapshot(0, terms, 0, 0, V, b, None, fresh, 0, 0.0, former)


class Keeper:
    """`choose` and `learn` may be called by any thread; the rest by the one that talks."""

    def __init__(self, folder: Path, start: Snapshot) -> None:
        self.folder, self.terms = folder, start.terms
        self.steps, self.earned, self.former = start.steps, start.earned, start.former
        self.learner = Learner(start.terms.dim, start.terms.rules())
        told = start.told
        self.cost, self.answers = (told.cost, dict(told.answers)) if told else (None, {})
        self.learner.resume(
            start.epoch,
            start.clock,
            start.V,
            start.b,
            (told.round, told.heap) if told else None,
            start.fresh,
        )
        self._lock = threading.Lock()
        self._durable = True  # is all but the end of the journal on disk?
        generation = start.generation
        while self._replay(generation):
            generation += 1
        self._journal = Journal(folder, generation, self.terms.dim)
        self._frozen_at = 0
        self._save(self._state(generation))

    # ------------------------------------------------------------------ by any thread

    def choose(self, arms: Floats) -> int:
        with self._lock:
            return self.learner.choose(arms)

    def learn(self, x: Floats, y: float) -> bool:
        """First on paper, then in mind; True: now a round is called for, and was not before."""
        with self._lock:
            self._journal.step(x, y)
            points.reach("learn.written")
            self.steps += 1
            called = self.learner.triggered
            return self.learner.learn(x, y) and not called

    @property
    def pending(self) -> int:
        """Steps that are not known to be shared."""
        with self._lock:
            frozen = self.learner.frozen
            return self.learner.fresh.steps + (frozen[1].steps if frozen else 0)

    @property
    def problem(self) -> OSError | None:
        """Why nothing can be kept any more; None: it can."""
        with self._lock:
            try:
                self._journal.check()
            except OSError as error:
                return error
        return None

    # ----------------------------------------------------------- by the one that talks

    def adopt(self, terms: Terms) -> None:
        """The coordinator's settings of today; InputError if this state has no place in them."""
        if conflict := self.terms.conflict(terms):
            allowed = f"a folder of this client in this federation: it is {conflict}"
            raise inputs.refuse("state", str(self.folder), allowed)
        with self._lock:
            self.terms = terms
            self.learner.rules = terms.rules()

    def freeze(self, round: int, price: Callable[[int, int, float], object]) -> Upload:
        """What this round is told, durable. `price(round, steps, value)` is asked once a round."""
        self.flush()
        with self._lock:
            if self.learner.frozen is None:
                self._frozen_at = self._journal.steps
            upload = self.learner.freeze(round, 0.0)
            value = self.learner.logdet - self.learner.logdet_shared
        if self.cost is None:
            said = price(round, upload.steps, max(0.0, value)) if upload.steps else 0.0
            cost = policies.told(said, self.terms.cost_limit)
            with self._lock:
                self._journal.freeze(Freeze(round, self._frozen_at, cost))
            self.cost = cost
            points.reach("freeze.written")
            self.flush()
        return upload._replace(cost=self.cost)

    def answer(self, round: int, attempt: int, decide: Callable[[], bool]) -> bool:
        """Yes or no to an offer, durable; `decide` is asked once an attempt."""
        self.flush()
        if attempt not in self.answers:
            accepted = decide()
            with self._lock:
                self._journal.answer(Answered(round, attempt, accepted))
            self.answers[attempt] = accepted
            self.flush()
        return self.answers[attempt]

    def deliver(self, round: int) -> Floats:
        with self._lock:
            return self.learner.deliver(round)

    def take_in(self, news: Download, closed: bool) -> None:
        """What was downloaded; a download that does not fit this state changes nothing."""
        frozen = self.learner.frozen
        known = {self.former, frozen[0] if frozen else None}
        if strange := sorted(set(news.shared) - known) if self.learner.epoch or self.steps else []:
            allowed = (
                f"the newest: this client shared something in round {strange[0]} that this state "
                "does not know of (an old copy?), and might share again; start with a new folder"
            )
            raise inputs.refuse("state", str(self.folder), allowed)
        with self._lock:
            self.learner.take_in(news, closed)
            if self.learner.frozen is None:
                self.cost, self.answers = None, {}
            self.earned += sum(news.shared.values())
            self._durable = False
        points.reach("download.taken-in")
        self.flush()

    def flush(self) -> None:
        """Everything so far is durable when this returns."""
        if self._durable:
            self._durable = False  # whatever a failed fsync leaves behind is not to be trusted
            self._journal.sync()
            self._durable = True
        else:
            self.rotate()

    def tidy(self) -> None:
        """A journal does not grow for ever, however long the coordinator is away."""
        self._journal.check()
        if self._journal.size > LONGEST:
            self.rotate()

    def rotate(self) -> None:
        """A new snapshot, and a new journal."""
        self._durable = False
        self._journal.check()  # the folder may be another client's by now
        with self._lock:
            old = self._journal
            self._journal = Journal(self.folder, old.generation + 1, self.terms.dim)
            self._frozen_at = 0
            state = self._state(self._journal.generation)
        old.close()
        points.reach("rotate.begun")
        self._save(state)

    def close(self) -> None:
        try:
            self.flush()
        finally:
            with self._lock:
                self._journal.close()

    # ----------------------------------------------------------------------- the files

    def _state(self, generation: int) -> Snapshot:
        learner = self.learner
        told = None
        if learner.frozen is not None:
            told = Told(learner.frozen[0], self.cost, dict(self.answers), learner.frozen[1])
        fresh = learner.fresh.plus(Heap.empty(learner.dim))  # its own, while learning goes on
        return Snapshot(
            generation, self.terms, learner.epoch, learner.clock, learner.V, learner.b,
            told, fresh, self.steps, self.earned, self.former,
        )  # fmt: skip

    def _save(self, state: Snapshot) -> None:
        snapshot.save(self.folder, state)
        self._durable = True
        for path in self.folder.glob("journal-*"):
            if path != self._journal.path:
                path.unlink()

    def _replay(self, generation: int) -> bool:
        """Go through a journal once more; False: there is none."""
        records = journals.read(self.folder, generation, self.terms.dim)
        if records is None:
            return False
        marks = {one.steps: one for one in records if isinstance(one, Freeze)}
        steps = [one for one in records if isinstance(one, Step)]
        for place in range(len(steps) + 1):
            if mark := marks.get(place):
                self.learner.freeze(mark.round, mark.cost)
                self.cost, self.answers = mark.cost, {}
            if place < len(steps):
                self.learner.learn(*steps[place])
                self.steps += 1
        for one in records:
            if isinstance(one, Answered):
                self.answers[one.attempt] = one.accepted
        return True
