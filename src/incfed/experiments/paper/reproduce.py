"""`incfed reproduce`: from the names of tables and figures to a folder with all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from ... import errors
from ...environments import MovieLens
from ...errors import InputError, refuse
from ...results import html, markdown
from ...results.plots import can_plot
from ...results.terminal import show
from ...support.files import replacing, write_text
from ...support.inputs import counted
from ...support.terminal import Terminal
from ..cells import Record
from ..checkpoint import NAME, CellsFile
from ..engine import Outcome
from ..grid import MOST_CELLS
from ..outputs import save_figure
from ..suite import Suite
from ..sweep_report import cells_frame
from .document import Reproduction, page_document, result_document, tables_document
from .figures import FIGURES, PaperFigure, draw
from .settings import MOVIELENS, Data, Mode, PaperSetting, cell
from .tables import TABLES, PaperTable
from .verdicts import incomparable, judge

ALL = "all"
FETCH = "incfed data movielens ml-20m"
OURS = ("reproduction.html", "tables.md", "tables.tex", "figures", "cells.parquet")
TARGETS: dict[str, PaperTable | PaperFigure] = {**TABLES, **FIGURES}


@dataclass(frozen=True, kw_only=True)
class PaperSuite(Suite):
    """The runs behind some tables and figures of the paper."""

    targets: tuple[str, ...]
    missing: tuple[str, ...]  # asked for by "all", but without the data they need
    mode: Mode
    seeds: int
    settings: list[PaperSetting]

    cautious: ClassVar[bool] = True  # some of them take hours
    hint: ClassVar[str] = "Next: open the page in a browser."

    def checkpoint(self) -> CellsFile:
        return CellsFile(self.output / NAME, ours=OURS)

    def describe(self) -> str:
        settings, seeds = counted(len(self.settings), "setting"), counted(self.seeds, "seed")
        runs = counted(len(self.cells), "run")
        return f"{', '.join(self.targets)}: {runs}, {settings} with {seeds} each"

    def report(self, terminal: Terminal, outcome: Outcome) -> dict[str, Path]:
        with terminal.busy("drawing figures, writing tables"):
            found = _evaluate(self, outcome.records)
            page = _publish(self.output, found, outcome.records)
        show(terminal, result_document(found))
        if self.missing:
            terminal.hint(
                f"Not run: {', '.join(self.missing)}. They need --movielens FOLDER; download the "
                f"data with: {FETCH}"
            )
        return {"page": page, "tables": self.output / "tables.md", "runs": self.output / NAME}


def paper_suite(
    names: Sequence[str], *, seeds: int, mode: Mode, output: Path = Path("reproduction")
) -> PaperSuite:
    """Check the names, and that MovieLens is there where it is needed."""
    names = [re.sub(r"^fig(?=\d)", "figure", name) for name in names]
    for name in names:
        if name not in (*TARGETS, ALL):
            close = errors.hint(name, (*TARGETS, ALL))
            raise InputError(
                f"target: got {name!r}{close}, must be table1 to table6, figure1 to figure4, or all"
            )
    wanted = [name for name in TARGETS if name in names or ALL in names]
    on_movielens = [name for name in wanted if TARGETS[name].world == MOVIELENS]
    missing = on_movielens if mode.movielens is None else []
    if missing and ALL not in names:
        allowed = f"the folder of MovieLens, for {', '.join(missing)}; to download it: {FETCH}"
        raise errors.missing("--movielens", allowed)
    if mode.movielens is not None and on_movielens:
        mode = replace(mode, data=_look(mode.movielens, mode.active))
    targets = tuple(name for name in wanted if name not in missing)
    settings = list(dict.fromkeys(one for name in targets for one in TARGETS[name].settings()))
    each = 1 if mode.quick else seeds
    if each * len(settings) > MOST_CELLS:
        most = MOST_CELLS // len(settings)
        raise refuse("seeds", seeds, f"at most {most:,}, for {MOST_CELLS:,} runs in total")
    return PaperSuite(
        name="incfed reproduce",
        cells=[cell(setting, seed, mode) for setting in settings for seed in range(each)],
        output=output,
        targets=targets,
        missing=tuple(missing),
        mode=mode,
        seeds=each,
        settings=settings,
    )


def _look(folder: Path, active: int) -> Data:
    """How much MovieLens data there is, or an InputError. Reading it also fills the cache."""
    with errors.at("movielens"):
        world = MovieLens(folder, min_events=active)
    return Data(world.count, world.length)


def _evaluate(asked: PaperSuite, records: Sequence[Record]) -> Reproduction:
    by_setting: dict[PaperSetting, list[Record]] = {}
    for record in records:
        given = {key: value for key, value in record.point.items() if key != "reads"}
        by_setting.setdefault(PaperSetting(**given), []).append(record)
    mode, targets = asked.mode, asked.targets
    drawn = {
        name: draw(FIGURES[name], by_setting) for name in targets if name in FIGURES and can_plot()
    }
    data = ""  # other MovieLens data than the paper's
    if mode.data is not None and incomparable(mode):
        data = f"{counted(mode.data.clients, 'user')}, {counted(mode.data.events, 'event')}"
    return Reproduction(
        mode=mode,
        seeds=asked.seeds,
        verdicts={n: judge(TABLES[n], by_setting, mode) for n in targets if n in TABLES},
        drawings={name: drawing for name, drawing in drawn.items() if drawing is not None},
        missing=asked.missing,
        data=data,
    )


def _publish(folder: Path, found: Reproduction, records: Sequence[Record]) -> Path:
    """Write tables, figures and the page; each file appears whole or not at all."""
    with replacing(folder / "cells.parquet") as fresh:
        cells_frame(records).write_parquet(fresh)
    write_text(folder / "tables.md", markdown.render(tables_document(found)))
    plain = tables_document(found, differences=False)
    write_text(folder / "tables.tex", markdown.render_latex(plain))
    for old in (folder / "figures").glob("figure?.*"):  # of other targets, or another mode
        old.unlink()
    for name, figure in found.drawings.items():
        save_figure(figure, folder / "figures" / name, dpi=160)
    return write_text(folder / "reproduction.html", html.render(page_document(found)))
