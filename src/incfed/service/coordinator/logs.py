"""Logs: one line of JSON for each event. They contain no tokens and no statistics."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

LOG = logging.getLogger("incfed.service")
HIDDEN = {"numbers", "db", "V", "b", "body", "token"}  # digests could be used to test guesses


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower()}
        line |= {"logger": record.name, "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_event(event: dict[str, Any]) -> None:
    """Log an event of a round."""
    fields = {key: value for key, value in event.items() if key not in HIDDEN}
    warns = event["event"] in ("void", "barred") or event.get("data_only") is True
    level = logging.WARNING if warns else logging.INFO
    LOG.log(level, event["event"], extra={"fields": fields})


def set_up(level: str = "INFO") -> None:
    """Write all logs of this process to standard error, as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
