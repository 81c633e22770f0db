"""A coordinator that takes one message at a time, where the application sends batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Answer, Delivery, Download, Signal, Upload
from incfed.service.coordinator import handlers, starts
from incfed.service.coordinator.coordinator import Coordinator
from incfed.service.coordinator.handlers import Handler
from incfed.service.coordinator.views import Wanted
from incfed.service.requests import Start
from incfed.service.wire import StateView

Result = TypeVar("Result")


class SingleCoordinator(Coordinator):
    start: Start | None = None  # of the client whose messages come

    def open_round(
        self, client: int, epoch: int | None = None, after: int | None = None, *,
        noisy: bool = False,
    ) -> StateView:  # fmt: skip
        return self._send(client, handlers.open_round, handlers.Open(epoch, after, noisy))

    def signal(self, client: int, signal: Signal) -> StateView:
        return self._send(client, handlers.signal, signal)

    def upload(self, client: int, upload: Upload) -> StateView:
        return self._send(client, handlers.upload, upload)

    def answer(self, client: int, answer: Answer) -> StateView:
        return self._send(client, handlers.answer, answer)

    def deliver(self, client: int, delivery: Delivery) -> StateView:
        return self._send(client, handlers.delivery, delivery)

    def register_key(self, client: int, key: str) -> StateView:
        return self._send(client, handlers.register_key, key)

    def state(self, client: int) -> StateView:
        return self.all_states([client])[0]

    def all_states(self, clients: Sequence[int]) -> list[StateView]:
        return _all(self.states([starts.Caller(client, self.start) for client in clients]))

    def download(
        self, client: int, since: int | None, model: bool = True, packed: bool = False,
        own: tuple[int, ...] = (), uploaded: tuple[int, str] | None = None,
    ) -> Download:  # fmt: skip
        wanted = Wanted(client, since, model, packed, own, uploaded, self.start)
        return _only(self.downloads([wanted]))

    def come_from(self, client: int, start: str | None) -> None:
        """This start of the client says that it is there."""
        self.name_start(start)
        if start is not None:
            self._send(client, handlers.say_nothing, None)

    def name_start(self, start: str | None) -> None:
        """The next messages come from this start of a client, as its header says."""
        self.start = None if start is None else starts.read(start)

    def _send(self, client: int, handler: Handler, message: Any) -> StateView:
        return _only(self.handle([(client, handler, message, self.start)]))


def _only(results: list[Result | Refusal]) -> Result:
    [result] = _all(results)
    return result


def _all(results: list[Result | Refusal]) -> list[Result]:
    for result in results:
        if isinstance(result, Refusal):
            raise result
    return [result for result in results if not isinstance(result, Refusal)]
