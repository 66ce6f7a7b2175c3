"""IPv6 across a pool: three VPLS cloudlets with real agents, gobgpd, kernel and nft. Devices find their router by its
advertisements; their addresses are set by hand, as the stub controller leases none."""

import asyncio
import re
import signal
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address

import pytest
import pytest_asyncio

from agents.kernel import lan
from controller.wire.reports import Report
from tests.integration import agent_region as region_of
from tests.integration.agent_namespaces import wait_for
from tests.integration.agent_region import PREFIX, Region, inside, pinging, run
from tests.integration.stub_controller import StubController, desired, prefix6

reason = region_of.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.asyncio(loop_scope="module"),
]
ALL = {1, 2, 3}
ROUTERS = {n: lan.link_local(lan.mac(f"c{n}", 1)) for n in ALL}


class Pool:
    """The region and the stub; `join` sets the members of the pool."""

    def __init__(self, region: Region, stub: StubController) -> None:
        self.region, self.stub, self.version = region, stub, 0

    async def join(self, members: set[int], wait: bool = True) -> None:
        self.version += 1
        await asyncio.to_thread(self.region.rules, self.version, {f"e{n}" for n in members})
        for n in ALL:
            remotes = members - {n} if n in members else set()
            await self.stub.set(desired(n, remotes, self.version, ipv6=True))
        if wait:
            for n in ALL:
                await self.settled(n, members - {n} if n in members else set())

    async def settled(self, n: int, remotes: set[int]) -> Report:
        version, names = self.version, {f"e{r}" for r in remotes}

        def good(report: Report) -> bool:
            if report.version != version or not report.endpoints or report.endpoints[0].problems:
                return False
            return {t.remote for t in report.endpoints[0].tunnels} == names

        return (await self.stub.wait(f"c{n}", good))[1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pool]:
    region = Region(tmp_path_factory.mktemp("region"), 3)
    stub = StubController()
    try:
        await stub.start()
        made = Pool(region, stub)
        await made.join({1, 2}, wait=False)
        for n in ALL:
            run("ip", "addr", "add", f"{address(n)}/64", "dev", "eth0", namespace=f"md{n}")
            region.start_agent(n)
        await made.join({1, 2})
        for n in ALL:
            await asyncio.to_thread(wait_for, "a router", lambda n=n: str(ROUTERS[n]) in routes(n))
        yield made
    finally:
        await stub.stop()
        region.close()


def address(n: int, host: str = "2") -> str:
    return prefix6(n).replace("/64", host)


def routes(n: int) -> str:
    return run("ip", "-6", "route", "show", "default", namespace=f"md{n}")


def ping(n: int, target: str, *words: str) -> bool:
    text = run("ping", "-n", "-c", "3", "-i", "0.1", "-W", "1", *words, target, namespace=f"md{n}", check=False)
    return "0 received" not in text and "received" in text


