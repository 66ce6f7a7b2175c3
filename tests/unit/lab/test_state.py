"""The record on disk: read back as written, void after a reboot, refused when damaged."""

import os
from pathlib import Path

import pytest

from lab import state
from lab.errors import LabError
from lab.state import LabState, Record, start_time


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(state, "STATE", tmp_path / "lab" / "state.json")
    return tmp_path / "lab" / "state.json"


def made() -> LabState:
    record = Record("c1", ["sleep", "1"], {"A": "b"}, "/tmp/log", 7, 99)
    return LabState(
        "t.yaml", "abc", 1.5, namespaces=["weft-c1"], processes={"c1-agent": record}, leases={"m1": "10.1.0.2"}
    )


def test_reads_back_what_was_written(elsewhere: Path) -> None:
    made().save()
    assert LabState.read() == made()
    assert [path.name for path in elsewhere.parent.iterdir()] == ["state.json"]


def test_nothing_there() -> None:
    assert LabState.read() is None


def test_of_an_earlier_boot() -> None:
    old = made()
    old.boot = "another"
    old.save()
    assert LabState.read() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"processes": {}}', '{"processes": {"x": {"pid": 1}}}', "\xff"])
def test_damaged(elsewhere: Path, text: str) -> None:
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(text.encode("latin-1"))
    with pytest.raises(LabError, match=r"state\.json cannot be read"):
        LabState.read()


def test_start_time_tells_processes_apart() -> None:
    assert start_time(os.getpid()) > 0
    assert start_time(2**22 + 1) == 0
