"""The prober over a WAN with delay and loss, between namespaces: two cloudlets, `west` and `east`, and the relay.

Both ends are real: raw sockets, packet filters, the reflector, and a kernel that answers pings and refuses connections.
"""

import json
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.neighbours import stamp
from agents.neighbours.schedule import URGENT_GAP
from controller.wire.neighbours import Candidate, Candidates
from lab.paths import BIN
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for

pytestmark = pytest.mark.lab

WEST, EAST, STRANGER = "198.51.100.0", "198.51.100.1", "198.51.100.9"
DELAY_MS = 20.0
"""The delay of one direction."""

NO_PING = "icmp type echo-request drop"
NO_STAMP = f"udp dport {stamp.PORT} drop"


class Wan:
    """Two cloudlets and the relay between them."""

    def __init__(self, spaces: list[Namespace], directory: Path) -> None:
        self.west, self.east, self.relay = spaces
        self.directory, self.count = directory, 0
        for side, port, address in ((self.west, "wa", WEST), (self.east, "wb", EAST)):
            cable(side, "wan0", self.relay, port)
            side.run(f"ip addr add {address}/24 dev wan0")
            side.run("ethtool -K wan0 tx off")
            self.relay.run(f"ethtool -K {port} tx off")
        self.east.run(f"ip addr add {STRANGER}/24 dev wan0")

    def weather(self, loss_percent: float = 0.0, jitter_ms: float = 0.0) -> None:
        """Start the relay, or replace it by one with other figures."""
        self.relay.end()
        figures = (DELAY_MS * 1000, jitter_ms * 1000, loss_percent * 10000, 0, 10000)
        link = "link,wa,wb," + ",".join(str(round(figure)) for figure in figures)
        self.relay.spawn(str(BIN / "wanrelay"), link, log=self.directory / "relay.log")

    def forbid(self, *rules: str) -> None:
        """Set the rules by which `east` drops packets."""
        self.east.run("nft flush ruleset")
        self.east.run("nft add table inet filter")
        self.east.run("nft add chain inet filter input { type filter hook input priority 0 ; }")
        for rule in rules:
            self.east.run(f"nft add rule inet filter input {rule}")

    def probe(
        self,
        side: Namespace,
        stall: float = 0.0,
        seconds: float = 1.0,
        candidates: Sequence[Candidate] = (),
        echoes: int = 5,
    ) -> "Prober":
        """Start a cloudlet's prober; by default the other cloudlet is its only candidate."""
        here, there, name = (WEST, EAST, "east") if side is self.west else (EAST, WEST, "west")
        document = Candidates(
            cloudlet="here",
            vtep=here,
            probe_seconds=seconds,
            report_seconds=seconds,
            echoes=echoes,
            candidates=list(candidates) or [Candidate(cloudlet=name, vtep=there)],
        ).model_dump_json()
        self.count += 1
        log = self.directory / f"{self.count}.log"
        python = str(BIN.parent / "venv/bin/python")
        side.spawn(python, "-m", "tests.integration.neighbour_prober", document, str(stall), log=log)
        return Prober(log)


class Prober:
    """A prober's output."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def rounds(self, count: int, seconds: float = 30) -> list[dict[str, Any]]:
        """Return the first `count` rounds."""

        def look() -> list[dict[str, Any]]:
            lines = [line for line in self.log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]
            return [json.loads(line) for line in lines[:count]] if len(lines) >= count else []

        try:
            return wait_for(f"{count} rounds", look, seconds)
        except AssertionError:
            raise AssertionError(f"not {count} rounds: {self.log.read_text()}") from None


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wan]:
    with namespaces("west-neighbours", "east-neighbours", "wan-neighbours") as spaces:
        yield Wan(spaces, tmp_path_factory.mktemp("neighbours"))


@pytest.fixture
def wan(ground: Wan) -> Iterator[Wan]:
    ground.weather()
    ground.forbid()
    yield ground
    for side in (ground.west, ground.east):
        side.end()


def about(found: dict[str, Any], slack: float = 15.0) -> None:
    """Check that a round trip takes twice the delay; `slack` is the time that a busy machine may add."""
    assert found["received"] == found["sent"] == 5, found
    assert 2 * DELAY_MS - 0.5 <= found["min_ms"] <= found["median_ms"] <= 2 * DELAY_MS + slack, found


@pytest.mark.smoke
def test_icmp_where_it_is_let_through(wan: Wan) -> None:
    rounds = wan.probe(wan.west).rounds(3)
    assert [r["first"] for r in rounds] == [True, False, False]
    for found in rounds:
        assert (found["neighbour"], found["method"]) == ("east", "icmp")
        about(found)


@pytest.mark.smoke
def test_stamp_where_icmp_is_not(wan: Wan) -> None:
    wan.forbid(NO_PING)
    wan.probe(wan.east).rounds(1)
    for found in wan.probe(wan.west).rounds(3):
        assert found["method"] == "udp"
        about(found)
    assert wan.probe(wan.east).rounds(1)[0]["method"] == "icmp", "the other direction has its own way"


def test_tcp_where_neither_is(wan: Wan) -> None:
    wan.forbid(NO_PING, NO_STAMP)
    for found in wan.probe(wan.west).rounds(2):
        assert found["method"] == "tcp", "refused is an answer too"
        about(found, slack=30)


def test_what_accepts_a_connection_answers_as_well(wan: Wan) -> None:
    wan.forbid(NO_PING, NO_STAMP)
    with wan.east.entered(), socket.create_server((EAST, 179)) as server:
        (found,) = wan.probe(wan.west).rounds(1)
        assert found["method"] == "tcp"
        about(found, slack=30)
        server.settimeout(1)
        server.accept()[0].close()


def test_nothing_at_all_is_a_lost_round(wan: Wan) -> None:
    wan.forbid("drop")
    (found,) = wan.probe(wan.west).rounds(1)
    assert (found["method"], found["sent"], found["received"], found["median_ms"]) == ("icmp", 5, 0, None)


def test_a_filter_that_goes_is_noticed(wan: Wan) -> None:
    wan.forbid(NO_PING)
    wan.probe(wan.east).rounds(1)
    prober = wan.probe(wan.west, seconds=0.5)
    prober.rounds(2)
    wan.forbid()
    rounds = prober.rounds(14, seconds=60)
    assert rounds[0]["method"] == "udp" and rounds[-1]["method"] == "icmp"


def test_loss_and_jitter_show(wan: Wan) -> None:
    wan.weather(loss_percent=20, jitter_ms=8)
    rounds = wan.probe(wan.west, seconds=0.5).rounds(10, seconds=60)
    lost = 1 - sum(r["received"] for r in rounds) / sum(r["sent"] for r in rounds)
    assert 0.15 < lost < 0.6, "one way and the other: 36 % of 100"
    assert max(r["p95_ms"] for r in rounds if r["received"] > 1) > 2 * DELAY_MS + 4
    assert max(r["jitter_ms"] for r in rounds if r["received"] > 1) > 1


def test_a_busy_event_loop_does_not_make_the_way_longer(wan: Wan) -> None:
    busy = wan.probe(wan.west, stall=0.1).rounds(2)
    for found in busy:
        assert found["method"] == "icmp"
        about(found, slack=25)


def test_nor_does_a_busy_reflector(wan: Wan) -> None:
    wan.forbid(NO_PING)
    wan.probe(wan.east, stall=0.1).rounds(1)
    for found in wan.probe(wan.west).rounds(2):
        assert found["method"] == "udp"
        about(found, slack=25)


def ask(wan: Wan, address: str, packets: list[bytes], port: int = 0) -> list[bytes]:
    """Return the western reflector's answers to packets from an eastern address."""
    with wan.east.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((address, port))
        sender.settimeout(0.5)
        for packet in packets:
            sender.sendto(packet, (WEST, stamp.PORT))
        answers = []
        try:
            while True:
                answers.append(sender.recv(2048))
        except TimeoutError:
            return answers


