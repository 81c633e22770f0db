"""The results of `incfed run` on disk: a folder whose experiment.json lists its runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..support.formats import FormatError, check_format
from .records import Result
from .storage import load

INDEX = "experiment.json"  # marks a folder as one that `incfed run` made
FORMAT, VERSION = "incfed.experiment", 2


@dataclass(frozen=True)
class Collection:
    """The runs of an experiment that are on disk, by label; `total` counts the others too."""

    runs: dict[str, list[Result]]
    total: int

    @property
    def count(self) -> int:
        return sum(map(len, self.runs.values()))


def collect(folder: Path) -> Collection:
    """All finished runs of the experiment in `folder`."""
    rows = list_runs(folder)
    runs: dict[str, list[Result]] = {row["label"]: [] for row in rows}
    for row in rows:
        found = load_run(folder / row["folder"], row["fingerprint"])
        if found is not None:
            runs[row["label"]].append(found)
    return Collection({label: results for label, results in runs.items() if results}, len(rows))


def load_run(folder: Path, fingerprint: str | None = None) -> Result | None:
    """The result in `folder`; None if it is missing, broken, or has another fingerprint. One of
    another version is refused."""
    try:
        result = load(folder)
    except FormatError:
        raise
    except InputError:
        return None
    mark = result.settings.get("experiment")
    found = mark.get("fingerprint") if isinstance(mark, dict) else None
    return result if fingerprint in (None, found) else None


def list_runs(folder: Path) -> list[dict[str, Any]]:
    """Label, folder and fingerprint of every run of the experiment in `folder`."""
    file = folder / INDEX
    if not folder.is_dir():
        raise InputError(f"folder not found: {folder}. Output of `incfed run` is allowed")
    if not file.exists():
        raise InputError(f"{folder}: holds no output of `incfed run` ({INDEX} is missing)")
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        if index["format"] != FORMAT:
            raise ValueError("it is something else")
        check_format(file, index["version"], VERSION, index.get("incfed"))
        rows = index["runs"]
        return [{key: str(row[key]) for key in ("label", "folder", "fingerprint")} for row in rows]
    except FormatError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"{file}: cannot be used ({why}). Run into another folder") from None
