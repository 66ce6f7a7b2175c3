"""A machine that moved and kept its address: three VPLS cloudlets with real agents, gobgpd, kernel and nft. The machine
is a namespace whose cable is pulled at one cloudlet and plugged in at another."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterable
from ipaddress import IPv4Address, IPv6Address

import pytest
import pytest_asyncio

from tests.integration import agent_region as region_of
from tests.integration.agent_region import PREFIX, Region, inside, run
from tests.integration.stub_controller import StubController
from tests.integration.test_agent_pool6 import ALL, Pool

reason = region_of.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.asyncio(loop_scope="module"),
]
OLD, OLD6 = "10.1.0.5", "2001:db8:1::5"
PORT = "md9"
ALL_NODES = IPv6Address("ff02::1")


class Moving(Pool):
    """The pool, and the machine, which is at cloudlet `at`."""

    at = 1

    def make(self) -> None:
        """Create the machine at cloudlet 1."""
        self.region._namespace("vm")
        run(
            "ip",
            "-n",
            PREFIX + "pe1",
            "link",
            "add",
            PORT,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            PREFIX + "vm",
        )
        for words in (f"addr add {OLD}/24 dev eth0", f"addr add {OLD6}/64 dev eth0", "link set eth0 mtu 1450 up"):
            run("ip", "-n", PREFIX + "vm", *words.split())
        run("ip", "-n", PREFIX + "vm", "route", "add", "default", "via", "10.1.0.1")
        self.plug()

    def plug(self) -> None:
        run("ip", "-n", f"{PREFIX}pe{self.at}", "link", "set", PORT, "master", "lan1", "up")

    def move(self, to: int) -> None:
        """Move the machine without an announcement at the new place."""
        if to != self.at:
            run("ip", "-n", f"{PREFIX}pe{self.at}", "link", "set", PORT, "down", "netns", f"{PREFIX}pe{to}")
            self.at = to
            self.plug()

    def announce(self) -> None:
        """Send a gratuitous ARP and an unsolicited neighbour advertisement."""
        with inside(
            "vm", lambda s: s.bind(("eth0", 0)), lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        ) as mouth:
            mac, ip, ip6 = mouth.getsockname()[4], IPv4Address(OLD).packed, IPv6Address(OLD6).packed
            arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + ip + bytes(6) + ip
            mouth.send(b"\xff" * 6 + mac + b"\x08\x06" + arp)
            body = struct.pack("!I", 0x20000000) + ip6 + b"\x02\x01" + mac
            pseudo = ip6 + ALL_NODES.packed + struct.pack("!II", 4 + len(body), 58)
            total = sum(struct.unpack(f"!{(len(pseudo) + 4 + len(body)) // 2}H", pseudo + b"\x88\0\0\0" + body))
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            head = struct.pack("!IHBB", 0x60000000, 4 + len(body), 58, 255) + ip6 + ALL_NODES.packed
            na = b"\x88\0" + struct.pack("!H", ~total & 0xFFFF) + body
            mouth.send(b"\x33\x33\0\0\0\x01" + mac + b"\x86\xdd" + head + na)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Moving]:
    region = Region(tmp_path_factory.mktemp("region"), 3)
    stub = StubController()
    try:
        await stub.start()
        made = Moving(region, stub)
        await made.join(ALL, wait=False)
        for n in ALL:
            run("ip", "addr", "add", f"2001:db8:{n}::2/64", "dev", "eth0", namespace=f"md{n}")
            region.start_agent(n)
        await made.join(ALL)
        await asyncio.to_thread(made.make)
        yield made
    finally:
        await stub.stop()
        region.close()


def ping(where: str, target: str, seconds: float) -> bool:
    """Return whether the target answers within that time."""
    deadline = time.monotonic() + seconds
    while True:
        if " 1 received" in run("ping", "-n", "-c", "1", "-W", "0.2", target, namespace=where, check=False):
            return True
        if time.monotonic() > deadline:
            return False


def unreached(seconds: float, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs (source, target) whose ping gets no answer."""
    return [(where, target) for where, target in pairs if not ping(where, target, seconds)]


def to_it(members: set[int], address: str) -> list[tuple[str, str]]:
    return [(f"{place}{n}", address) for n in members for place in ("md", "pe")]


def from_it(members: set[int], prefix: str) -> list[tuple[str, str]]:
    return [("vm", prefix.format(n) + host) for n in members for host in ("1", "2")]


@pytest.mark.parametrize("to", [2, 3, 1])
async def test_its_old_address_is_reached_by_everybody_in_the_pool(pool: Moving, to: int) -> None:
    """Members' devices and gateways reach it, its old gateway does, and so does the most important host: the device
    beside it."""
    await pool.join(ALL)
    pool.move(to)
    pool.announce()
    assert unreached(1.0, [*to_it(ALL, OLD), *from_it(ALL, "10.{}.0.")]) == []
    # It lost the route over its old router with the link, and the new router's advertisement is on its way.
    assert unreached(10.0, [*from_it(ALL, "2001:db8:{}::"), *to_it(ALL, OLD6)]) == []


async def test_who_does_not_share_a_pool_with_where_it_is_does_not_reach_it(pool: Moving) -> None:
    """Cloudlet 3 is in no pool with cloudlet 2, where the machine is."""
    await pool.join({1, 2})
    pool.move(2)
    pool.announce()
    assert unreached(1.0, [*to_it({1, 2}, OLD), *from_it({1, 2}, "10.{}.0.")]) == []
    away = [*to_it({3}, OLD), *from_it({3}, "10.{}.0.")]
    assert unreached(0.5, away) == away
