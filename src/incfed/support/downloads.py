"""Download files, verify their checksums, and report errors plainly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import InputError
from .extras import needs

TIMEOUT = 30.0  # seconds without a response
PIECE = 1 << 18  # bytes
HEADERS = {"User-Agent": f"incfed/{__version__}"}

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


class DownloadError(InputError):
    """The server did not respond, or not with the file."""


def download(address: str, target: Path, checksum: str, progress: Progress | None = None) -> None:
    """Download `address` to `target`; an error unless it is complete and has this `checksum`
    ("md5:...")."""
    with needs("pooch", "downloading", "movielens"):
        import pooch
    pooch.get_logger().setLevel("WARNING")
    bar = None if progress is None else _Bar(progress)
    downloader = pooch.HTTPDownloader(
        progressbar=bar, chunk_size=PIECE, timeout=TIMEOUT, headers=HEADERS
    )
    with _plainly(address):
        try:
            pooch.retrieve(address, checksum, target.name, target.parent, downloader=downloader)
        except ValueError as error:
            if "hash" not in str(error):
                raise
            raise InputError(
                f"{address} arrived damaged: it does not have the checksum {checksum}; "
                "nothing was kept, try again"
            ) from None


def read_text(address: str) -> str:
    """The beginning of a small text file."""
    with needs("requests", "downloading", "movielens"):
        import requests
    with _plainly(address):
        answer = requests.get(address, timeout=TIMEOUT, headers=HEADERS, stream=True)
        with answer:
            answer.raise_for_status()
            first = next(answer.iter_content(4096), b"")
    return bytes(first).decode("ascii", "replace")


class _Bar:
    """The progress bar that pooch updates as bytes arrive; pooch sets `total`."""

    total = 0

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = 0

    def update(self, size: int) -> None:
        self._done += size
        known = min(self._done, self.total) if self.total else self._done
        self._progress(known, self.total or None)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass


@contextmanager
def _plainly(address: str) -> Iterator[None]:
    import requests

    if not address.startswith(("https://", "http://")):
        raise InputError(f"address: got {address!r}, must begin with https:// or http://")
    try:
        yield
    except requests.HTTPError as error:
        answer: Any = error.response
        answer.close()  # pooch leaves it open
        raise DownloadError(f"{address} answered {answer.status_code} {answer.reason}") from None
    except requests.exceptions.InvalidURL as error:
        raise InputError(f"address: got {address!r}, must be a web address ({error})") from None
    except requests.exceptions.ChunkedEncodingError as error:
        raise DownloadError(f"{address} broke off ({error})") from None
    except requests.RequestException as error:
        cause = getattr(error.args[0] if error.args else error, "reason", None) or error
        raise DownloadError(f"cannot reach {address} ({cause})") from None
