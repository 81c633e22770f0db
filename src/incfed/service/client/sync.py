"""What `Client.sync` waits for."""

from __future__ import annotations

from concurrent.futures import Future

from ...protocol.client import Learner
from ..wire import StateView


class PendingSync:
    """Done when the round that was open, or that this client asked for, is over and its result
    downloaded.

    Which round that is depends on the coordinator's state; one requested before `sync` was called
    does not count, because it may be out of date.
    """

    def __init__(self) -> None:
        self.future: Future[None] = Future()
        self.round: int | None = None  # the round to wait for
        self.after = 0  # state requests sent before `sync` was called
        self.needs_state = True
        self._opens_round = False  # this client asks for a round, which has no number yet

    def see_state(self, sequence: int, state: StateView, learner: Learner) -> None:
        """The reply to the state request with this sequence number."""
        if not self.needs_state or sequence <= self.after:
            return
        self.needs_state = False
        if state.active is not None:
            self.round = state.active.number
        elif learner.frozen is not None:
            self.round = learner.frozen.round
        else:
            self._opens_round = learner.triggered

    def round_opened(self, number: int) -> None:
        """The number of the round that this client asked for."""
        if self._opens_round:
            self.round, self._opens_round = number, False

    def round_called(self, number: int) -> None:
        """The coordinator called this round, because of what this client said."""
        if not self.needs_state and self.round is None:
            self.round = number

    def is_done(self, state: StateView, learner: Learner) -> bool:
        """If there is nothing to download."""
        if self.needs_state:
            return False
        if self._opens_round:  # unless another client's round came first and was enough
            return not learner.triggered
        if self.round is None:
            return True
        frozen = learner.frozen
        return state.over(self.round) and (frozen is None or frozen.round > self.round)

    def finish(self) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(None)

    def fail(self, error: Exception) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)