def test_the_reflector_answers_candidates_only_and_seldom_and_briefly(wan: Wan) -> None:
    wan.probe(wan.west).rounds(1)
    packet = stamp.request(1, time.time())
    (answer,) = ask(wan, EAST, [packet])
    assert len(answer) == len(packet) and stamp.answer(answer) is not None
    assert ask(wan, STRANGER, [packet]) == [], "not somebody it does not know"
    assert ask(wan, EAST, [packet], stamp.PORT) == [], "not another reflector: they would never stop"
    assert ask(wan, EAST, [packet[:43], b""]) == [], "not with more than it was asked with"
    (answer,) = ask(wan, EAST, [packet + bytes(1000)])
    assert len(answer) == stamp.SIZE
    many = ask(wan, EAST, [packet] * 300)
    assert stamp.BURST / 2 <= len(many) <= stamp.BURST + 2 * stamp.RATE


def test_many_candidates_are_spread_over_the_interval(wan: Wan) -> None:
    count, interval = 300, 10.0
    many = [Candidate(cloudlet=f"m{n}", vtep=f"203.0.{n // 250}.{n % 250 + 1}") for n in range(count)]
    batch = "".join(f"addr add {c.vtep}/32 dev lo\n" for c in many)
    ip = ["ip", "netns", "exec", wan.east.name, "ip", "-batch", "-"]
    subprocess.run(ip, input=batch, text=True, check=True)
    wan.west.run(f"ip route add 203.0.0.0/16 via {EAST}")
    capture = wan.directory / "many"
    watching = wan.west.spawn("tcpdump", "-n", "-l", "-tt", "-i", "wan0", "icmp[0] == 8", log=capture)
    try:
        prober = wan.probe(wan.west, seconds=interval, candidates=many, echoes=2)
        rounds = prober.rounds(4 * count, seconds=120)
    finally:
        watching.terminate()
        watching.wait(10)
        wan.west.run("ip route del 203.0.0.0/16")
    assert {r["neighbour"] for r in rounds if r["first"]} == {c.cloudlet for c in many}, "each at once, one by one"
    assert all(r["received"] == 2 for r in rounds)
    requests = [line.split() for line in capture.read_text().splitlines() if "echo request" in line]
    times, targets = [float(words[0]) for words in requests], [words[4] for words in requests]
    announced = max(dict(zip(reversed(targets), reversed(times), strict=True)).values()) + 1
    seconds = Counter(int(at - announced) for at in times if announced < at)
    full = [seconds[n] for n in range(max(seconds, default=0))]
    even = count * 2 / interval
    assert len(full) > 5 and all(0.6 * even <= packets <= 1.4 * even for packets in full), full
    assert max(Counter(int(at - times[0]) for at in times).values()) <= 2 / URGENT_GAP + 1.4 * even


def test_probes_are_in_the_underlay_between_the_vteps(wan: Wan) -> None:
    capture = ["tcpdump", "-n", "-l", "-i", "wan0", "-c", "5", "icmp[0] == 8"]
    watching = subprocess.Popen(
        ["ip", "netns", "exec", wan.west.name, *capture], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        wan.probe(wan.west).rounds(3)
        out, _ = watching.communicate(timeout=20)
    finally:
        watching.kill()
        watching.wait()
    assert out.count(f"IP {WEST} > {EAST}: ICMP echo request") == 5
