"""`weft-lab` calls the lab and prints its messages; the lab itself has its own tests."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.cli.program import run_program
from lab.command import app
from lab.errors import LabError
from lab.region import Region
from tests.unit.cli.conftest import Result, Weft


class SimulatedRegion:
    """A lab that is up, with one daemon that has stopped."""

    calls: list[str]

    @classmethod
    def load(cls, path: Path) -> "SimulatedRegion":
        cls.calls = [path.name]
        return cls()

    @classmethod
    def running(cls) -> "SimulatedRegion | None":
        return cls()

    @classmethod
    def remove(cls, progress: Callable[[str], None]) -> None:
        progress("removed")

    def up(self, progress: Callable[[str], None]) -> None:
        progress("up in 1.0 s")

    def summary(self) -> dict[str, Any]:
        found = {"topology": "t.yaml", "phase": "up", "namespaces": 3, "wan": "relay", "leases": {"m1": "10.1.0.2"}}
        return found | {"ui": "https://127.0.0.1:8444"}

    def status(self) -> list[dict[str, Any]]:
        common = {"node": "rs1", "pid": 7, "resident_bytes": 5 << 20, "cpu_seconds": 0.25, "log": "x.log"}
        return [{"name": "rs1", "state": "running", **common}, {"name": "rs2", "state": "stopped", **common}]

    def namespace(self, name: str) -> str:
        if name != "c1":
            raise LabError(f"there is no '{name}' in the lab")
        return "weft-c1"


@pytest.fixture
def weft_lab(capfd: pytest.CaptureFixture[str]) -> Weft:
    def call(*arguments: str) -> Result:
        code = run_program(app, "weft-lab", arguments)
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Result(code, out, err)

    return call


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> type[SimulatedRegion]:
    for name in ("load", "running", "remove", "up", "summary", "status", "namespace"):
        assert callable(getattr(Region, name)), "the real one has it too"
        monkeypatch.setattr(Region, name, getattr(SimulatedRegion, name))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return SimulatedRegion


def test_up_and_down(region: type[SimulatedRegion], weft_lab: Weft, tmp_path: Path) -> None:
    assert weft_lab("up").out == "up in 1.0 s\n" and region.calls == ["demo.yaml"]
    topology = tmp_path / "mine.yaml"
    topology.touch()
    result = weft_lab("up", str(topology), "--output", "json")
    assert (result.out, result.err) == ("", "up in 1.0 s\n") and region.calls == ["mine.yaml"]
    missing = weft_lab("up", str(tmp_path / "none.yaml"))
    assert missing.code == 2 and "none.yaml" in missing.err
    assert weft_lab("down").out == "removed\n"


def test_what_the_lab_says_is_one_sentence(
    region: type[SimulatedRegion], weft_lab: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise LabError("another lab is up", "weft-lab down removes it")

    monkeypatch.setattr(SimulatedRegion, "up", fails)
    monkeypatch.setattr(Region, "remove", fails)
    for verb in ("up", "down"):
        result = weft_lab(verb)
        assert result.code == 1 and result.err == "weft-lab: another lab is up (weft-lab down removes it)\n"


def test_status(region: type[SimulatedRegion], weft_lab: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    result = weft_lab("status")
    assert result.code == 1 and result.err == "weft-lab: stopped: rs2\n"
    assert (
        "t.yaml: up, 3 namespaces, WAN by relay" in result.out and "5 MiB" in result.out and "m1=10.1.0.2" in result.out
    )
    assert "web UI: https://127.0.0.1:8444, with the token in" in result.out
    assert [daemon["name"] for daemon in weft_lab("status", "-o", "json").json["daemons"]] == ["rs1", "rs2"]
    monkeypatch.setattr(Region, "running", lambda: None)
    result = weft_lab("status")
    assert result.code == 1 and "no lab is up" in result.err


def test_exec_becomes_the_command(
    region: type[SimulatedRegion], weft_lab: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(os, "execvp", lambda program, argv: called.append(argv))
    assert weft_lab("exec", "c1", "--", "ping", "-c", "3", "--output", "x").code == 0
    assert weft_lab("exec", "c1", "ip", "-o", "link").code == 0
    assert [argv[argv.index("weft-c1") + 1 :] for argv in called] == [
        ["ping", "-c", "3", "--output", "x"],
        ["ip", "-o", "link"],
    ]
    result = weft_lab("exec", "c9", "true")
    assert result.code == 2 and "there is no 'c9'" in result.err


@pytest.mark.parametrize("verb", [["up"], ["status"], ["down"], ["exec", "c1", "true"]])
def test_without_root(weft_lab: Weft, monkeypatch: pytest.MonkeyPatch, verb: list[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = weft_lab(*verb)
    assert result.code == 1 and len(result.err.splitlines()) == 1 and "root" in result.err
