"""The wiretap captures whole clear-text frames on a real wire, and names their senders."""

import http.client
import os
import socket
from collections import Counter
from pathlib import Path

import pytest

from lab import netns
from lab.clear import Leak, TrafficKind
from lab.plan import Line, Plan, Port
from lab.topology import Link
from lab.wiretap import Wiretap
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

ONE, TWO = "198.18.0.1", "198.18.0.2"


def tap(*spaces: Namespace) -> Wiretap:
    one, two = (Port(space.name.removeprefix(netns.PREFIX), "wan0", "") for space in spaces)
    return Wiretap(Plan({}, (Line(0, Link(one.node, two.node), one, two),), {}), {one.node})


def wired(*spaces: Namespace) -> None:
    one, two = spaces
    cable(one, "wan0", two, "wan0")
    for space, address in ((one, ONE), (two, TWO)):
        space.run(f"ip addr add {address}/24 dev wan0")


def test_what_is_said_in_the_clear_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.capture.LAB", tmp_path)
    with namespaces("one", "two") as (one, two):
        wired(one, two)
        with two.entered(), socket.create_server((TWO, 1790)) as listening, tap(one, two) as ear:
            with one.entered():
                speaker = socket.create_connection((TWO, 1790))
                vxlan = socket.socket(type=socket.SOCK_DGRAM)
            heard, _ = listening.accept()
            with speaker, vxlan, heard:
                vxlan.sendto(b"\x08" + bytes(63), (TWO, 4789))
                vxlan.sendto(bytes(4) + os.urandom(60), (TWO, 4500))
                heard.sendall(os.urandom(700) + b"\xff" * 16 + b"\x00\x13\x04")
                assert len(speaker.recv(719, socket.MSG_WAITALL)) == 719
            assert ear.stop() == Counter({Leak(TrafficKind.VXLAN, ONE, TWO): 1, Leak(TrafficKind.BGP, TWO, ONE): 1})


def test_the_api_without_tls_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.capture.LAB", tmp_path)
    with namespaces("one", "two") as (one, two):
        wired(one, two)
        log = tmp_path / "http.log"
        two.spawn("python3", "-u", "-m", "http.server", "8080", "--directory", str(tmp_path), log=log)
        wait_for("a server", lambda: "Serving" in log.read_text())
        with tap(one, two) as ear:
            with one.entered():
                client = http.client.HTTPConnection(TWO, 8080)
                client.connect()
            client.request("GET", "/api/v1/agent/desired", headers={"Authorization": "Bearer secret"})
            client.getresponse().read()
            client.close()
            told = ear.stop()
        assert set(told) == {Leak(TrafficKind.API, ONE, TWO), Leak(TrafficKind.API, TWO, ONE)}
