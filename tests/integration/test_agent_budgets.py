"""A real bridge and gateway, and a host that invents MACs and neighbours: how many entries are kept, and which hosts
still communicate."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agents.access import Access
from agents.fence import Fence, budgets, ruleset
from agents.fence.budgets import MACS, NEIGHBOURS, REQUESTS, TABLE, TUNNEL
from agents.nft import Nft
from agents.storage.state import StateDirectory
from controller.wire.access import AccessReport
from lab.neighbour_tables import enlarge
from tests.integration.agent_namespaces import Namespace, cable, namespaces, speak, wait_for
from tests.integration.fence_frames import ethernet, udp4, udp6
from tests.integration.neighbour_frames import ATTACKS, GATEWAY, GATEWAY6, GATEWAY_MAC, PORT
from tests.unit.agents.desires import desired, endpoint

pytestmark = pytest.mark.lab

FENCE = Fence(
    "lan1",
    "pw1.*",
    "10.1.0.0/16",
    "2001:db8:1::/64",
    (GATEWAY6,),
    GATEWAY_MAC,
    ("md1", "md2"),
    GATEWAY,
    learns=True,
)
SETTINGS = (
    "net.ipv6.conf.lan1.disable_ipv6=0",
    "net.ipv4.ip_forward=1",
    "net.ipv6.conf.all.forwarding=1",
    "net.ipv4.conf.lan1.arp_accept=1",
    "net.ipv6.conf.lan1.accept_dad=0",
    "net.ipv6.conf.lan1.accept_untracked_na=1",
)
NEWCOMER, OLD = "02:00:5e:00:00:01", "02:00:5e:00:00:02"
FLOOD = 30_000


class Lan:
    """A bridge with a port for a host that floods it, one for a host that does not, and a tunnel."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.bad, self.good, self.far = spaces
        self.nft = Nft()
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run(f"ip link set lan1 address {GATEWAY_MAC} up")
        for setting in SETTINGS:
            self.gate.run(f"sysctl -qw {setting}")
        self.gate.run(f"ip addr add {GATEWAY}/16 dev lan1")
        self.gate.run(f"ip addr add {GATEWAY6}/64 dev lan1 nodad")
        for space, port in ((self.bad, "md1"), (self.good, "md2"), (self.far, "pw1.2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")

    async def put(self, fence: Fence) -> None:
        with self.gate.entered():
            await self.nft.apply(ruleset([fence]) + budgets([fence]))

    async def dropped(self, reason: str) -> int:
        with self.gate.entered():
            counted = await self.nft.counters(TABLE)
        return next(one.packets for one in counted if one.reason == reason)

    def learned(self, port: str) -> set[str]:
        """Return the MACs that a port has learned, without the port's own."""
        lines = self.gate.run(f"bridge fdb show br lan1 brport {port}").splitlines()
        return {line.split()[0] for line in lines if "permanent" not in line}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Run a server at the gateway, for both families, during the block."""
        with self.gate.entered():
            server = socket.create_server(("", PORT), family=socket.AF_INET6, dualstack_ipv6=True)
        with server:
            yield

    def neighbours(self) -> int:
        """Return the number of neighbour entries, including unresolved ones."""
        families = ("-4", "-6")
        return sum(len(self.gate.run(f"ip {family} neigh show nud all dev lan1").splitlines()) for family in families)


def attack(space: Namespace, kind: str, number: int) -> None:
    """Send this number of frames, each about another address."""
    with space.packets("eth0") as raw:
        raw.setblocking(True)
        for n in range(number):
            raw.send(ATTACKS[kind](n))


def made_up(number: int, vendor: str = "02:bd:00") -> Iterator[str]:
    return (f"{vendor}:{n >> 16:02x}:{n >> 8 & 255:02x}:{n & 255:02x}" for n in range(number))


@contextmanager
def lan() -> Iterator[Lan]:
    with namespaces("gate", "bad", "good", "far") as spaces:
        yield Lan(spaces)


@pytest.mark.smoke
async def test_a_port_has_a_budget_of_macs_and_takes_none_of_another_ports() -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.bad, OLD)
        wait_for("the old one is known", lambda: OLD in net.learned("md1"))
        speak(net.bad, *made_up(FLOOD))
        learned, dropped = net.learned("md1"), await net.dropped("crowd-at")
        assert MACS.burst <= len(learned) < MACS.burst + 1000, "the burst, and some of the time that the flood took"
        assert dropped + len(learned) == FLOOD + 1
        speak(net.good, NEWCOMER)
        wait_for("another port has its own budget", lambda: NEWCOMER in net.learned("md2"))
        speak(net.bad, OLD)
        assert await net.dropped("crowd-at") == dropped, "it was known before the flood"


async def test_what_was_counted_outlives_a_change_of_the_fences_and_an_agent() -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.bad, *made_up(FLOOD))
        for fence in (replace(FENCE, ports=("md1",)), FENCE):
            net.nft = Nft()
            await net.put(fence)
            dropped = await net.dropped("crowd-at")
            speak(net.bad, *made_up(2000, "02:be:00"))
            assert await net.dropped("crowd-at") - dropped > 1500, "no new burst"
        assert len(net.learned("md1")) < MACS.burst + 1000


async def test_a_tunnel_has_a_budget_where_the_bridge_learns_from_it() -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.far, *made_up(FLOOD))
        assert TUNNEL * MACS.burst <= len(net.learned("pw1.2")) < TUNNEL * MACS.burst + 2000
        assert await net.dropped("crowd-in") > 0
    with lan() as net:
        await net.put(replace(FENCE, learns=False))
        speak(net.far, *made_up(FLOOD))
        assert await net.dropped("crowd-in") == 0, "what it does not learn is bounded elsewhere"


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.smoke) for kind in ATTACKS])
async def test_a_port_has_a_budget_of_neighbours_and_the_gateway_answers_everybody_else(kind: str) -> None:
    """IPv6 has two entries for an address that it looks for, as the request goes to a multicast group."""
    enlarge()
    many, burst = 6000, NEIGHBOURS[0].burst
    with lan() as net, net.listening():
        attack(net.bad, kind, many)
        assert net.neighbours() > many / 2, "without a budget they are all kept"
    with lan() as net, net.listening():
        await net.put(FENCE)
        attack(net.bad, kind, many)
        assert burst / 2 < net.neighbours() < 2 * burst + 200
        net.good.run("sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0")
        net.good.run("ip addr add 10.1.0.9/16 dev eth0")
        net.good.run("ip addr add 2001:db8:1::9/64 dev eth0 nodad")
        for gateway in (GATEWAY, GATEWAY6):
            assert " 0% packet loss" in net.good.run(f"ping -c 3 -i 0.2 -W 2 {gateway}")
        assert await net.dropped("scan-at" if kind.startswith("sends") else "speakers-at") > many - burst - 200


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
async def test_a_port_asks_the_agent_no_more_than_its_budget_and_others_are_heard(family: socket.AddressFamily) -> None:
    many = 20_000
    asking = udp4("bad", "0.0.0.0", "255.255.255.255", (68, 67)), udp6("bad", 547)
    frame = ethernet(0x0800, asking[0]) if family == socket.AF_INET else ethernet(0x86DD, asking[1])
    with lan() as net:
        await net.put(FENCE)
        began = time.monotonic()
        with net.bad.packets("eth0") as raw:
            raw.setblocking(True)
            for _ in range(many):
                raw.send(frame)
        allowed = REQUESTS.burst + REQUESTS.rate * (time.monotonic() - began + 1)
        dropped = await net.dropped("requests-at")
        assert many - allowed < dropped < many
        with net.good.packets("eth0") as raw:
            raw.send(frame)
        assert await net.dropped("requests-at") == dropped, "it has a budget of its own"


class Told:
    """A stub that keeps the reports it receives."""

    def __init__(self) -> None:
        self.reports: asyncio.Queue[AccessReport] = asyncio.Queue()

    async def access(self, report: AccessReport) -> None:
        await self.reports.put(report)


async def test_the_controller_is_told_of_it(tmp_path: Path) -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.bad, *made_up(FLOOD))
        speak(net.far, *made_up(FLOOD))
        at, out = await net.dropped("crowd-at"), await net.dropped("crowd-in")
        told = Told()
        access = Access("c1", StateDirectory(tmp_path, "c1"), told)
        access.applied(desired(endpoint(1)))
        with net.gate.entered():
            running = asyncio.create_task(access.run())
            async with asyncio.timeout(30):
                report = await told.reports.get()
            running.cancel()
        by_what = {one.what: (one.endpoint, one.packets) for one in report.dropped}
        assert by_what == {"crowd": ("e1", at), "crowd-in": ("e1", out)}


async def test_a_lan_that_comes_later_does_not_inherit_the_counts_of_one_that_had_its_bridge() -> None:
    with lan() as net:
        await net.put(FENCE)
        speak(net.bad, *made_up(FLOOD))
        assert await net.dropped("crowd-at") > 0
        with net.gate.entered():
            await net.nft.apply(budgets([replace(FENCE, bridge="lan2")], ["lan1", "lan2"]))
            assert {one.bridge for one in await net.nft.counters(TABLE)} == {"lan2"}
        await net.put(FENCE)
        assert await net.dropped("crowd-at") == 0
        speak(net.bad, *made_up(2000, "02:be:00"))
        assert await net.dropped("crowd-at") > 1500, "the port's budget is spent all the same"


async def test_without_fences_there_is_no_table() -> None:
    with lan() as net:
        await net.put(FENCE)
        with net.gate.entered():
            await net.nft.apply(ruleset([]) + budgets([]))
        assert "weft" not in net.gate.run("nft list tables")
