"""What an experiment leaves in its folder: an index of its runs, and each run as it finishes."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..results.records import Result
from ..results.storage import load
from ..support.files import write_text
from ..support.inputs import InputError
from .experiment import INDEX, Experiment, Job

FORMAT, VERSION = "incfed.experiment", 1
FILES = {"steps.parquet", "rounds.parquet", "result.json", ".DS_Store"}  # of a saved result


@dataclass(frozen=True)
class Collection:
    """The runs of an experiment that are on disk, by label; `total` counts the others too."""

    runs: dict[str, list[Result]]
    total: int

    @property
    def count(self) -> int:
        return sum(map(len, self.runs.values()))


def keep(result: Result, job: Job) -> None:
    """Save a finished run under its fingerprint."""
    mark = {"experiment": {"label": job.label, "fingerprint": job.fingerprint}}
    replace(result, settings={**result.settings, **mark}).save(job.folder)


def find(folder: Path, fingerprint: str) -> Result | None:
    """The run with this fingerprint, if it is in `folder`, whole and unchanged."""
    try:
        result = load(folder)
    except InputError:
        return None
    mark = result.settings.get("experiment")
    same = isinstance(mark, dict) and mark.get("fingerprint") == fingerprint
    return result if same else None


def trouble(job: Job) -> str:
    """Why a run that was saved a moment ago cannot be found."""
    try:
        load(job.folder)
    except InputError as error:
        return str(error)
    return "a file it is made from changed meanwhile"


def refuse_foreign(job: Job) -> None:
    """Refuse a folder in the place of a run that has anything else in it."""
    folder = job.folder
    if not folder.exists() and not folder.is_symlink():
        return
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else {folder.name}
    if others := sorted(names - FILES):
        raise InputError(
            f"output: {folder} must be left to incfed: it holds {', '.join(others)}, which is "
            "not part of a run; move it away, or choose another output folder"
        )


def make_way(job: Job, *, fresh: bool = False) -> None:
    """Remove a broken run (`fresh`: any run), so that it can be redone."""
    folder = job.folder
    if not folder.exists():
        return
    try:
        load(folder)  # whole, but of other settings: saving replaces it, the old one last
        broken = False
    except InputError:
        broken = True
    if broken or fresh:
        shutil.rmtree(folder)


def write_index(experiment: Experiment) -> None:
    """Say which runs belong to the experiment, in which order, and how each is recognised."""
    runs = [
        {
            "label": job.label,
            "seed": job.seed,
            "folder": job.folder.relative_to(experiment.output).as_posix(),
            "fingerprint": job.fingerprint,
        }
        for job in experiment.jobs()
    ]
    index = {"format": FORMAT, "version": VERSION, "steps": experiment.steps, "runs": runs}
    write_text(experiment.output / INDEX, json.dumps(index, indent=1, ensure_ascii=False) + "\n")


def collect(folder: Path) -> Collection:
    """All finished runs of the experiment in `folder`."""
    runs: dict[str, list[Result]] = {}
    rows = _rows(folder)
    for row in rows:
        found = find(folder / row["folder"], row["fingerprint"])
        if found is not None:
            runs.setdefault(row["label"], []).append(found)
    order = dict.fromkeys(row["label"] for row in rows)
    return Collection({label: runs[label] for label in order if label in runs}, len(rows))


def _rows(folder: Path) -> list[dict[str, Any]]:
    file = folder / INDEX
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        if index["format"] != FORMAT or index["version"] != VERSION:
            raise ValueError("made by another version of incfed")
        rows = index["runs"]
        return [{key: str(row[key]) for key in ("label", "folder", "fingerprint")} for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: cannot be used ({type(error).__name__}: {error})") from None
