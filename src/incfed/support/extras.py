"""Optional libraries: imported when first used, with a clear error if one is missing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


@contextmanager
def needs(library: str, purpose: str, extra: str = "") -> Iterator[None]:
    """Wrap a late import: `with needs("pandas", "to_pandas()", "pandas"): import pandas`.

    Without `extra`, the library is a regular dependency of incfed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        how = install(extra) if extra else f"pip install {library}"
        raise ModuleNotFoundError(
            f"{purpose} needs {library} ({error}); install it with: {how}",
            name=error.name,
        ) from error


def install(*extras: str) -> str:
    """The command that installs these extras: from the clone that incfed runs in, from where it
    was installed, or else by name."""
    wanted = f"[{','.join(extras)}]"
    clone = _source_tree()
    if clone is not None:
        return f"pip install -e {shlex.quote(f'{clone}{wanted}')}"
    origin = _origin()
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        folder = url2pathname(urlsplit(url).path)
        if Path(folder).is_dir():
            return f"pip install {shlex.quote(f'{folder}{wanted}')}"
    elif "vcs_info" in origin:
        found = origin["vcs_info"]
        revision = found.get("requested_revision") or found["commit_id"]
        return f"pip install 'incfed{wanted} @ {found['vcs']}+{url}@{revision}'"
    elif "archive_info" in origin:
        return f"pip install 'incfed{wanted} @ {url}'"
    return f"pip install 'incfed{wanted}'"


def _source_tree() -> Path | None:
    """The folder of the clone that contains this file, if any."""
    folder = Path(__file__).resolve().parents[3]
    return folder if (folder / "pyproject.toml").is_file() else None


def _origin() -> dict[str, Any]:
    """Where pip installed this package from, if not from an index (PEP 610)."""
    try:
        said = metadata.distribution("incfed").read_text("direct_url.json")
        return dict(json.loads(said or "{}"))
    except (metadata.PackageNotFoundError, ValueError):
        return {}
