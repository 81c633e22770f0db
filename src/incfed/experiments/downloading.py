"""Files from the web, in pieces, with plain words where there is no network."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .._version import __version__
from ..inputs import InputError, counted

PIECE = 1 << 18  # bytes
PATIENCE = 30.0  # seconds without an answer

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


class Unreachable(InputError):
    """Nobody answered, or not with the file."""


def download(address: str, target: Path, progress: Progress | None = None) -> None:
    """Write what is at `address` to `target`, all of it or an error."""
    done = 0
    with _answer(address) as answer, target.open("wb") as file:
        said = answer.headers["Content-Length"]
        total = int(said) if said and said.isdigit() else None
        for piece in _pieces(address, answer):
            file.write(piece)
            done += len(piece)
            if progress is not None:
                progress(done, total)
    if total is not None and done != total:
        raise Unreachable(f"{address} broke off after {done:,} of {counted(total, 'byte')}")


def read_text(address: str) -> str:
    """The beginning of a small text file."""
    with _answer(address) as answer:
        return next(_pieces(address, answer), b"")[:4096].decode("ascii", "replace")


def _pieces(address: str, answer: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while piece := answer.read(PIECE):
            yield piece
    except (OSError, http.client.HTTPException) as error:
        said = str(error) or type(error).__name__
        raise Unreachable(f"{address} broke off ({said})") from None


@contextmanager
def _answer(address: str) -> Iterator[http.client.HTTPResponse]:
    if not address.startswith(("https://", "http://")):
        raise InputError(f"address: got {address!r}, must begin with https:// or http://")
    try:
        request = urllib.request.Request(address, headers={"User-Agent": f"incfed/{__version__}"})
        answer = urllib.request.urlopen(request, timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        with error:
            raise Unreachable(f"{address} answered {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        said = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise Unreachable(f"cannot reach {address} ({said})") from None
    except ValueError as error:  # a port that is no number, and the like
        raise InputError(f"address: got {address!r}, must be one of the web ({error})") from None
    with answer:
        yield answer