@contextmanager
def captured(n: int, device: str = "eth0", where: str = "md") -> Iterator[list[bytes]]:
    """Capture the frames on a device during the block."""
    frames: list[bytes] = []
    words = ["ip", "netns", "exec", f"{PREFIX}{where}{n}", "tcpdump", "-i", device, "-w", "-", "-Z", "root"]
    process = subprocess.Popen([*words, "-U", "--immediate-mode"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    while b"listening on" not in process.stderr.readline():
        assert process.poll() is None
    try:
        yield frames
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=10)
        at = 24
        while at + 16 <= len(output):
            length = struct.unpack_from("=I", output, at + 8)[0]
            frames.append(output[at + 16 : at + 16 + length])
            at += 16 + length


@contextmanager
def asleep(pool: Pool, n: int) -> Iterator[None]:
    """Suspend a PE's agent during the block, so that it does not restore its rules."""
    agent = pool.region.processes[f"agent{n}"]
    agent.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        agent.send_signal(signal.SIGCONT)


async def test_members_reach_each_other_and_others_do_not(pool: Pool) -> None:
    await pool.join({1, 2})
    report = await pool.settled(1, {2})
    assert report.endpoints[0].routes == ["10.2.0.0/24", "2001:db8:2::/64"]
    with captured(2) as frames:
        assert all(ping(a, address(b)) for a, b in ((1, 2), (2, 1)))
    assert await _dropped("redirect") > 0 and not any(frame[20] == 58 and frame[54] == 137 for frame in frames)
    assert not any(ping(a, address(b)) for a, b in ((1, 3), (3, 1), (2, 3)))
    assert ping(3, address(3, "1"))
    assert ping(1, address(2), "-M", "do", "-s", "1402"), "1450 bytes, which is the MTU"
    shown = run("ip", "-6", "route", "show", "default", namespace="md1")
    assert f"via {ROUTERS[1]}" in shown and len(shown.splitlines()) == 1


async def test_nobody_reaches_beyond_a_shared_member(pool: Pool) -> None:
    """Cloudlets 1 and 2 are members; 3 stands for a member of another pool of 2's: 2's gateway does not route from 1 to
    3."""
    await pool.join({1, 2})
    gateway = str(ROUTERS[2])
    run("ip", "-6", "route", "add", "default", "dev", "eth0", namespace="pe2")
    run("ip", "-6", "neigh", "replace", gateway, "lladdr", lan.mac("c2", 1), "dev", "eth0", namespace="md1")
    for target in (address(3), "2001:db8:ffff::1"):
        run("ip", "-6", "route", "add", f"{target}/128", "via", gateway, "dev", "eth0", namespace="md1")
    assert not any(ping(1, target) for target in (address(3), "2001:db8:ffff::1")), "1's own gateway takes care of it"
    with asleep(pool, 1):  # the agent would restore its rules at once
        run("nft", "flush", "chain", "bridge", "weft", "lan1.visitors", namespace="pe1")
        before = await _dropped("transit")
        assert not any(ping(1, target) for target in (address(3), "2001:db8:ffff::1"))
        assert await _dropped("transit") >= before + 6


async def _dropped(what: str) -> int:
    text = run("nft", "list", "counter", "inet", "weft", f"lan1.{what}", namespace="pe2")
    found = re.search(r"packets (\d+)", text)
    assert found
    return int(found[1])


async def test_a_rogue_router_is_one_at_home_only(pool: Pool) -> None:
    await pool.join({1, 2})
    rogue = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0)
    rogue += struct.pack("!BBBBIII16s", 3, 4, 64, 0xC0, 9000, 9000, 0, IPv6Address("2001:db8:bad::").packed)
    echo = struct.pack("!BBHHH", 128, 0, 0, 0xBEEF, 1)
    with captured(2) as frames:
        _send(1, rogue, "ff02::1")
        _send(1, struct.pack("!BBHI", 133, 0, 0, 0), "ff02::2")
        with _socket(1, socket.SOCK_DGRAM, 0) as udp:
            udp.sendto(b"\1\0\0\1", ("ff02::1:2", 547))
            udp.sendto(b"\7\0\0\1", ("ff02::1", 546))
        _send(1, echo, "ff02::1")
        await asyncio.sleep(0.5)
    foreign = [frame for frame in frames if frame[6:12] == _mac(1) and frame[12:14] == b"\x86\xdd"]
    assert any(frame[20] == 58 and frame[54] == 128 for frame in foreign), "the echo crosses"
    assert not any(frame[20] == 58 and frame[54] in (133, 134, 137) for frame in foreign)
    assert not any(frame[20] == 17 for frame in foreign), "DHCPv6"
    assert "2001:db8:bad" not in run("ip", "-6", "addr", "show", "dev", "eth0", namespace="md2")


async def test_nobody_over_there_becomes_the_gateway(pool: Pool) -> None:
    """A neighbour solicitation carries its sender's Ethernet address: one in the name of 2's router would redirect 2's
    devices."""
    await pool.join({1, 2})
    assert ping(2, address(2, "1"))
    run("ip", "addr", "add", f"{ROUTERS[2]}/64", "dev", "eth0", "nodad", namespace="md1")
    try:
        lure = struct.pack("!BBHI16s", 135, 0, 0, 0, IPv6Address(address(2)).packed) + b"\1\1" + _mac(1)
        _send(1, lure, "ff02::1:ff00:2", str(ROUTERS[2]))
        _send(1, _advertisement(1, str(ROUTERS[2])), "ff02::1")
        _send(1, _advertisement(1, address(2, "1")), "ff02::1")
        await asyncio.sleep(0.3)
        neighbours = run("ip", "-6", "neigh", "show", "dev", "eth0", namespace="md2")
        entry = next((line for line in neighbours.splitlines() if line.startswith(str(ROUTERS[2]))), "")
        assert _mac(1).hex(":") not in neighbours and lan.mac("c2", 1) in entry
        assert ping(2, address(1))
    finally:
        run("ip", "addr", "del", f"{ROUTERS[2]}/64", "dev", "eth0", namespace="md1")
        run("ip", "-6", "neigh", "flush", "dev", "lan1", namespace="pe1")  # the own LAN believed it, as with ARP


