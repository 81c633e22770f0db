"""Libraries that are loaded when first used, and a plain sentence when one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(library: str, purpose: str, install: str) -> Iterator[None]:
    """Wrap a late import: `with needs("polars", "saving", "polars"): import polars`."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{purpose} needs {library} ({error}); install it with: pip install {install}",
            name=error.name,
        ) from error
