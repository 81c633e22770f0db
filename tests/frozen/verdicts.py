"""Verdicts: whether an input is accepted, or refused at which place.

What they are given is stored in their golden, as its keys. It is made up only where the golden does
not have it, so that a later change of settings does not change which inputs are tried.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import dropwhile, pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np

import incfed
from frozen import golden

KIND = "verdicts"
PLACE = re.compile(r"(--)?\w[\w.-]*(\[[^]]*\][\w.-]*)*")  # such as algorithm[1].costs[3]


class Begun(Exception):
    """All checks are passed: what would take long begins."""


def verdict(make: Callable[[], Any]) -> Any:
    """`{"accepted": ...}` with what was made of the input, as plain values;
    `{"refused": place}`; or `{"raised": class}` of an error that is not meant for the user."""
    with warnings.catch_warnings(), contextlib.chdir(folder()):
        warnings.simplefilter("ignore")
        try:
            return {"accepted": make()}
        except Begun:
            return {"accepted": None}
        except incfed.InputError as error:
            return {"refused": place(error)}
        except Exception as error:
            return {"raised": type(error).__name__}


def place(error: incfed.InputError) -> str:
    """Where an error is: the place in a config or the field of a constructor; "" if it is the
    config as a whole.

    Messages are "PLACE: got ..." or "PLACE: is missing", in general "PLACE: reason". Before it may
    stand the name of the file, and the point of a sweep; and it may be said in parts, as in
    "algorithm[1]: reports[0].clients: got 9".
    """
    message = str(error).replace(f"{folder()}/", "").removeprefix(f"{CONFIG}: ")
    head = re.split(r": (?:got|is missing)\b", message, maxsplit=1)
    parts = head[0].split(": ")
    if len(head) == 1:  # no such words: the last part is the reason
        parts.pop()
    named = takewhile(_is_place, dropwhile(lambda part: not _is_place(part), parts))
    return ".".join(named)


def _is_place(part: str) -> bool:
    return PLACE.fullmatch(part) is not None


CONFIG = "config.toml"


@cache
def folder() -> Path:
    """A folder for this process, with the files that inputs name."""
    kept = tempfile.TemporaryDirectory(prefix="incfed-verdicts-")
    _KEPT.append(kept)
    here = Path(kept.name).resolve()
    for name, text in FILES.items():
        (here / name).write_text(text)
    numbers = np.arange(48.0).reshape(6, 2, 4) % 7 / 7
    incfed.Trace([0, 1, 2, 0, 1, 2], numbers, numbers.sum(axis=2)).save(here / "trace.npz")
    return here


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # until the process ends
FILES = {
    "log.csv": "client;features;chosen;reward;propensity\n"
    + "".join(f"{name};1,0|0,1;{n % 2};{n % 3};0.5\n" for n, name in enumerate("abcabcab")),
    "choices.csv": "client,candidates,chosen,reward,time\n"
    + "".join(f"{name},x|y,{'xy'[n % 2]},{n % 3},{9 - n}\n" for n, name in enumerate("abcabcab")),
    "items.csv": "item,first,second\nx,1,0\ny,0,1\n",
    "long.csv": "client,event,chosen,reward,first,second\n"
    + "".join(f"{'ab'[n % 2]},{n},{k},1,{k},{n}\n" for n in range(6) for k in (0, 1)),
    "mine.py": "import incfed\n\n\nclass Mine(incfed.PayEveryone):\n"
    "    def __init__(self, factor=1.0, files=()):\n        pass\n",
    "broken.py": "import incfed\n\nclass Mine(\n",
    "certificate.pem": "",
    "key.pem": "",
}


def edges(judge: Callable[[str], Any]) -> list[str]:
    """Where limits are: of numbers of which the verdicts differ, the two closest to each other."""
    found: list[str] = []
    for numbers, between in LADDERS:
        for low, high in pairwise(numbers):
            below = _status(judge(repr(low)))
            if below == _status(judge(repr(high))):
                continue
            while (middle := between(low, high)) not in (low, high):
                if _status(judge(repr(middle))) == below:
                    low = middle
                else:
                    high = middle
            found += [repr(low), repr(high)]
    return found


def _status(verdict: Mapping[str, Any]) -> Any:
    return "accepted" if "accepted" in verdict else verdict


def _between(low: float, high: float) -> float:
    """The float halfway, counted in floats; both have the same sign."""
    low_bits, high_bits = np.array([low, high]).view(np.int64).tolist()
    return float(np.int64((low_bits + high_bits) // 2).view(np.float64))


LADDERS: tuple[tuple[tuple[Any, ...], Callable[[Any, Any], Any]], ...] = (
    ((-1, 0, 1, 2, 3, 10**6, 10**13, 10**25), lambda low, high: (low + high) // 2),
    ((-1e101, -1.0, -0.0), _between),
    ((0.0, 0.5, 1.0, 1.5, 3.0, 1e6, 1e13, 1e101, 1e308), _between),
)


def words(text: str) -> tuple[str, ...]:
    """What two blanks separate, or a new line."""
    return tuple(re.split(r"\s{2,}", text.strip()))


def stored(case: str) -> Mapping[str, Any]:
    """The golden of a case, of which the keys are inputs; empty if there is none yet."""
    found: Mapping[str, Any] = _golden().get(case, {})
    return found


@cache
def _golden() -> dict[str, Any]:
    try:
        return golden.load(KIND)
    except FileNotFoundError:
        return {}


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers, texts and lists of them in settings, by their place; other things are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, f"{place}.{key}" if place else str(key))
    elif (figure := simple(value)) is not None:
        yield place, figure


def simple(value: Any) -> Any:
    """A number, a text, or a list of them, as Python has them; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, str):
        return value.replace(str(folder()), "")
    if isinstance(value, np.ndarray):
        return simple(value.tolist())
    if isinstance(value, list | tuple):
        each = [simple(entry) for entry in value]
        return None if None in each else each
    return None
