"""`check_world` passes the worlds of the package, and names what is wrong with a broken one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import incfed


class Fair(incfed.World):
    """Right in everything. The broken ones differ in one thing."""

    count, dim, arms_per_step = 3, 2, 4
    calls = 0

    def open(self, seed: np.random.SeedSequence) -> incfed.Stream:
        return FairStream(self, seed)

    def settings(self) -> dict[str, Any]:
        return {"kind": "Fair", "scale": np.float64(1.0)}


class FairStream(incfed.Stream):
    def __init__(self, world: Fair, seed: np.random.SeedSequence) -> None:
        self.world, (who, which) = world, map(np.random.default_rng, seed.spawn(2))
        self.who, self.which = who, which
        self.items = np.ones((6, 2))

    def take(self, n: int) -> incfed.Events:
        arms = self.which.integers(0, 6, (n, 4))
        return incfed.Events.of(self.who.integers(0, 3, n), arms, arms / 6.0, arms / 6.0)


def test_a_right_one_passes() -> None:
    assert incfed.check_world(Fair()) == 200
    assert incfed.check_world(Fair(), steps=9, seed=5) == 9
    assert incfed.check_world(incfed.Synthetic(clients=3, dim=2, arms=3, pool=9, spread=0.3)) == 200


def test_a_trace_passes_as_long_as_it_is() -> None:
    trace = incfed.Trace([0, 1, 0, 1, 1], np.ones((5, 2, 3)), np.zeros((5, 2)))
    assert incfed.check_world(trace) == 5
    assert incfed.check_world(trace.part(0.0, 0.2)) == 1
    assert incfed.check_world(trace.part(0.2, 1.0, turn=True)) == 4


def broken(**changed: Any) -> incfed.World:
    made: incfed.World = type("Broken", (Fair,), changed)()
    return made


def streaming(take: Callable[[FairStream, int], incfed.Events], **more: Any) -> incfed.World:
    class Opened(FairStream):
        pass

    for name, value in {"take": take, **more}.items():
        setattr(Opened, name, value)
    return broken(open=lambda self, seed: Opened(self, seed))


right = FairStream.take


def forgetful(stream: FairStream, n: int) -> incfed.Events:
    stream.who = np.random.default_rng()
    return right(stream, n)


def one_stream(stream: FairStream, n: int) -> incfed.Events:
    stream.who = stream.which  # clients and arms in turn: the order depends on n
    return right(stream, n)


def shared_state(stream: FairStream, n: int) -> incfed.Events:
    world = stream.world
    if getattr(stream, "at", None) is None:
        world.calls, stream.at = 0, 0  # type: ignore[attr-defined]
    clients = np.arange(world.calls, world.calls + n) % 3
    world.calls += n
    return right(stream, n)._replace(clients=clients)


def reused(stream: FairStream, n: int) -> incfed.Events:
    found = right(stream, n)
    if not hasattr(stream, "memory"):
        stream.memory = np.zeros((1000, 4))  # type: ignore[attr-defined]
    stream.memory[:n] = found.rewards  # type: ignore[attr-defined]
    return found._replace(rewards=stream.memory[:n])  # type: ignore[attr-defined]


def far(stream: FairStream, n: int) -> incfed.Events:
    return right(stream, n)._replace(arms=np.full((n, 4), 6))


def infinite(stream: FairStream, n: int) -> incfed.Events:
    return right(stream, n)._replace(rewards=np.full((n, 4), np.inf))


def skip_nothing(stream: FairStream, n: int) -> None:
    return


FAULTS: dict[str, tuple[incfed.World, str]] = {
    "sizes": (broken(count=0, dim=2.5), r"(?s)broke 2 rules:.*- count: count: got 0.*- dim: dim"),
    "settings": (broken(settings=lambda self: {"kind": "a", "f": print}), "cannot be recorded"),
    "no kind": (broken(settings=lambda self: {}), 'a dict with a "kind"'),
    "no stream": (broken(open=lambda self, seed: None), r"open\(\): got None, must be"),
    "no events": (streaming(lambda self, n: None), r"take\(\): got 'NoneType'"),  # type: ignore[arg-type, return-value]
    "an error": (streaming(lambda self, n: 1 / 0), "ZeroDivisionError"),  # type: ignore[arg-type, return-value]
    "indices": (streaming(far), "arms: got 6, must be from 0 to 5"),
    "infinity": (streaming(infinite), "rewards and expected must be finite"),
    "no seed": (streaming(forgetful), "the same seed gives another run"),
    "pieces": (streaming(one_stream), "depends on how it is divided"),
    "a common state": (streaming(shared_state), "a run changes if another one is open"),
    "skipping": (streaming(right, skip=skip_nothing), r"after skip\(n\)"),
    "memory": (streaming(reused), r"take\(\) changed arrays"),
    "constant": (broken(chance=False), "runs depend on the seed, but chance is False"),
    "features": (broken(dim=3), "items: got .* must be 3 features wide"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_is_named(name: str) -> None:
    world, message = FAULTS[name]
    with pytest.raises(incfed.InputError, match=message):
        incfed.check_world(world)


def test_a_world_without_chance_says_so() -> None:
    class Fixed(Fair):
        def open(self, seed: np.random.SeedSequence) -> incfed.Stream:
            return FairStream(self, np.random.SeedSequence(0))

    with pytest.raises(incfed.InputError, match="every seed gives the same run"):
        incfed.check_world(Fixed())


def test_what_is_no_world_is_refused() -> None:
    with pytest.raises(incfed.InputError, match=r"must be an instance of a class .* incfed\.World"):
        incfed.check_world(Fair)  # type: ignore[arg-type]


def test_events_of_lists() -> None:
    events = incfed.Events.of([1], [[0, 2]], [[0.5, 1]])
    assert [part.dtype.kind for part in events] == ["i", "i", "f", "f"]
    assert np.isnan(events.expected).all()
