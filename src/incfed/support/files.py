"""Atomic writes, hashes and output folders."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from .locks import Lock, Locked


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path (same suffix) to write to; renamed to `target` on success."""
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


def digest(path: Path, algorithm: str = "sha256") -> str:
    """The hash of a file's contents. (MD5 only detects damage, not attacks.)"""
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(algorithm, usedforsecurity=algorithm != "md5")
        ).hexdigest()


def fingerprint(identity: object) -> str:
    """The SHA-256 of plain data; equal data have the same."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def claim(folder: Path, *, mark: str, ours: Sequence[str]) -> None:
    """Create the output folder. Refuse it if it is not writable, or if it has files named as in
    `ours` but no file `mark`, which shows that this command made them."""
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
            f"it has {', '.join(foreign)} from another source, which would be overwritten"
        )


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock the folder against other runs. The lock ends with the process, however that ends."""
    try:
        lock = Lock(folder / ".lock")
    except Locked:
        raise InputError(
            f"output: got {str(folder)!r}, must be a folder that no other run is writing to; "
            "wait for that one, or choose another with --output"
        ) from None
    try:
        yield
    finally:
        lock.release(remove=True)


def slugs(labels: Sequence[str]) -> dict[str, str]:
    """A folder name for each label; labels with the same name get a hash as suffix."""
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
