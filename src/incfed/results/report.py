"""Reports: one HTML file with tables, figures and settings that opens anywhere, also offline."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support import inputs
from ..support.files import write_text
from ..support.inputs import InputError, counted
from .page import page, paragraphs
from .palette import Pens, pens_for
from .plots import overview
from .settings import plain
from .svg import colour, inline_svg
from .tables import METRICS, Row, Runs, Spread, checked, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG = 60  # longer lists in the settings are shown by their first values and their length


@dataclass(frozen=True)
class Section:
    """One part of a report. Everything but the heading may be left out.

    `figures` are by caption; `settings` are groups (a heading and its values), folded away until
    the reader opens them; `pens` colours the rows like the lines.
    """

    heading: str
    text: str = ""
    rows: Sequence[Row] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    pens: Pens = field(default_factory=dict)

    @classmethod
    def of(cls, heading: str, runs: Runs, text: str = "", *, pens: Pens | None = None) -> Section:
        """The usual section about some runs: their table, their overview and their settings.

        Give all sections the same `pens` if they show different sets of algorithms.
        """
        chosen = {**pens_for(checked(runs)), **(pens or {})}
        several = any(len(results) > 1 for results in runs.values())
        caption = "Mean over seeds; the bands are one standard deviation wide on each side."
        return cls(
            heading=heading,
            text=text,
            rows=compare(runs),
            figures={caption if several else "One run each.": overview(runs, pens=chosen)},
            settings=common_settings(runs),
            pens=chosen,
        )


def write_report(
    path: str | PathLike[str],
    title: str,
    intro: str,
    sections: Iterable[Section],
    *,
    footer: str = "",
) -> Path:
    """Write a report to the file `path` and return it; all texts are plain, not HTML.

    The file appears whole or not at all, and replaces one of the same name.
    """
    target = inputs.path("path", path, "the name of a file").resolve()
    if target.is_dir():
        raise InputError(f"path: {target} is a folder; allowed is a file, such as report.html")
    parts = list(sections)
    text = page(title, "\n".join(_body(title, intro, parts, footer)))
    return write_text(target, text)


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


def _body(title: str, intro: str, sections: Sequence[Section], footer: str) -> Iterable[str]:
    yield f"<header><h1>{escape(title)}</h1>{paragraphs(intro)}"
    if len(sections) > 1:
        links = (
            f'<a href="#section-{n}">{escape(s.heading)}</a>' for n, s in enumerate(sections, 1)
        )
        yield f"<nav>{' '.join(links)}</nav>"
    yield "</header>"
    for n, section in enumerate(sections, 1):
        yield f'<section id="section-{n}"><h2>{escape(section.heading)}</h2>'
        yield paragraphs(section.text)
        if section.rows:
            yield _table(section.rows, section.pens)
        for k, (caption, figure) in enumerate(section.figures.items(), 1):
            drawing = inline_svg(figure, f"s{n}f{k}", f"{section.heading}. {caption}")
            yield f'<figure><div class="scroll">{drawing}</div>'
            yield f"<figcaption>{escape(caption)}</figcaption></figure>"
        if section.settings:
            yield _settings(section.settings)
        yield "</section>"
    if footer:
        yield f"<footer>{paragraphs(footer)}</footer>"


def _table(rows: Sequence[Row], pens: Pens) -> str:
    counts = {row.seeds for row in rows}
    shown = [name for name in METRICS if any(not math.isnan(getattr(r, name).mean) for r in rows)]
    titles = ["Algorithm", *([] if len(counts) == 1 else ["Seeds"]), *map(str.capitalize, shown)]
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    body = []
    for row in rows:
        swatch = ""
        if row.label in pens:
            shade = colour(pens[row.label].colour)
            swatch = f'<span class="swatch" style="background: {escape(shade)}"></span>'
        seeds = "" if len(counts) == 1 else f"<td>{row.seeds}</td>"
        cells = "".join(f"<td>{_cell(getattr(row, name))}</td>" for name in shown)
        body.append(f'<tr><th scope="row">{swatch}{escape(row.label)}</th>{seeds}{cells}</tr>')
    note = "Final figures"
    if max(counts) > 1:
        seeds = counted(max(counts), "seed") if len(counts) == 1 else "the seeds"
        note += f", mean ± standard deviation over {seeds}"
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f'<tbody>{"".join(body)}</tbody></table></div><p class="note">{note}.</p>'
    )


def _cell(spread: Spread) -> str:
    mean, sd, unit = spread.parts()
    return f'{mean} <span class="sd">± {sd}</span>{unit}' if sd else mean + unit


def _settings(groups: Mapping[str, Any]) -> str:
    loose = {key: value for key, value in groups.items() if not isinstance(value, Mapping)}
    parts = [f'<div class="group">{_list(loose)}</div>'] if loose else []
    for name, group in groups.items():
        if isinstance(group, Mapping):
            parts.append(f'<div class="group"><h3>{escape(name)}</h3>{_list(group)}</div>')
    inside = f'<div class="groups">{"".join(parts)}</div>'
    return f"<details><summary>Settings</summary>{inside}</details>"


def _list(values: Mapping[str, Any]) -> str:
    items = (
        f"<dt>{escape(key)}</dt><dd>{escape(_shown(value))}</dd>"
        for key, value in _flat(plain(values)).items()
    )
    return f"<dl>{''.join(items)}</dl>"


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
