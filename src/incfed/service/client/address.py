"""The address of a coordinator: a mistake in it is not one that is away."""

from __future__ import annotations

import re

from ...support import inputs

_LABEL = r"[\w-]{1,63}"
_ADDRESS = re.compile(
    rf"https?://(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])(?::(\d{{1,5}}))?(?:/[^\s?#\\]*)?"
)
ALLOWED = "https:// (or http://), a host, and perhaps a port and a path: https://host:8443/path"


def address(url: object) -> str:
    """An address that requests can be sent to; nothing is asked of the network."""
    found = _ADDRESS.fullmatch(url) if isinstance(url, str) else None
    if not isinstance(url, str) or not found or not 1 <= int(found[1] or 80) <= 65535:
        raise inputs.refuse("url", url, ALLOWED)
    return url
