"""Whole results of an experiment on disk: runs/<label>/seed-<n>, listed in experiment.json. If the
config has changed, what was there before is kept in earlier/<n>."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .._version import __version__
from ..errors import InputError
from ..results.collection import FORMAT, INDEX, VERSION, list_runs, load_run
from ..results.records import Result
from ..results.storage import FILES, read_index, save
from ..support.files import alone_in, claim, write_text
from ..support.formats import FormatError
from .cells import Cell, Record
from .checkpoint import OURS, Checkpoint

if TYPE_CHECKING:
    from .runs import Experiment

EARLIER = "earlier"
PUBLISHED = ("report.html", "summary.md", "summary.json", "plots")


class RunFolders(Checkpoint):
    """The checkpoint of an experiment: a finished run is a folder with its whole result."""

    full = True

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        self._experiment = experiment
        self._fresh = False
        self._cells: dict[str, list[Cell]] = {}  # by fingerprint; one for each label

    def _check_format(self) -> None:
        home = self._experiment
        runs = ((read_index, home.folder(cell)) for cell in home.cells)
        for read, folder in ((list_runs, home.output), *runs):
            try:
                read(folder)
            except FormatError:
                raise
            except InputError:  # there is none, or it is broken
                continue

    @contextmanager
    def open(self, *, fresh: bool = False) -> Iterator[None]:
        self.check()
        claim(self._experiment.output, mark=INDEX, ours=OURS)
        with alone_in(self._experiment.output):
            self._fresh = fresh
            yield

    def expect(self, cells: Sequence[Cell], fingerprints: Sequence[str]) -> None:
        """Look for runs to keep; `fresh` deletes them."""
        folders = [self._experiment.folder(cell) for cell in cells]
        for folder in folders:
            _refuse_foreign(folder)  # all of them before the first is touched
        for folder in folders:
            _clean_up(folder)
        try:
            self._keep_earlier()  # also before a fresh start, which may be one of another config
        except InputError:  # the list of runs is broken
            if not self._fresh:
                raise
        for folder in folders:
            if self._fresh and folder.exists():
                shutil.rmtree(folder)
        self._fresh = False
        self._cells = {}
        for cell, key in zip(cells, fingerprints, strict=True):
            self._cells.setdefault(key, []).append(cell)
        self._look()
        self._write_index()

    def add(self, record: Record) -> None:
        assert record.result is not None
        for cell in self._cells[record.fingerprint]:
            self._save(record.result, cell)
        super().add(record)

    def recover(self) -> None:
        for cell in self._experiment.cells:
            _clean_up(self._experiment.folder(cell))
        self._look()

    def _look(self) -> None:
        """Make `records` what is on disk."""
        home = self._experiment
        for key, cells in self._cells.items():
            if key in self.records:
                continue
            found = [load_run(home.folder(cell), home.fingerprint(cell)) for cell in cells]
            result = next((run for run in found if run is not None), None)
            if result is None:
                continue
            for cell, there in zip(cells, found, strict=True):
                if there is None:  # the same run under another label
                    self._save(result, cell)
            self.records[key] = Record.of(result, cells[0], key, full=True)

    def finished(self) -> tuple[list[str], bool]:
        """The folders of the runs that the last start finished, and whether this one would replace
        some, or no longer list them."""
        home = self._experiment
        if not (home.output / INDEX).exists():
            return [], False
        rows = list_runs(home.output)
        there = {
            row["folder"]: row["fingerprint"]
            for row in rows
            if load_run(home.output / row["folder"], row["fingerprint"])
        }
        wanted = {
            home.folder(cell).relative_to(home.output).as_posix(): home.fingerprint(cell)
            for cell in home.cells
        }
        return list(there), any(key != wanted.get(folder) for folder, key in there.items())

    def _keep_earlier(self) -> None:
        """If the config has changed, keep all that the last start left in a folder of its own:
        `incfed show` can compare the two. Links take no space."""
        finished, changed = self.finished()
        if not changed:
            return
        home = self._experiment
        target = next_earlier(home.output)
        target.parent.mkdir(exist_ok=True)
        fresh = target.with_name(f".{target.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        for folder in finished:
            _link(home.output / folder, fresh / folder)
        for name in (*PUBLISHED, INDEX):
            if (home.output / name).exists():
                _link(home.output / name, fresh / name)
        fresh.replace(target)

    def _save(self, result: Result, cell: Cell) -> None:
        folder = self._experiment.folder(cell)
        # broken: nothing that saving could replace
        if folder.exists() and load_run(folder) is None:
            shutil.rmtree(folder)
        fingerprint = self._experiment.fingerprint(cell)
        mark = {"label": cell.point["algorithm"], "fingerprint": fingerprint}
        try:
            save(replace(result, settings={**result.settings, "experiment": mark}), folder)
        except OSError as error:  # the disk is full
            raise InputError(f"cannot write {folder}: {error.strerror or error}") from None

    def _write_index(self) -> None:
        """List the runs of the experiment, and how each is recognised."""
        output = self._experiment.output
        rows = [
            {
                "label": cell.point["algorithm"],
                "seed": cell.seed,
                "folder": self._experiment.folder(cell).relative_to(output).as_posix(),
                "fingerprint": self._experiment.fingerprint(cell),
            }
            for cell in self._experiment.cells
        ]
        steps = self._experiment.steps
        head = {"format": FORMAT, "version": VERSION, "incfed": __version__}
        index = {**head, "steps": steps, "runs": rows}
        write_text(output / INDEX, json.dumps(index, indent=1, ensure_ascii=False) + "\n")


def _link(source: Path, target: Path) -> None:
    """A file, or all files of a folder, also under another name."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link_file)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        _link_file(source, target)


def _link_file(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # not every file system can
        shutil.copy2(source, target)


def last_earlier(output: Path) -> Path | None:
    """Where the results of the config before this one are."""
    found = [folder for folder in (output / EARLIER).glob("*") if folder.name.isdecimal()]
    return max(found, key=lambda folder: int(folder.name), default=None)


def next_earlier(output: Path) -> Path:
    """Where the results there go, once the config has changed."""
    last = last_earlier(output)
    return output / EARLIER / str(int(last.name) + 1 if last else 1)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder in the place of a run that has anything else in it."""
    if not folder.exists() and not folder.is_symlink():
        return
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else {folder.name}
    if others := sorted(names - FILES):
        raise InputError(
            f"output: {folder} must hold nothing but a run, but has {', '.join(others)}; move "
            "that away, or choose another output folder"
        )


def _clean_up(folder: Path) -> None:
    """Undo a saving that was interrupted (see `results.storage.save`)."""
    for new in folder.parent.glob(f".{folder.name}.*.new"):
        shutil.rmtree(new, ignore_errors=True)
    for old in folder.parent.glob(f".{folder.name}.*.old"):
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:  # it was about to be replaced
            os.rename(old, folder)
