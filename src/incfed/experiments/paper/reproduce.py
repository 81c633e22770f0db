"""`incfed reproduce`: from the names of tables and figures to a folder with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...environments import MovieLens
from ...results import html, markdown
from ...results.plots import can_plot
from ...support import places
from ...support.files import claim, replacing, write_text
from ...support.inputs import InputError, counted, refuse
from ..cells import Cell, Record
from ..checkpoint import NAME, CellsFile
from ..engine import Local, Outcome, run_cells
from ..grid import MOST_CELLS
from ..screen import Screen
from ..tidy import cells_frame
from . import figures
from .document import Reproduction, page_document, result_document, tables_document
from .settings import MOVIELENS, Data, Mode, PaperSetting, cell
from .tables import TABLES
from .verdicts import incomparable, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL = "all"
OURS = ("reproduction.html", "tables.md", "tables.tex", "figures", "cells.parquet")
TARGETS = (*TABLES, *figures.DRAWINGS)


@dataclass(frozen=True)
class ReproduceRequest:
    """What is asked for, checked."""

    targets: tuple[str, ...]
    missing: tuple[str, ...]  # asked for by "all", but without the data they need
    mode: Mode
    seeds: int

    def settings(self) -> list[PaperSetting]:
        """Everything that must be run, once each."""
        found: dict[PaperSetting, None] = {}
        for name in self.targets:
            if name in TABLES:
                table = TABLES[name]
                found.update((table.setting(*place), None) for place in table.cells())
            else:
                found.update((setting, None) for setting in figures.DRAWINGS[name].settings())
        return list(found)

    def cells(self) -> dict[PaperSetting, list[Cell]]:
        return {
            setting: [cell(setting, seed, self.mode) for seed in range(self.seeds)]
            for setting in self.settings()
        }


def request(names: Sequence[str], *, seeds: int, mode: Mode) -> ReproduceRequest:
    """Check the names, and that MovieLens is there where it is needed."""
    for name in names:
        if name not in (*TARGETS, ALL):
            close = places.hint(name, (*TARGETS, ALL))
            raise InputError(
                f"target: got {name!r}{close}, must be table1 to table6, figure1 to figure4, or all"
            )
    wanted = [name for name in TARGETS if name in names or ALL in names]
    missing = [name for name in wanted if mode.movielens is None and _world(name) == MOVIELENS]
    if missing and ALL not in names:
        raise refuse("movielens", None, f"the MovieLens folder that {', '.join(missing)} needs")
    kept = tuple(name for name in wanted if name not in missing)
    if mode.movielens is not None and any(_world(name) == MOVIELENS for name in kept):
        mode = replace(mode, data=_look(mode.movielens, mode.active))
    asked = ReproduceRequest(kept, tuple(missing), mode, 1 if mode.quick else seeds)
    if (runs := asked.seeds * len(asked.settings())) > MOST_CELLS:
        raise refuse(
            "seeds", seeds, f"so few that there are at most {MOST_CELLS:,} runs, not {runs:,}"
        )
    return asked


def _look(folder: Path, active: int) -> Data:
    """What MovieLens data is there, or an InputError; what was read is cached."""
    with places.at("movielens"):
        world = MovieLens(folder, min_events=active)
    return Data(world.count, world.length)


def carry_out(
    screen: Screen,
    asked: ReproduceRequest,
    folder: Path,
    *,
    jobs: int | None,
    resume: bool,
    fresh: bool,
) -> Outcome:
    """Run what is asked for under one progress bar, and write about it."""
    claim(folder, mark=NAME, ours=OURS)
    _refuse_finished(folder / NAME, resume=resume, fresh=fresh)
    wanted = asked.cells()
    cells = [one for group in wanted.values() for one in group]

    def begin(total: int, kept: int) -> None:
        already = f"; {kept:,} already there" if kept else ""
        screen.note(
            f"{', '.join(asked.targets)}: {counted(len(wanted), 'setting')}, "
            f"{counted(asked.seeds, 'seed')}, {counted(total, 'run')}{already}"
        )

    with screen.progress(len(cells)) as bar:
        done = run_cells(
            cells,
            checkpoint=CellsFile(folder / NAME),
            executor=Local(jobs),
            fresh=fresh,
            progress=bar.update,
            slow=bar.compiling,
            begin=begin,
            source="incfed reproduce",
        )
    if done.interrupted:
        return done
    screen.failures(done.failures)
    if done.records:
        with screen.busy("drawing figures, writing tables"):
            found = _evaluate(asked, done.records)
            page = _publish(folder, found, done.records)
        screen.show(result_document(found))
        if found.missing:
            screen.hint(
                f"Not run: {', '.join(found.missing)}. They need --movielens FOLDER; "
                "incfed data movielens ml-20m fetches it."
            )
        screen.places({"page": page, "tables": folder / "tables.md", "runs": folder / NAME})
    return done


def _refuse_finished(book: Path, *, resume: bool, fresh: bool) -> None:
    """Hours of work are neither thrown away nor taken for today's by accident."""
    if resume and fresh:
        raise InputError("--resume and --fresh: got both, must be one of them")
    if book.exists() and not (resume or fresh):
        raise InputError(
            f"output: got {str(book.parent)!r}, which has finished runs; add --resume to keep them "
            "and go on, --fresh to run them again, or choose another folder with --output"
        )


def _evaluate(asked: ReproduceRequest, records: Sequence[Record]) -> Reproduction:
    by_setting: dict[PaperSetting, list[Record]] = {}
    for record in records:
        given = {key: value for key, value in record.point.items() if key != "reads"}
        by_setting.setdefault(PaperSetting(**given), []).append(record)
    verdicts = {
        name: judge(TABLES[name], by_setting, asked.mode)
        for name in asked.targets
        if name in TABLES
    }
    drawings: dict[str, Figure] = {}
    if can_plot():
        for name in asked.targets:
            drawn = figures.draw(figures.DRAWINGS[name], by_setting) if name not in TABLES else None
            if drawn is not None:
                drawings[name] = drawn
    return Reproduction(
        mode=asked.mode,
        seeds=asked.seeds,
        verdicts=verdicts,
        drawings=drawings,
        missing=asked.missing,
        data=_other_data(asked.mode),
    )


def _other_data(mode: Mode) -> str:
    """In words, the MovieLens data that stands in for the paper's; empty if it is the same."""
    if mode.data is None or not incomparable(mode):
        return ""
    return f"{counted(mode.data.clients, 'user')}, {counted(mode.data.events, 'event')}"


def _publish(folder: Path, found: Reproduction, records: Sequence[Record]) -> Path:
    """Tables, figures, the page; each file whole or not at all."""
    with replacing(folder / "cells.parquet") as fresh:
        cells_frame(records).write_parquet(fresh)
    write_text(folder / "tables.md", markdown.render(tables_document(found)))
    plain = tables_document(found, differences=False)
    write_text(folder / "tables.tex", markdown.render_latex(plain))
    for old in (folder / "figures").glob("figure?.*"):  # of other targets, or another mode
        old.unlink()
    for name, figure in found.drawings.items():
        for ending in ("png", "svg"):
            with replacing(folder / "figures" / f"{name}.{ending}") as fresh:
                figure.savefig(fresh, dpi=160)
    return write_text(folder / "reproduction.html", html.render(page_document(found)))


def _world(name: str) -> str:
    return TABLES[name].world if name in TABLES else figures.DRAWINGS[name].world