async def test_a_machine_that_moved_is_found_at_once(pool: Pool) -> None:
    """A machine at 1 keeps an address of 2's LAN for a while. 2's gateway learns its place from an unsolicited
    advertisement."""
    await pool.join({1, 2})
    moved = address(2, "9")
    run("ip", "addr", "add", f"{moved}/128", "dev", "eth0", "nodad", namespace="md1")
    try:
        _send(1, _advertisement(1, moved), "ff02::1", moved)
        await asyncio.to_thread(wait_for, "an entry", lambda: _mac(1).hex(":") in _neighbour(moved))
        assert ping(2, moved)
        text = run("ping", "-n", "-c", "1", "-W", "1", moved, namespace="pe2")
        assert "1 received" in text
    finally:
        run("ip", "addr", "del", f"{moved}/128", "dev", "eth0", namespace="md1")


def _neighbour(target: str) -> str:
    return run("ip", "-6", "neigh", "show", target, "dev", "lan1", namespace="pe2")


async def test_an_agent_restart_loses_no_ping_and_no_router(pool: Pool) -> None:
    await pool.join({1, 2})
    before = len(pool.stub.reports["c1"])
    with pinging("md1", address(2)) as finish, captured(1) as frames:
        pool.region.stop("agent1")
        pool.region.start_agent(1)
        await pool.stub.until(lambda: len(pool.stub.reports["c1"]) > before)
        await asyncio.sleep(1)
        sent, received = finish()
    assert sent == received > 50
    assert str(ROUTERS[1]) in routes(1)
    advertised = [frame for frame in frames if frame[20] == 58 and frame[54] == 134 and frame[12:14] == b"\x86\xdd"]
    assert advertised and all(frame[60:62] == (1800).to_bytes(2, "big") for frame in advertised), "never 0 seconds"


async def test_after_leaving_not_one_frame(pool: Pool) -> None:
    await pool.join({1, 2})
    assert ping(1, address(2))
    await pool.join({2, 3})
    with captured(1, "eth0", "pe") as sent, captured(2) as frames:
        assert not ping(1, address(2))
        assert not ping(2, address(1))
        _send(1, struct.pack("!BBHHH", 128, 0, 0, 0xBEEF, 1), "ff02::1")
        await asyncio.sleep(0.3)
    assert not any(frame[6:12] == _mac(1) for frame in frames)
    datagrams = [frame for frame in sent if frame[12:14] == b"\x08\0" and frame[23] == 17]
    assert not any(frame[36:38] == b"\x12\xb5" for frame in datagrams), "VXLAN"
    assert all(ping(a, address(b)) for a, b in ((3, 2), (2, 3)))


def _advertisement(n: int, target: str) -> bytes:
    """Return an unsolicited neighbour advertisement that overrides existing entries."""
    return struct.pack("!BBHI16s", 136, 0, 0, 0x20000000, IPv6Address(target).packed) + b"\2\1" + _mac(n)


def _mac(n: int) -> bytes:
    return bytes.fromhex(run("cat", "/sys/class/net/eth0/address", namespace=f"md{n}").strip().replace(":", ""))


def _socket(n: int, kind: int, protocol: int) -> socket.socket:
    """Return a socket in a device's namespace, bound to its interface."""

    def on_device(fresh: socket.socket) -> None:
        fresh.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")

    return inside(f"md{n}", on_device, lambda: socket.socket(socket.AF_INET6, kind, protocol))


def _send(n: int, message: bytes, target: str, source: str = "::") -> None:
    """Send an ICMPv6 message from a device; the kernel fills in the checksum."""
    with _socket(n, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as raw:
        raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        raw.bind((source, 0))
        raw.sendto(message, (target, 0))
