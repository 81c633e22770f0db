"""What can go wrong between a client and its coordinator."""

from __future__ import annotations

from typing import Any


class ServiceError(RuntimeError):
    """The coordinator refused a request; `status` is the HTTP status, `field` what was wrong."""

    def __init__(self, status: int, field: str | None, message: str) -> None:
        where = f"{field}: " if field else ""
        super().__init__(f"the coordinator refused ({status}): {where}{message}")
        self.status, self.field = status, field


class Unreachable(ConnectionError):
    """No reply, or one that cannot be read. The request is sent again later."""


def service_error(status: int, reply: Any) -> ServiceError:
    """From the JSON of an error reply, whatever it contains."""
    if not isinstance(reply, dict):
        return ServiceError(status, None, "no reason given")
    field = reply.get("field")
    return ServiceError(status, field and str(field)[:100], str(reply.get("message"))[:500])
