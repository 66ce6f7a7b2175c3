"""No text from outside can forge a line of a log, or colour a terminal."""

import asyncio
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agents.main
import agents.settings
import controller.main
import controller.server.serving
import controller.server.sockets
from controller.settings import Settings
from controller.wire.logs import Lines, visible

FORGED = "x\n2026-01-01 00:00:00,000 ERROR controller: forged\r\x1b[31m\x9b32m\u2028\u202e\x00"


@given(st.text())
def test_what_is_seen_is_one_line_without_controls(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable() and len(shown.splitlines()) <= 1
    assert shown == text or not text.isprintable()


def test_a_traceback_s_lines_are_set_in() -> None:
    try:
        raise ValueError(FORGED)
    except ValueError:
        record = logging.LogRecord("controller", logging.ERROR, "", 0, "%s", (FORGED,), sys.exc_info())
    first, *others = Lines("%(levelname)s %(message)s").format(record).split("\n")
    assert first.startswith("ERROR x\\n2026") and others
    assert all(line.startswith("  | ") and line.isprintable() for line in others)


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    before, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = before
    logger.setLevel(level)


async def _says(*_: object) -> None:
    logging.getLogger("controller").error("a name: %s", FORGED)


def _told(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = [line for line in capsys.readouterr().err.split("\n") if "a name" in line or "forged" in line]
    assert line.isprintable() and "\\n2026" in line and "\\x1b[31m" in line


def test_the_controller_logs_like_that(
    root: logging.Logger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root.handlers.clear()  # those of pytest
    monkeypatch.setattr(sys, "argv", ["weft-controller"])
    monkeypatch.setattr(controller.settings, "read_settings", lambda file: Settings(listen="127.0.0.1:0"))
    monkeypatch.setattr(controller.server.sockets, "opened", lambda _: [])
    monkeypatch.setattr(controller.server.serving, "serve", _says)
    controller.main.main()
    _told(capsys)


def test_the_agent_logs_like_that(
    root: logging.Logger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root.handlers.clear()
    settings = agents.settings.Settings(
        cloudlet="c1", controller="http://c", token_file=tmp_path / "token", state_dir=tmp_path / "state"
    )
    monkeypatch.setattr(agents.main, "load", lambda _: settings)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(agents.main, "_work", _says)
    assert asyncio.run(agents.main._run(tmp_path / "agent.toml")) == 0
    _told(capsys)
