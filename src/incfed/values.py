"""What values a setting takes: a number in a range, a whole number, a word, true or false.

The annotation of a setting says it once: `beta: Annotated[float, Number(0, 1)]`. It is checked
wherever the setting is given: in rules (pydantic calls `take`), in other classes (`configured.py`)
and in functions (`of`). Numpy numbers are taken, and kept as Python's. Booleans, texts and NaN are
no numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from .errors import InputError, in_range, refuse
from .support.inputs import array, counted

T = TypeVar("T")


class NotAllowed(ValueError):
    """A value that a setting does not take; `part`: what is wrong with which part of it."""

    def __init__(self, part: InputError | None = None) -> None:
        super().__init__()
        self.part = part


class Value(ABC, Generic[T]):
    """What a setting may be."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """In words, as errors say it."""

    @abstractmethod
    def take(self, value: Any) -> T:
        """The value as Python has it, or NotAllowed."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""

    def of(self, place: str, value: object) -> T:
        """`value` as Python has it, or an InputError that names the place."""
        try:
            return self.take(value)
        except NotAllowed as error:
            raise self.refused(place, value, error) from None

    def refused(self, place: str, value: object, error: NotAllowed) -> InputError:
        """The error to raise of a value that was not taken."""
        if error.part is not None:
            return InputError(error.part.said, f"{place}{error.part.place}")
        return refuse(place, value, self.allowed)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import PydanticCustomError, core_schema

        def check(value: Any) -> Any:
            try:
                return self.take(value)
            except NotAllowed as error:
                message = f"must be {self.allowed}" if error.part is None else error.part.said
                context = {"message": message, "refused": self.refused("", value, error)}
                raise PydanticCustomError("refused", "{message}", context) from None

        return core_schema.no_info_plain_validator_function(check)

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return self.schema()


@dataclass(frozen=True)
class Number(Value[Any]):
    """A number between `low` and `high`; an open end excludes the limit itself. `or_inf`: infinity
    is one too. `words`: texts that stand for themselves."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False  # low itself is excluded
    below: bool = False  # high itself is excluded
    or_inf: bool = False
    words: tuple[str, ...] = ()
    as_float: bool = False  # kept as a float, also where a whole number is given
    booleans: bool = False  # true and false count as 1 and 0

    @property
    def allowed(self) -> str:
        noun = "a number (or inf)" if self.or_inf else "a number"
        said = in_range(noun, self.low, self.high, self.above, self.below)
        return ", or ".join([said, *(f'"{word}"' for word in self.words)])

    def take(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.words:
            return str(value)
        number = python(value)
        if isinstance(number, bool) and not self.booleans:
            raise NotAllowed
        if not isinstance(number, int | float):
            raise NotAllowed
        try:
            size = float(number)
        except OverflowError:
            raise NotAllowed from None
        if self.or_inf and size == math.inf:
            return size
        if not math.isfinite(size) or not self.low <= size <= self.high:
            raise NotAllowed
        if (self.above and size == self.low) or (self.below and size == self.high):
            raise NotAllowed
        return size if self.as_float or isinstance(number, bool) else number

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "number"}
        if math.isfinite(self.low):
            found["exclusiveMinimum" if self.above else "minimum"] = self.low
        if math.isfinite(self.high):
            found["exclusiveMaximum" if self.below else "maximum"] = self.high
        return {"anyOf": [found, {"enum": list(self.words)}]} if self.words else found


@dataclass(frozen=True)
class Rate(Number):
    """A number from `low` to `high`; or 0, which is no limit."""

    @property
    def allowed(self) -> str:
        return f"0 for no limit, or from {self.low:g} to {self.high:,g}"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"const": 0}, super().schema()]}

    def take(self, value: Any) -> Any:
        number = Number(0.0).take(value)
        return number if number == 0 else super().take(number)


@dataclass(frozen=True)
class Whole(Value[int]):
    """A whole number from `low` to `high`, both included."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def allowed(self) -> str:
        return in_range("a whole number", self.low, self.high)

    def take(self, value: Any) -> int:
        number = python(value)
        if isinstance(number, bool) or not isinstance(number, int):
            raise NotAllowed
        if not self.low <= number <= self.high:
            raise NotAllowed
        return number

    def schema(self) -> dict[str, Any]:
        ends = {"minimum": self.low, "maximum": self.high}
        return {"type": "integer", **{k: int(end) for k, end in ends.items() if math.isfinite(end)}}


