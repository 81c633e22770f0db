"""What `sync` waits for."""

from __future__ import annotations

from concurrent.futures import Future

from ...protocol.client import Learner
from ..wire import StateView


class Wish:
    """Granted when the round that was open, or that this client called for, is over and taken in.

    Which round that is, the coordinator's state says that was asked for after the wish was made.
    """

    def __init__(self) -> None:
        self.granted: Future[None] = Future()
        self.round: int | None = None  # that has to be over
        self._calls = False  # for a round of its own, which has no number yet
        self.after = 0  # how often the state had been asked for when the wish was made
        self.blind = True

    def look(self, number: int, state: StateView, learner: Learner) -> None:
        """What the coordinator said when it was asked for the n-th time."""
        if not self.blind or number <= self.after:
            return
        self.blind = False
        if state.active is not None:
            self.round = state.active.number
        elif learner.frozen is not None:
            self.round = learner.frozen[0]
        else:
            self._calls = learner.triggered

    def opened(self, number: int) -> None:
        """A round that this client called for has this number now."""
        if self._calls:
            self.round, self._calls = number, False

    def check(self, state: StateView, learner: Learner) -> bool:
        if self.blind or learner.epoch < state.epoch:
            return False
        if self._calls:
            # somebody else's round came first and answered the call
            return not learner.triggered
        if self.round is None:
            return True
        told = learner.frozen
        return state.over(self.round) and (told is None or told[0] > self.round)

    def grant(self) -> None:
        if self.granted.set_running_or_notify_cancel():
            self.granted.set_result(None)

    def fail(self, error: Exception) -> None:
        if self.granted.set_running_or_notify_cancel():
            self.granted.set_exception(error)
