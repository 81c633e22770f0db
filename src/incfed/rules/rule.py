"""What a rule is: a frozen pydantic dataclass whose fields say what they mean, what they may be,
and whether a served federation has them. Errors of pydantic become an `InputError`."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from ..errors import InputError, missing, refuse, unknown

T = TypeVar("T")
_WIDTH = 96  # of a docstring
_SCHEMA = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


def setting(
    meaning: str, *, default: Any = dataclasses.MISSING, example: Any = None, served: bool = True
) -> Any:
    """A field of a rule. `meaning` is what the reference of settings and the commented configs say
    of it; `example`: what a config could say that leaves it out by default. With `served` false it
    is for simulations only."""
    more = {"meaning": meaning, "example": example, "served": served}
    return dataclasses.field(default=default, metadata=more)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, setting))
def rule(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """Make a class a rule: its fields are checked, and what they exclude by `__post_init__`."""

    def make(cls: type[T]) -> type[T]:
        made: Any = documented(dataclass(frozen=True, kw_only=kw_only, config=_SCHEMA)(cls))
        init = made.__init__

        @wraps(init)
        def __init__(self: Any, *args: Any, **given: Any) -> None:
            try:
                init(self, *args, **given)
            except ValidationError as error:
                raise input_error(error, names(made)) from None

        # Signatures are those of the fields, also of classes that inherit them.
        __init__.__signature__ = _signature(made)  # type: ignore[attr-defined]
        made.__init__ = __init__
        del made.__signature__
        found: type[T] = made
        return found

    return make


def documented(rules: type[T]) -> type[T]:
    """Add to the docstring of a class what its settings mean, before its examples."""
    said = meanings(rules)
    lines = [
        line
        for name in inspect.signature(rules).parameters
        if name in said
        for line in textwrap.wrap(f"{name}: {said[name]}.", _WIDTH)
    ]
    about, mark, examples = inspect.cleandoc(rules.__doc__ or "").partition("\n\n>>> ")
    rules.__doc__ = "\n".join([about, *([""] if lines else []), *lines]) + mark + examples
    return rules


def names(rules: type) -> list[str]:
    """The settings of a rule."""
    return [field.name for field in dataclasses.fields(rules)]


def meanings(rules: type) -> dict[str, str]:
    """What each setting of a rule means."""
    found = {
        field.name: field.metadata["meaning"]
        for one in reversed(inspect.getmro(rules))
        for field in getattr(one, "__dataclass_fields__", {}).values()
        if field.metadata.get("meaning")  # not of a field that is declared anew, with another type
    }
    return {name: found[name] for name in names(rules) if name in found}


def served(rules: type) -> list[str]:
    """The settings that a served federation has too."""
    return [field.name for field in dataclasses.fields(rules) if field.metadata.get("served", True)]


def read(rules: type[T], table: Mapping[str, Any], place: str) -> T:
    """The rule that a table of a config describes."""
    try:
        return TypeAdapter(rules).validate_python(dict(table))
    except ValidationError as error:
        found = input_error(error, names(rules))
        inside = f"{place}.{found.place}" if found.place else place
        raise InputError(found.said, inside) from None


def input_error(error: ValidationError, known: list[str]) -> InputError:
    """The first of pydantic's errors as one of ours; `known`: the settings there are."""
    first = error.errors()[0]
    at, *inside = first["loc"] or ("",)
    by_name = known[at] if isinstance(at, int) and at < len(known) else at  # by position
    place, value, context = _place((by_name, *inside)), first["input"], first.get("ctx", {})
    kind = first["type"]
    if "refused" in context:
        return InputError(context["refused"].said, place + context["refused"].place)
    if isinstance(inner := context.get("error"), InputError):
        return inner.within(place, {inner.place}) if place else inner
    if isinstance(inner, Exception):  # of somebody's own `__post_init__`
        raise inner from None
    if kind.startswith("missing"):
        return missing(place, "given")
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return unknown(place, value, known)
    return refuse(place, value, _allowed(first))


def _allowed(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        return f"one of {context['expected'].replace(' or ', ', ')}"
    words = {
        "dataclass_type": "a table",
        "tuple_type": "a list",
        "string_type": "a text",
        "unexpected_positional_argument": "given by name",
    }
    if kind in words:
        return words[kind]
    said = error["msg"]
    return said[:1].lower() + said[1:]


def _place(location: tuple[int | str, ...]) -> str:
    """Such as "limits.per_round" or "proxies[1]"."""
    place = ""
    for one in location:
        place += f"[{one}]" if isinstance(one, int) else f".{one}" if place else str(one)
    return place


def _signature(made: type) -> inspect.Signature:
    kinds = inspect.Parameter
    found = [
        kinds(
            field.name,
            kinds.KEYWORD_ONLY if field.kw_only else kinds.POSITIONAL_OR_KEYWORD,
            default=kinds.empty if field.default is dataclasses.MISSING else field.default,
            annotation=field.type,
        )
        for field in dataclasses.fields(made)
        if field.init
    ]
    found.sort(key=lambda one: one.kind)
    this = kinds("self", kinds.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([this, *found], return_annotation=None)