@dataclass(frozen=True)
class Word(Value[str]):
    """One of some words."""

    words: Collection[str]

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(repr(word) for word in self.words)

    def take(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise NotAllowed
        return str(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class String(Value[str]):
    """A text that is not empty; with `longest`, one that is not blank and can be printed, of so
    many characters at most."""

    longest: int | None = None

    @property
    def allowed(self) -> str:
        if self.longest is None:
            return "a string that is not empty"
        return f"a text of 1 to {counted(self.longest, 'character')}"

    def take(self, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise NotAllowed
        printed = value.strip() and value.isprintable()
        if self.longest is not None and not (printed and len(value) <= self.longest):
            raise NotAllowed
        return str(value)

    def schema(self) -> dict[str, Any]:
        most = {} if self.longest is None else {"maxLength": self.longest}
        return {"type": "string", "minLength": 1, **most}


@dataclass(frozen=True)
class Each(Value[Any]):
    """A number for all clients alike, or a list with one for each, which is kept as a tuple."""

    value: Number
    said: str = ""

    @property
    def allowed(self) -> str:
        return self.said or f"{self.value.allowed}, or one per client"

    def take(self, value: Any) -> Any:
        if isinstance(value, str) or value is None:
            return self.value.take(value)
        if isinstance(value, int | float | np.number | np.bool_):
            try:
                return self.value.take(value)
            except NotAllowed as error:
                raise NotAllowed(self.value.refused("", value, error)) from None
        low, most = self.value.low, self.value.high
        try:
            each = array("", value, ndim=1, allowed=self.allowed, low=low, most=most)
        except InputError as error:
            raise NotAllowed(error) from None
        if not len(each):
            raise NotAllowed
        return tuple(each.tolist())

    def schema(self) -> dict[str, Any]:
        one = self.value.schema()
        return {"anyOf": [one, {"type": "array", "items": one}]}


@dataclass(frozen=True)
class EachTrust(Each):
    """The same, where a number may be infinite."""

    def take(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not (isinstance(value, list | tuple) and value):
            return self.value.take(value)
        if set(map(type, value)) <= {int, float} and (found := self._all_at_once(value)):
            return found
        return tuple(self._one(n, one) for n, one in enumerate(value))

    def _one(self, n: int, value: Any) -> Any:
        number = replace(self.value, words=())
        try:
            return number.take(value)
        except NotAllowed as error:
            raise NotAllowed(number.refused(f"[{n}]", value, error)) from None

    def _all_at_once(self, value: Any) -> tuple[float, ...] | None:
        """One million in a tenth of a second; None if one is refused, which is named then."""
        try:
            each = np.array(value, np.float64)
        except OverflowError:
            return None
        inside = ((each >= self.value.low) & (each <= self.value.high)) | (each == np.inf)
        return tuple(each.tolist()) if inside.all() else None


@dataclass(frozen=True)
class Flag(Value[bool]):
    """True or false; 0 and 1 are refused."""

    @property
    def allowed(self) -> str:
        return "true or false"

    def take(self, value: Any) -> bool:
        value = python(value)
        if not isinstance(value, bool):
            raise NotAllowed
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


def python(value: Any) -> Any:
    """A numpy number as a Python number of the same value; anything else as it is."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.floating):
        return float(value)
    return int(value) if isinstance(value, np.integer) else value
