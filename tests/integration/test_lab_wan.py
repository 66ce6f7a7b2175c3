"""The WAN's figures, measured with ping through the emulation that this kernel supports."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import netns, wan
from lab.capture import Capture
from lab.errors import LabError
from lab.paths import BIN
from lab.ping import PingStream
from lab.plan import Line, Port
from lab.topology import Link

pytestmark = pytest.mark.lab

A, B = f"{netns.PREFIX}wantest-a", f"{netns.PREFIX}wantest-b"


class Wire:
    """One link between two namespaces of this test's own, with the lab's emulation."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, **figures: Any) -> None:
        monkeypatch.setattr(wan, "NAMESPACE", f"{netns.PREFIX}wantest-r")
        link = Link("wantest-a", "wantest-b", **figures)
        self.line = Line(0, link, Port("wantest-a", "wan0", "10.254.0.0"), Port("wantest-b", "wan0", "10.254.0.1"))
        self.namespaces = [A, B, wan.NAMESPACE]
        self.directory = directory
        self.relay = 0

    def up(self) -> None:
        netns.create(self.namespaces)
        emulator = wan.choose()
        netns.cables(wan.cables([self.line], emulator))
        for name, port in ((A, self.line.a), (B, self.line.b)):
            lines = [f"addr add {port.address}/31 dev wan0", "link set wan0 up"]
            netns.configure(name, sysctl={"net.ipv6.conf.wan0.disable_ipv6": "1"}, ip=lines, plain=["wan0"])
        if arguments := wan.shape([self.line], emulator, self.directory / "links"):
            # The relay outlives the shell; it ends with the processes of its namespace.
            command = f"{BIN / 'wanrelay'} {' '.join(arguments)} >/dev/null 2>&1 & echo $!"
            self.relay = int(netns.execute(wan.NAMESPACE, ["sh", "-c", command], check=True).stdout)

    def down(self) -> None:
        for name in self.namespaces:
            for pid in netns.pids(name):
                netns.execute(name, ["kill", "-9", str(pid)])
        netns.remove(self.namespaces)

    def ping(self, *options: str) -> str:
        return netns.execute(A, ["ping", "-n", *options, self.line.b.address]).stdout


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> dict[str, float]:
    return dict(request.param)


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: dict[str, float]) -> Iterator[Wire]:
    made = Wire(tmp_path, monkeypatch, **figures)
    try:
        made.up()
        made.ping("-c", "1", "-W", "2")  # ARP is done before anything is measured
        yield made
    finally:
        made.down()


def round_trips(output: str) -> list[float]:
    return [float(word.removeprefix("time=")) for word in output.split() if word.startswith("time=")]


@pytest.mark.smoke
@pytest.mark.parametrize("figures", [{"delay_ms": 10}], indirect=True)
def test_delay_counts_once_in_each_direction(wire: Wire) -> None:
    times = round_trips(wire.ping("-c", "50", "-i", "0.02"))
    assert len(times) == 50
    assert min(times) >= 20
    assert statistics.median(times) < 24


@pytest.mark.parametrize("figures", [{"delay_ms": 10, "jitter_ms": 4}], indirect=True)
def test_jitter_spreads_around_the_delay(wire: Wire) -> None:
    times = round_trips(wire.ping("-c", "80", "-i", "0.02"))
    assert min(times) >= 12
    assert 17 < statistics.median(times) < 25
    assert statistics.pstdev(times) > 1


@pytest.mark.parametrize("figures", [{"delay_ms": 1, "loss_percent": 20}], indirect=True)
def test_loss_takes_its_share(wire: Wire) -> None:
    received = len(round_trips(wire.ping("-c", "300", "-i", "0.01", "-W", "1")))
    # 0.8 of 0.8 comes back: 192 of 300, four standard deviations (8.3) either way.
    assert 158 <= received <= 226


@pytest.mark.parametrize("figures", [{"rate_mbit": 1}], indirect=True)
def test_rate_is_that_of_a_line(wire: Wire) -> None:
    # 1400 + 42 bytes at 1 Mbit/s take 11.5 ms to send, there and back.
    times = round_trips(wire.ping("-c", "20", "-i", "0.05", "-s", "1400"))
    assert min(times) >= 23
    assert statistics.median(times) < 30


@pytest.mark.parametrize("figures", [{"delay_ms": 5}], indirect=True)
def test_a_ping_stream_counts_what_is_lost(wire: Wire) -> None:
    with PingStream("wantest-a", wire.line.b.address, 0.05) as stream, Capture("wantest-b", "wan0", "icmp") as capture:
        first = stream.wait_reply(0, 5)
        assert first
        time.sleep(0.5)
        netns.execute(B, ["ip", "link", "set", "wan0", "down"], check=True)
        cut = time.time()
        time.sleep(0.6)
        netns.execute(B, ["ip", "link", "set", "wan0", "up"], check=True)
        back = stream.wait_reply(cut + 0.1, 5)
        assert back
        result = stream.stop()
        frames = capture.stop()
    assert result.first_after(first.at - 1) == first
    assert result.first_after(cut + 0.1) == back
    assert 8 <= result.lost <= 60
    assert result.sent >= len(result.replies) + result.lost
    requests = [frame for frame in frames if "echo request" in frame.text]
    assert requests
    assert all(first.at - 1 < frame.at < back.at + 5 for frame in requests)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("x,lo,lo,1,0,0,0", "expected name,ifA,ifB"),
        ("x,lo,none9,1,0,0,0,10", "interface none9"),
        ("x,lo,lo,1,2,0,0,10", "jitter <= delay"),
        ("x,lo,lo,-1,0,0,0,10", "0 <= jitter"),
        ("x,lo,lo,1,0,1000001,0,10", "loss <= 1000000"),
        ("x,lo,lo,1,0,0,0,0", "limit"),
        ("x,lo,lo,1,0,0,0,10,7", "expected name,ifA,ifB"),
    ],
)
def test_the_relay_refuses_what_makes_no_sense(link: str, says: str) -> None:
    name = f"{netns.PREFIX}wantest-r"
    netns.create([name])
    try:
        with pytest.raises(LabError, match=says):
            netns.execute(name, [str(BIN / "wanrelay"), link], timeout=5, check=True)
    finally:
        netns.remove([name])
