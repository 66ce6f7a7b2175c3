"""Log lines as JSON objects: from the formatter, and from the real programs."""

import asyncio
import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.wire import logs
from controller.wire.log_fields import about, fields, note
from controller.wire.log_objects import LONGEST, LONGEST_TRACEBACK, Objects
from controller.wire.logs import Bounded
from controller.wire.repeats import OF_SOURCE, WINDOW
from lab.patience import until
from tests.house.imports import ROOT
from tests.unit.wire.test_logs import FORGED


def written(text: str, *values: object, level: int = logging.WARNING, **constant: str) -> dict[str, Any]:
    """Return the object of one line, which has to be one line in printable ASCII."""
    record = logging.LogRecord("controller.x", level, "", 0, text, values, None)
    line = Objects(constant).format(record)
    assert line.isascii() and line.isprintable()
    found: dict[str, Any] = json.loads(line)
    return found


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    assert written("%s", text)["message"] == text
    with about(vm=text[:1000]):
        assert written("x")["vm"] == text[:1000]


def test_the_parts_of_an_object() -> None:
    found = written("a name: %s", FORGED, level=logging.ERROR, replica="north")
    assert list(found) == ["time", "level", "logger", "message", "replica"]
    assert (found["level"], found["logger"], found["replica"]) == ("error", "controller.x", "north")
    assert found["message"] == f"a name: {FORGED}" and found["time"].endswith("Z")
    assert abs((datetime.fromisoformat(found["time"]) - datetime.now(UTC)).total_seconds()) < 60


def test_fields_are_those_of_the_blocks_around() -> None:
    assert not fields()
    note(lost=1)
    with about(request="a"), about(move="mv1"):
        note(cloudlet="c1", generation=7)
        assert written("x")["generation"] == 7
        with about(move="mv2"):
            assert {k: written("x")[k] for k in ("request", "move", "cloudlet")} == {
                "request": "a", "move": "mv2", "cloudlet": "c1",
            }  # fmt: skip
        assert written("x")["move"] == "mv1"
    assert not fields() and "lost" not in written("x")
    with about(message="no", level="no", time="no"):
        assert written("x")["message"] == "x", "a field replaces no part"


async def test_a_task_keeps_the_fields_of_its_creator() -> None:
    with about(move="mv1"):
        task = asyncio.create_task(asyncio.sleep(0, fields()))
    assert (await task)["move"] == "mv1"


def test_long_texts_and_tracebacks_are_cut() -> None:
    assert len(written("%s", "x" * 100_000)["message"]) == LONGEST
    with about(vm="y" * 100_000):
        assert len(written("x")["vm"]) == 1000
    try:
        raise ValueError("z" * 100_000 + FORGED)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "it failed", (), sys.exc_info())
    found = json.loads(Objects({}).format(record))
    assert found["message"] == "it failed" and found["traceback"].endswith(FORGED)
    assert len(found["traceback"]) == LONGEST_TRACEBACK


def test_values_that_do_not_fit_are_no_second_failure() -> None:
    assert written("%d of %d", "x")["message"] == "%d of %d"


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger, hook = logging.getLogger(), sys.excepthook
    before, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = before
    logger.setLevel(level)
    sys.excepthook = hook


def test_the_count_of_lines_left_out_has_no_fields_of_another_line(
    root: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, clock = io.StringIO(), [0.0]
    monkeypatch.setattr("controller.wire.logs.time.monotonic", lambda: clock[0])
    root.handlers[:] = [Bounded(out)]
    logs.use("json")
    with about(move="mv1"):
        for _ in range(OF_SOURCE + 5):
            logging.getLogger("x").warning("it came")
        clock[0] = WINDOW
        logging.getLogger("x").warning("it came")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(lines) == OF_SOURCE + 2
    assert lines[-2]["left_out"] == 5 and "move" not in lines[-2] and lines[-1]["move"] == "mv1"


def test_text_stays_as_it_is(root: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    root.handlers.clear()  # those of pytest
    monkeypatch.delenv(logs.SETTING, raising=False)
    logs.begin(logging.INFO)
    (handler,) = root.handlers
    with about(move="mv1"):
        record = logging.LogRecord("x", logging.INFO, "", 0, "it came", (), None)
    assert handler.format(record).endswith(" INFO x: it came")
    logs.use("json")
    assert json.loads(handler.format(record))["message"] == "it came"
    logs.use("text")
    assert handler.format(record).endswith(" INFO x: it came")


def lines_of(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in found)
    return found


def test_the_agent_writes_objects(tmp_path: Path) -> None:
    """The program itself, which finds no controller."""
    (tmp_path / "token").write_text("the-secret-of-the-agent")
    config = tmp_path / "agent.toml"
    config.write_text(
        f'cloudlet = "c1"\ncontroller = "http://127.0.0.1:9"\ntoken_file = "{tmp_path}/token"\n'
        f'state_dir = "{tmp_path}/state"\n[log]\nformat = "json"\n'
    )
    environment = {name: value for name, value in os.environ.items() if name != logs.SETTING}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "agents.main", "run", "--config", str(config)],
            stdout=log, stderr=log, cwd=ROOT, env=environment,
        )  # fmt: skip
    read = (tmp_path / "log").read_text
    try:
        until(lambda: len(read().splitlines()) > 0 or process.poll() is not None, read)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    found = lines_of(read())
    assert found and {line["cloudlet"] for line in found} == {"c1"}
    assert "the-secret-of-the-agent" not in read()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (("agents.main", "run", "--config", "/nowhere.toml"), "/nowhere.toml"),
        (("controller.main", "--env-file", "/nowhere.env"), "/nowhere.env"),
    ],
)
def test_the_reason_why_a_program_ends_is_an_object(program: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *program], env=os.environ | {logs.SETTING: "json"},
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    (line,) = lines_of(done.stderr)
    assert done.returncode == 1 and done.stdout == "" and line["level"] == "critical" and said in line["message"]


def test_a_defect_is_an_object() -> None:
    code = "from controller.wire import logs; logs.begin(20); raise ValueError('a defect')"
    environment = os.environ | {logs.SETTING: "json"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    (line,) = lines_of(done.stderr)
    assert line["level"] == "critical" and line["traceback"].endswith("ValueError: a defect")


@pytest.mark.parametrize("module", ["agents.main", "controller.main"])
def test_an_unknown_form_is_refused(module: str, tmp_path: Path) -> None:
    (tmp_path / "agent.toml").write_text(
        f'cloudlet = "c1"\ncontroller = "http://127.0.0.1:9"\ntoken_file = "x"\nstate_dir = "{tmp_path}"\n'
    )
    words = ("run", "--config", str(tmp_path / "agent.toml")) if module == "agents.main" else ()
    done = subprocess.run(
        [sys.executable, "-m", module, *words], env=os.environ | {logs.SETTING: "xml"},
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and logs.SETTING in done.stderr
