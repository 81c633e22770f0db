"""Checks of a world of somebody's own: of its events in a run, and of the whole contract."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import errors, ranges
from ..support import inputs
from ..types import Floats
from ..values import Whole
from .base import Events, Stream, World

SEEDS = 2  # other seeds to try, to see whether runs depend on them


def check_world(world: World, *, steps: int = 200, seed: int = 0) -> int:
    """Try `world` for some steps; raise InputError with the rules it breaks, in plain words.

    Its sizes are whole numbers, its settings can be recorded, and its events have the right form.
    The same seed gives the same run, however that is divided into calls, whatever else is open, and
    also after `skip`; another seed gives another run, unless `chance` is False. What `take` has
    returned stays as it was. Returns the number of steps tried.

    >>> incfed.check_world(incfed.Synthetic(clients=3, dim=2, arms=4, pool=9))
    200
    """
    if not isinstance(world, World):
        allowed = "an instance of a class that derives from incfed.World"
        raise errors.refuse("world", world, allowed)
    steps = Whole(4, 10**7).of("steps", steps)
    seed = Whole(0).of("seed", seed)
    faults = list(_sizes(world))
    if not faults:
        steps = steps if world.length is None else min(steps, world.length)
        faults = [*_settings(world), *_Trial(world, steps, seed).faults()]
    if faults:
        broken = f"{type(world).__name__} broke {inputs.counted(len(faults), 'rule')}"
        raise errors.InputError("\n".join([f"{broken}:", *(f"- {fault}" for fault in faults)]))
    return steps


def check_items(world: World, stream: Stream) -> Floats:
    """The items of a stream as an array; InputError if they are not what they should be."""
    items = inputs.array("items", stream.items, ndim=2, most=ranges.LARGEST)
    if items.shape[1] != world.dim:
        allowed = f"{inputs.counted(world.dim, 'feature')} wide, the dim of the world"
        raise errors.refuse("items", f"an array of shape {items.shape}", allowed)
    return items


def check_events(world: World, events: Events, n: int, items: int) -> None:
    """InputError unless these are n steps of a stream with so many items. The kernels trust it:
    they do not check their indices."""
    shape = (n, world.arms_per_step)
    for name, field, form, kind, top in (
        ("clients", events.clients, (n,), np.int64, world.count),
        ("arms", events.arms, shape, np.int64, items),
        ("rewards", events.rewards, shape, np.float64, None),
        ("expected", events.expected, shape, np.float64, None),
    ):
        if not isinstance(field, np.ndarray) or field.shape != form or field.dtype != kind:
            got = getattr(field, "shape", None), str(getattr(field, "dtype", type(field).__name__))
            raise errors.refuse(name, got, f"{kind.__name__} of shape {form}, from Stream.take")
        if not field.flags.c_contiguous:
            raise errors.refuse(name, "strided", "C-contiguous, from Stream.take")
        if n and top is not None and not (field.min() >= 0 and field.max() < top):
            wrong = int(field.min() if field.min() < 0 else field.max())
            raise errors.refuse(name, wrong, f"from 0 to {top - 1}")


def _sizes(world: World) -> Iterator[str]:
    for name in ("count", "dim", "arms_per_step", "length"):
        try:
            value: Any = getattr(world, name)
            if name != "length" or value is not None:
                Whole(1).of(name, value)
        except Exception as error:  # show the author whatever the world raises
            yield _said(name, error)


def _settings(world: World) -> Iterator[str]:
    try:
        said = world.settings()
        json.dumps(said, default=lambda value: value.tolist())
    except Exception as error:
        yield f"settings() cannot be recorded with a result: {type(error).__name__}: {error}"
        return
    if not isinstance(said, dict) or not isinstance(said.get("kind"), str):
        yield f'settings() must be a dict with a "kind", the name of the world; got {said!r:.80}'


class _Trial:
    """A world that is opened again and again, and what is wrong with it."""

    def __init__(self, world: World, steps: int, seed: int) -> None:
        self._world, self._steps, self._seed = world, steps, seed

    def faults(self) -> Iterator[str]:
        try:
            stream = self._open(self._seed)
            items, first = check_items(self._world, stream), self._take(stream, self._steps)
        except Exception as error:
            yield _said("open() and take()", error)
            return
        if np.isinf(first.rewards).any() or np.isinf(first.expected).any():
            yield "rewards and expected must be finite, or NaN where they are not known"
        rules: tuple[tuple[str, Callable[[], Events]], ...] = (
            ("the same seed gives another run: draw all that is random from the seed of open()",
             self._again),
            ("the run depends on how it is divided into calls of take(): draw the same numbers for "
             "take(2) as for take(1) twice, such as from one random stream for each field",
             self._in_pieces),
            ("a run changes if another one is open: keep what changes in the stream, not in the "
             "world", self._beside_another),
            ("after skip(n), take() does not go on with step n", self._skipping),
        )  # fmt: skip
        for rule, run in rules:
            try:
                if not _same(run(), first):
                    yield rule
                    return  # what follows would only say it again
            except Exception as error:
                yield _said(rule, error)
                return
        yield from self._kept(items)
        yield from self._chance(first)

    def _again(self) -> Events:
        return self._take(self._open(self._seed), self._steps)

    def _in_pieces(self) -> Events:
        stream, left, parts = self._open(self._seed), self._steps, []
        for n in (1, 0, 2, self._steps):
            parts.append(self._take(stream, min(n, left)))
            left -= min(n, left)
        return _joined(parts)

    def _beside_another(self) -> Events:
        one, half = self._open(self._seed), self._steps // 2
        before = self._take(one, half)
        self._take(self._open(self._seed + 1), max(0, half - 1))
        return _joined([before, self._take(one, self._steps - half)])

    def _skipping(self) -> Events:
        half = self._steps // 2
        before = self._take(self._open(self._seed), half)
        stream = self._open(self._seed)
        stream.skip(half)
        return _joined([before, self._take(stream, self._steps - half)])

    def _kept(self, items: Floats) -> Iterator[str]:
        stream, half = self._open(self._seed), self._steps // 2
        taken = stream.take(half)
        before = _joined([taken])
        stream.take(self._steps - half)
        if not _same(taken, before):
            yield "take() changed arrays that it had returned before: return new ones"
        if not np.array_equal(items, stream.items):
            yield "items differ from run to run, or change within one, for the same seed"

    def _chance(self, first: Events) -> Iterator[str]:
        others = [self._take(self._open(self._seed + k), self._steps) for k in (1, SEEDS)]
        differ = not all(_same(events, first) for events in others)
        if differ and not self._world.chance:
            yield "runs depend on the seed, but chance is False"
        if not differ and self._world.chance:
            yield "every seed gives the same run: if nothing is random, let chance return False"

    def _open(self, seed: int) -> Stream:
        stream = self._world.open(np.random.SeedSequence(seed))
        if not isinstance(stream, Stream):
            raise errors.refuse("open()", stream, "an incfed.Stream")
        return stream

    def _take(self, stream: Stream, n: int) -> Events:
        events = stream.take(n)
        if not isinstance(events, Events):
            raise errors.refuse("take()", type(events).__name__, "incfed.Events")
        check_events(self._world, events, n, len(stream.items))
        return _joined(
            [events]
        )  # a copy: the stream may use its arrays again, which is its own rule


def _said(where: str, error: Exception) -> str:
    kind = "" if isinstance(error, errors.InputError) else f"{type(error).__name__}: "
    return f"{where}: {kind}{error}"


def _joined(parts: list[Events]) -> Events:
    return Events(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def _same(one: Events, two: Events) -> bool:
    pairs = zip(one, two, strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
