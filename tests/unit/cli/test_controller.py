"""`weft` against a real controller in a process of its own, over its unix socket and over TCP. There are no route
servers and no agents here, so a change between two cloudlets is made and not confirmed."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Weft

TOKEN = "the-operators-token"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The controller's URLs: over the socket, and over TCP."""
    directory = tmp_path_factory.mktemp("controller")
    (directory / "token").write_text(TOKEN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        tcp = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {
        **os.environ,
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{directory}/weft.db",
        "WEFT_LISTEN": tcp,
        "WEFT_SOCKET": str(directory / "c.sock"),
        "WEFT_ADMIN_TOKEN_FILE": str(directory / "token"),
        "WEFT_AGENT_TIMEOUT": "0.2",
    }
    command = [sys.executable, "-m", "controller.main"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "listening" in process.stdout.readline()
    yield f"unix://{directory}/c.sock", f"http://{tcp}"
    process.terminate()
    process.stdout.close()
    assert process.wait(10) == 0


@pytest.fixture
def on_socket(running: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_URL", running[0])
    monkeypatch.delenv("WEFT_TOKEN", raising=False)


@pytest.fixture
def region(on_socket: None, weft: Weft) -> Iterator[None]:
    """Two active cloudlets with a LAN each, and an empty pool; removed afterwards."""
    for n in (1, 2):
        assert weft("cloudlet", "add", f"c{n}", "--vtep", f"198.51.100.{n}").code == 0
        assert weft("cloudlet", "approve", f"c{n}").code == 0
        added = weft(
            "endpoint", "add", f"c{n}-lan", "--cloudlet", f"c{n}", "--prefix", f"10.{n}.0.0/24", "--port", "md*"
        )
        assert added.out == f"c{n}-lan is 10.{n}.0.0/24 at c{n}, site route target 65000:{n}\n" or added.code == 0
    assert weft("vcp", "add", "blue").code == 0
    yield
    for lease in weft("lease", "list", "-o", "json").json:
        weft("lease", "release", str(lease["id"]))
    for device in weft("device", "list", "-o", "json").json:
        weft("device", "remove", device["name"])
    for n in (1, 2):
        weft("cloudlet", "drain", f"c{n}")
        assert weft("cloudlet", "remove", f"c{n}").code == 0
    for pool in weft("vcp", "list", "-o", "json").json:
        assert weft("vcp", "remove", pool["name"]).code == 0


def test_a_cloudlet_is_invited(on_socket: None, weft: Weft) -> None:
    result = weft("cloudlet", "add", "c9", "--vtep", "198.51.100.9", "--label", "city=Pisa", "--approval", "-o", "json")
    assert result.code == 0 and result.json["state"] == "invited" and result.json["token"]
    assert weft("cloudlet", "token", "c9", "-o", "json").json["token"] != result.json["token"]
    assert "city=Pisa" in weft("cloudlet", "show", "c9").out
    assert "invited" in weft("cloudlet", "list").out
    again = weft("cloudlet", "add", "c9", "--vtep", "198.51.100.9")
    assert again.code == 3 and "name: " in again.err and "c9" in again.err
    assert weft("cloudlet", "remove", "c9").code == 0
    assert weft("cloudlet", "show", "c9").code == 3


def test_join_and_leave(region: None, weft: Weft) -> None:
    assert weft("vcp", "join", "blue", "c1-lan").code == 0
    rehearsed = weft("vcp", "join", "blue", "c2-lan", "--dry-run")
    assert rehearsed.code == 0 and "would happen" in rehearsed.out
    assert weft("vcp", "show", "blue", "-o", "json").json["members"] == ["c1-lan"]
    late = weft("vcp", "join", "blue", "c2-lan")
    assert late.code == 1 and "agent of c1, agent of c2" in late.err
    assert weft("vcp", "show", "blue", "-o", "json").json["members"] == ["c1-lan", "c2-lan"]
    twice = weft("vcp", "join", "blue", "c2-lan")
    assert twice.code == 3 and "already" in twice.err
    assert weft("vcp", "leave", "blue", "c2-lan", "--dry-run").code == 0
    weft("vcp", "leave", "blue", "c2-lan")
    assert weft("vcp", "show", "blue", "-o", "json").json["members"] == ["c1-lan"]
    unknown = weft("vcp", "join", "blue", "c7-lan")
    assert unknown.code == 3 and "endpoint: there is no endpoint 'c7-lan'" in unknown.err


def test_bad_input_names_its_field(region: None, weft: Weft) -> None:
    for prefix, words in (("10.5.0.1/24", "host bits"), ("10.5.0.0/30", "/29"), ("no", "prefix")):
        result = weft("endpoint", "add", "bad", "--cloudlet", "c1", "--prefix", prefix)
        assert result.code == 3 and "  prefix: " in result.err and words in result.err, result.err
    assert weft("endpoint", "show", "bad").code == 3
    shown = weft("endpoint", "show", "c1-lan")
    assert "10.1.0.1" in shown.out and "md*" in shown.out
    assert len(weft("endpoint", "list", "--cloudlet", "c2", "-o", "json").json) == 1


def test_leases(region: None, weft: Weft) -> None:
    assert weft("device", "add", "ana", "--mac", "02:00:5e:00:00:01", "--vm-mac", "02:00:5e:00:00:02").code == 0
    assert "ana" in weft("device", "list").out
    md = weft("lease", "add", "c1-lan", "ana")
    assert md.out.startswith("10.1.0.2 is leased to ana, expires in ")
    vm = weft("lease", "add", "c1-lan", "ana", "--kind", "vm", "-o", "json").json
    assert vm["address"] == "10.1.0.3"
    assert "10.1.0.3" in weft("lease", "list", "--device", "ana").out
    assert weft("lease", "renew", str(vm["id"])).code == 0
    assert weft("device", "remove", "ana").code == 3
    assert weft("lease", "release", str(vm["id"])).code == 0
    assert weft("lease", "release", str(vm["id"])).code == 3


def test_policy(region: None, weft: Weft, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("apiVersion: weft/v1\nvcps:\n  green:\n    description: fair\n    members: [c1-lan]\n")
    name = str(file)
    assert weft("policy", "check", name).out == f"{name}: right (form, and names at the controller)\n"
    steps = ["+ VCP green", "+ c1-lan joins green"]
    assert weft("policy", "plan", name).out.splitlines()[:2] == steps
    assert weft("policy", "apply", name).out.splitlines()[:2] == steps
    assert weft("policy", "show").out == file.read_text()
    assert weft("policy", "plan", name).out.splitlines()[0] == "nothing to change"
    file.write_text("apiVersion: weft/v1\nvcps:\n  green:\n    members: [c1-lan, c7-lan]\n")
    for verb, code in (("check", 1), ("apply", 3)):
        result = weft("policy", verb, name)
        assert result.code == code and f"{name}:4:23: there is no endpoint 'c7-lan'" in result.err
    assert weft("vcp", "show", "green", "-o", "json").json["members"] == ["c1-lan"]
    file.write_text("apiVersion: weft/v1\nvcps: {}\n")
    weft("policy", "apply", name)
    assert [pool["name"] for pool in weft("vcp", "list", "-o", "json").json] == ["blue"]


def test_the_looking_glass_and_the_doctor_without_route_servers(region: None, weft: Weft) -> None:
    assert weft("route", "servers").code == 0
    assert weft("route", "list").out == "no routes in adj-in that fit\n"
    diagnosis = weft("doctor")
    assert diagnosis.code == 1 and "✗ agent of c1: The agent of c1 is not connected" in diagnosis.out


def test_events_are_listed_and_followed(on_socket: None, running: tuple[str, str], weft: Weft) -> None:
    assert weft("vcp", "add", "passing").code == 0
    assert weft("vcp", "remove", "passing").code == 0
    last = weft("event", "list", "--limit", "2", "-o", "json").json
    assert [event["type"] for event in last] == ["vcp-created", "vcp-removed"]
    code = "from controller.cli.main import main; main()"
    follow = [sys.executable, "-c", code, "event", "follow", "--after", str(last[0]["id"] - 1)]
    with subprocess.Popen(follow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "vcp-created" in process.stdout.readline() and "vcp-removed" in process.stdout.readline()
        process.send_signal(2)
        assert process.wait(10) == 130 and process.stderr.read() == ""


def test_over_tcp_the_token_counts(running: tuple[str, str], weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_URL", running[1])
    monkeypatch.delenv("WEFT_TOKEN", raising=False)
    result = weft("vcp", "list")
    assert result.code == 3 and "WEFT_TOKEN is not set" in result.err
    monkeypatch.setenv("WEFT_TOKEN", "wrong")
    assert weft("vcp", "list").code == 3
    monkeypatch.setenv("WEFT_TOKEN", TOKEN)
    assert weft("vcp", "list").code == 0
