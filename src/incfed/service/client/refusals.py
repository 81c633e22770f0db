"""What can go wrong between a client and its coordinator."""

from __future__ import annotations

from typing import Any


class ServiceError(RuntimeError):
    """The coordinator refused a request; status, and the field that it named."""

    def __init__(self, status: int, field: str | None, message: str) -> None:
        where = f"{field}: " if field else ""
        super().__init__(f"the coordinator refused ({status}): {where}{message}")
        self.status, self.field = status, field


class Unreachable(ConnectionError):
    """No answer, or none that can be read; it is tried again."""


def refusal(status: int, said: Any) -> ServiceError:
    """From the JSON of a refusal, whatever it may be."""
    if not isinstance(said, dict):
        return ServiceError(status, None, "no reason given")
    field = said.get("field")
    return ServiceError(status, field and str(field)[:100], str(said.get("message"))[:500])
