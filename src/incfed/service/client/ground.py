"""A client's folder as it begins: made and locked, or left as it was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...support import inputs
from ...support.locks import Lock, Locked
from . import snapshot

LOCK = "lock"
ALONE = "a folder of its own: another Client, in this process or another, has it open"


@contextmanager
def entered(folder: Path) -> Iterator[Lock]:
    """Locked, and to be released by who gets this far; if that fails, what was not there goes."""
    made = _make(folder)
    held, before = None, set()
    try:
        before = {path.name for path in folder.iterdir()}
        try:
            held = Lock(folder / LOCK)
        except Locked:
            raise inputs.refuse("state", str(folder), ALONE) from None
        except OSError as error:
            raise _unfit(folder, error) from None
        yield held
    except BaseException:
        if held is not None:
            if snapshot.NAME not in before:  # else they have taken the place of older ones
                _clear(folder, before)
            held.release(remove=LOCK not in before)
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise


def _make(folder: Path) -> list[Path]:
    """The folders that were not there, the innermost first."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise inputs.refuse("state", str(folder), "a folder, not a file") from None
    except (OSError, ValueError) as error:
        raise _unfit(folder, error) from None
    return missing


def _clear(folder: Path, before: set[str]) -> None:
    for path in (*folder.glob(f"{snapshot.NAME}*"), *folder.glob("journal-*")):
        if path.name not in before:
            with suppress(OSError):
                path.unlink()


def _unfit(folder: Path, error: Exception) -> inputs.InputError:
    why = getattr(error, "strerror", None) or error
    return inputs.refuse("state", str(folder), f"a folder that can be made and written to ({why})")
