"""Daemons of the lab: started and killed by name, identified by pid and start time, never mistaken for another
process."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import netns, state
from lab.errors import LabError
from lab.process import Process
from lab.state import LabState, Record

pytestmark = pytest.mark.lab

NODE = "processtest"


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    monkeypatch.setattr(state, "STATE", tmp_path / "state.json")
    record = Record(NODE, ["sh", "-c", "echo began; sleep 60"], {}, str(tmp_path / "logs" / "p.log"))
    kept = LabState("t.yaml", "x", 0.0, processes={"p": record})
    netns.create([netns.PREFIX + NODE])
    made = Process("p", kept)
    try:
        yield made
    finally:
        made.kill()
        for pid in netns.pids(netns.PREFIX + NODE):
            os.kill(pid, 9)
        netns.remove([netns.PREFIX + NODE])


def test_starts_in_its_namespace_and_is_recorded(process: Process) -> None:
    process.start()
    assert process.alive()
    deadline = time.monotonic() + 10
    while process.pid not in netns.pids(netns.PREFIX + NODE):  # it enters after it was started
        assert time.monotonic() < deadline
        time.sleep(0.01)
    written = LabState.read()
    assert written
    assert written.processes["p"].pid == process.pid
    assert Process("p", written).alive()
    assert process.resident_bytes() > 0
    with pytest.raises(LabError, match="runs already"):
        process.start()


def test_killed_and_started_again(process: Process) -> None:
    process.start()
    first = process.pid
    deadline = time.monotonic() + 10
    while process.last_words() != "began":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    assert not process.alive()
    assert process.pid == 0
    process.start()
    assert process.pid not in (0, first)
    process.stop()
    assert not process.alive()


def test_one_that_ends_at_once_is_not_alive(process: Process) -> None:
    process.record.argv = ["true"]
    process.start()
    process.stop()
    assert not process.alive()


def test_another_process_with_its_pid_is_left_alone(process: Process) -> None:
    process.start()
    started = process.record.start
    process.record.start += 1
    assert not process.alive()
    process.kill()
    process.stop(0.1)
    process.record.start = started
    assert process.alive()
