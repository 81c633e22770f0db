"""Report a standard output that cannot be written in one line, without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from . import FAILED


class OutputError(OSError):
    """Standard output could not be written; other files raise a plain OSError."""


class CheckedOutput:
    """A stream whose write errors can be distinguished from those of other files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _told_apart():
            return self._stream.write(text)

    def flush(self) -> None:
        with _told_apart():
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def checked_output() -> Iterator[None]:
    """Report a failed write to standard output in one line, and exit with 1.

    If the reader of a pipe has closed it (`incfed --help | head -1`), nothing is reported.
    """
    stream = sys.stdout
    if stream is None:  # closed from the start
        yield
        return
    sys.stdout = cast(TextIO, CheckedOutput(stream))
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _give_up(stream)
        sys.exit(FAILED)
    except OutputError as error:
        _give_up(stream)
        sys.stderr.write(f"error: cannot write to standard output: {error.strerror}\n")
        sys.exit(FAILED)


@contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def _give_up(stream: TextIO) -> None:
    """Discard what is left in the buffer: Python would try to write it again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
