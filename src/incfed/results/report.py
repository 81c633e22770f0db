"""Reports: one HTML file with tables, figures and settings that opens anywhere, also offline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..support import inputs
from ..support.files import write_text
from ..support.inputs import counted
from . import html
from .differences import difference_blocks
from .document import Block, DefinitionList, Document, Figure, Heading, Text
from .membership import membership_blocks
from .palette import Pens, pens_for
from .plots import can_plot, overview_panels
from .replays import bands_note
from .settings import plain
from .tables import ComparisonRow, Runs, checked, compare, comparison_table
from .tradeoff import tradeoff_blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LONG = 60  # of longer lists in the settings, only the first values and the length are shown


@dataclass(frozen=True)
class Section:
    """One part of a report; only the heading is required.

    `figures` are by caption; `settings` are groups of values, which a page folds away; `pens` gives
    the rows the colours of their lines; `more` follows the figures.
    """

    heading: str
    text: str = ""
    rows: Sequence[ComparisonRow] = ()
    figures: Mapping[str, Drawing] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    pens: Pens = field(default_factory=dict)
    more: Sequence[Block] = ()

    @classmethod
    def of(cls, heading: str, runs: Runs, text: str = "", *, pens: Pens | None = None) -> Section:
        """The usual section about some runs: their table, their overview, who gains by sharing, and
        their settings.

        Give all sections the same `pens` if they show different sets of algorithms.
        """
        chosen = {**pens_for(checked(runs)), **(pens or {})}
        caption = bands_note(runs)
        more: list[Block] = []
        if can_plot():
            keys = {label: chosen[label] for label in runs}
            more.append(Figure(caption, lambda: overview_panels(runs, pens=chosen), keys=keys))
            more += tradeoff_blocks(runs, pens=chosen)
        more += [*difference_blocks(runs), *membership_blocks(runs, pens=chosen)]
        return cls(heading, text, compare(runs), {}, common_settings(runs), chosen, more)

    def blocks(self) -> Iterator[Block]:
        yield Heading(self.heading)
        yield Text(self.text)
        if self.rows:
            yield comparison_table(self.rows, pens=self.pens, seeds=False)
        for caption, drawing in self.figures.items():
            yield Figure.of(drawing, caption, f"{self.heading}. {caption}")
        yield from self.more
        if self.settings:
            yield settings_block(self.settings)


def write_report(
    path: str | PathLike[str],
    title: str,
    intro: str,
    sections: Iterable[Section],
    *,
    footer: str = "",
) -> Path:
    """Write a report to the file `path` and return the path; all texts are plain, not HTML.

    The file is written whole or not at all; an existing one is replaced.
    """
    target = inputs.path("path", path, "the name of a file").resolve()
    if target.is_dir():
        raise InputError(f"path: {target} is a folder; allowed is a file, such as report.html")
    parts = [block for section in sections for block in section.blocks()]
    return write_text(target, html.render(Document(title, (Text(intro), *parts), footer)))


def common_settings(runs: Runs) -> dict[str, Any]:
    """The settings of many runs without repetition: what all share, then what each adds."""
    first = next(iter(runs.values()))[0].settings
    seeds = {json.dumps(one.settings.get("seed")) for results in runs.values() for one in results}
    run = {key: value for key, value in first.items() if not isinstance(value, Mapping)}
    run["seed"] = ", ".join(sorted(seeds, key=lambda seed: (len(seed), seed)))
    own = {name: _flat(results[0].settings.get("algorithm", {})) for name, results in runs.items()}
    shared = {
        key: value
        for key, value in next(iter(own.values())).items()
        if all(key in other and other[key] == value for other in own.values())
    }
    groups = {"Run": run, "World": first.get("world", {}), "All algorithms": shared}
    for label, values in own.items():
        groups[label] = {key: value for key, value in values.items() if key not in shared}
    return {name: group for name, group in groups.items() if group}


def settings_block(settings: Mapping[str, Any]) -> DefinitionList:
    """Nested settings as text: values that are in no group come first."""
    loose = {key: value for key, value in settings.items() if not isinstance(value, Mapping)}
    groups: dict[str, Mapping[str, Any]] = {"": loose} if loose else {}
    groups |= {key: value for key, value in settings.items() if isinstance(value, Mapping)}
    return DefinitionList({
        name: {key: _shown(value) for key, value in _flat(plain(group)).items()}
        for name, group in groups.items()
    })  # fmt: skip


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested settings with dotted names: {"mechanism": {"beta": 1}} is mechanism.beta."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{above}{key}."))
        else:
            flat[above + key] = value
    return flat


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if isinstance(value, list) and len(value) > LONG:
        return f"{json.dumps(value[:5])[:-1]}, ...] ({counted(len(value), 'value')})"
    return json.dumps(value, ensure_ascii=False)
