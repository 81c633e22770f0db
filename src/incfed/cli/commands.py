"""All commands, in the order in which `incfed --help` lists them."""

from __future__ import annotations

from .base import app

from . import experiments, planning, data, service, ledger, console  # noqa: F401  # isort: skip

__all__ = ["app"]
