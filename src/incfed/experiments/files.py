"""Files and folders: nothing half-written, nothing of somebody else's overwritten."""

from __future__ import annotations

import hashlib
import os
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..inputs import InputError

INDEX = "experiment.json"  # marks a folder as one that incfed made
OURS = (
    "runs",
    "plots",
    "report.html",
    "summary.md",
    "summary.json",
    "cells.parquet",
    "curves.parquet",
)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary name to write to (same ending); renamed to `target` if all goes well."""
    fresh = target.with_name(f".{uuid.uuid4().hex}.{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield fresh
            os.replace(fresh, target)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error


def write_text(target: Path, text: str) -> Path:
    with replacing(target) as fresh:
        fresh.write_text(text, encoding="utf-8")
    return target


def claim(folder: Path, *, mark: str = INDEX, ours: Sequence[str] = OURS) -> None:
    """Make the output folder, or refuse it: not writable, or with files called as `ours` that we
    did not make; a file called `mark` says that we did."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"output: got {str(folder)!r}, must be a folder that can be written to ({reason})"
        ) from None
    foreign = [name for name in ours if (folder / name).exists()]
    if foreign and not (folder / mark).exists():
        raise InputError(
            f"output: got {str(folder)!r}, must be a new folder or one that this command made: "
            f"this one has {', '.join(foreign)} of somebody else's, which would be overwritten"
        )


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else runs into this folder meanwhile; the lock ends with the process, however."""
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    lock = folder / ".lock"
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"output: got {str(folder)!r}, must be a folder that no other run is writing to; "
                "wait for that one, or choose another with --output"
            ) from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def slugs(labels: Sequence[str]) -> dict[str, str]:
    """A folder name for each label; labels that would share one get a few digits more."""
    plain = {label: _slug(label) for label in labels}
    uses = Counter(plain.values())
    return {
        label: name if uses[name] == 1 else f"{name}-{_short_hash(label)}"
        for label, name in plain.items()
    }


def _slug(label: str) -> str:
    kept = "".join(c if c.isalnum() or c == "." else " " for c in label.casefold())
    return "-".join(kept.replace(" .", " ").split())[:60].strip("-.") or _short_hash(label)


def _short_hash(label: str) -> str:
    return hashlib.sha256(label.encode()).hexdigest()[:8]
