from __future__ import annotations

import io
import json
import logging
import re
import sys

import pytest

from incfed.service.coordinator.monitoring import (
    AVAILABLE,
    NEXT,
    UNAVAILABLE,
    JsonLines,
    Outage,
    TerminalLines,
    log_event,
    set_up_logging,
)
from support.federation import Clock


def line(formatter: logging.Formatter, level: int, message: str, **fields: object) -> str:
    record = logging.LogRecord("incfed.service", level, "x.py", 1, message, None, None)
    record.fields = fields
    return formatter.format(record)


def test_lines_for_people() -> None:
    plain = TerminalLines(colour=False)
    said = line(plain, logging.INFO, "closed", event="closed", round=7, paid=12.5, data_only=False)
    assert said[8:] == "  closed  round 7, paid 12.5, data only False"
    assert said[2] == said[5] == ":"
    assert line(plain, logging.WARNING, "no budget")[8:] == "  warning: no budget"
    coloured = line(TerminalLines(colour=True), logging.ERROR, "no", a=1)
    assert coloured[8:] == "  \033[31merror: no  a 1\033[0m"
    assert "\033" not in line(plain, logging.INFO, "\033[2Jbad", address="\n\033[1m")


def test_lines_for_people_have_money_as_they_pay_it_and_nothing_for_machines() -> None:
    plain, signed = TerminalLines(colour=False), {"signature": "J1BHExr5==", "money_digits": 2}
    uploaded = line(plain, logging.INFO, "uploaded", client=1, cost=905, form="triangle", **signed)
    assert uploaded[8:] == "  uploaded  client 1, cost 9.05"
    offers = {"0": 0, "2": 1250}
    decided = line(plain, logging.INFO, "decided", failed=[], offers=offers, money_digits=2)
    assert decided[8:] == "  decided  failed none, offers 0.00 to 0, 12.50 to 2"
    exact = line(plain, logging.INFO, "closed", payments={"0": 1.5}, posted=None)
    assert exact[8:] == "  closed  payments 1.5 to 0, posted none"
    late = line(plain, logging.INFO, "opened", deadline=1_794_960_000.0)
    assert re.fullmatch(r"  opened  deadline \d\d:\d\d:\d\d", late[8:])


@pytest.fixture
def _loggers() -> object:
    root, alembic, uvicorn = map(logging.getLogger, (None, "alembic", "uvicorn.error"))
    kept = root.handlers[:], root.level, alembic.level, uvicorn.level
    yield None
    root.handlers[:] = kept[0]
    for one, level in zip((root, alembic, uvicorn), kept[1:], strict=True):
        one.setLevel(level)


def test_an_outage_is_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    """However many requests fail, and although one succeeds in between."""
    clock = Clock()
    clock.now = 0.0
    outage = Outage(clock)
    outage.succeeded()
    outage.failed(OSError("no\n  route"))
    for clock.now in (0.25, 0.5, 0.75, 3.0):
        outage.failed(OSError("no route"), requests=2)
        outage.succeeded()
    clock.now = 3.5
    outage.succeeded()
    outage.succeeded()
    away, back = caplog.records
    assert (away.levelno, away.message) == (logging.ERROR, UNAVAILABLE)
    assert vars(away)["fields"] == {"error": "OSError: no route", "next": NEXT}
    assert away.exc_info is None
    assert (back.levelno, back.message) == (logging.WARNING, AVAILABLE)
    assert vars(back)["fields"] == {"seconds": pytest.approx(3.0), "failed_requests": 8}
    outage.failed(OSError("again"))
    assert len(caplog.records) == 3


@pytest.mark.usefixtures("_loggers")
@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_gets_lines_and_a_pipe_json(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    set_up_logging()
    log_event({"event": "opened", "round": 3, "token": "secret"})
    text = stream.getvalue()
    assert "secret" not in text
    if terminal:
        assert text[8:] == "  opened  round 3\n"
    else:
        assert json.loads(text)["round"] == 3
        assert isinstance(logging.getLogger().handlers[0].formatter, JsonLines)
