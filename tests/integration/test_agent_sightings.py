"""Sightings against real frames: `gate` is a cloudlet with `lan1`, an access port and a tunnel port; `near` is on its
LAN, `far` is behind the tunnel."""

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address

import pytest

from agents.sightings import Sightings
from agents.sightings.nflog import present
from agents.sightings.rules import BURST, QUIET, RATE, TABLE
from controller.wire.sightings import Sighting, SightingReport
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.unit.agents.desires import desired, dual, endpoint, remote

pytestmark = pytest.mark.lab

HERE, THERE = endpoint(1, **dual(1)), endpoint(2, **dual(2))
WANT = desired(HERE.model_copy(update={"remotes": [remote(THERE)]}))
MAC = "02:00:5e:00:00:07"


class Net:
    """The connected namespaces."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.near, self.far, self.loud = spaces
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run("ip link set lan1 up")
        for space, port in ((self.near, "md1-1"), (self.far, "pw1.2"), (self.loud, "md1-2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")


class Controller:
    """A stub that keeps the reports it receives."""

    def __init__(self) -> None:
        self.reports: list[SightingReport] = []

    @property
    def told(self) -> list[Sighting]:
        return [sighting for report in self.reports for sighting in report.sightings]

    async def sightings(self, report: SightingReport) -> None:
        self.reports.append(report)

    async def until(self, number: int, seconds: float = 4) -> list[Sighting]:
        async with asyncio.timeout(seconds):
            while len(self.told) < number:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.02)
        return self.told


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "near", "far", "loud") as spaces:
        yield Net(spaces)


@asynccontextmanager
async def watching(net: Net) -> AsyncIterator[tuple[Controller, Sightings]]:
    controller = Controller()
    with net.gate.entered():
        sightings = Sightings("c1", controller)
        task = asyncio.create_task(sightings.run())
        sightings.intend(WANT)
        try:
            async with asyncio.timeout(5):
                while not present(TABLE):  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            yield controller, sightings
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def frame(source: str, mac: str = MAC) -> bytes:
    """Return a broadcast UDP packet, cut to the length that the agent examines."""
    link = b"\xff" * 6 + bytes.fromhex(mac.replace(":", ""))
    if ":" in source:
        addresses = IPv6Address(source).packed + IPv6Address("2001:db8:1::3").packed
        return link + struct.pack("!HIHBB", 0x86DD, 0x6000_0000, 8, 17, 64) + addresses + bytes(8)
    addresses = IPv4Address(source).packed + IPv4Address("10.1.0.3").packed
    head = struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, 17, 0)
    return link + b"\x08\x00" + head + addresses + bytes(8)


def say(space: Namespace, *frames: bytes) -> None:
    with space.packets("eth0") as mouth:
        for one in frames:
            mouth.send(one)


@pytest.mark.smoke
async def test_who_speaks_from_elsewhere_is_told_once(net: Net) -> None:
    async with watching(net) as (controller, _):
        say(net.far, *[frame("10.2.0.2")] * 50, frame("2001:db8:2::2"))
        told = await controller.until(2)
        assert {(s.endpoint, s.address, s.how, s.mac, s.count) for s in told} == {
            ("e1", "10.2.0.2", "packet", MAC, 1),
            ("e1", "2001:db8:2::2", "packet", MAC, 1),
        }
        say(net.far, *[frame("10.2.0.2")] * 50)
        await asyncio.sleep(1.3)
        assert len(controller.told) == 2, f"a source is held back for {QUIET} s"


async def test_another_mac_with_the_same_address_is_seen(net: Net) -> None:
    async with watching(net) as (controller, _):
        say(net.far, frame("10.2.0.2"))
        await controller.until(1)
        say(net.near, frame("10.2.0.2", "02:00:5e:00:00:66"))
        assert [s.mac for s in await controller.until(2)] == [MAC, "02:00:5e:00:00:66"]


async def test_addresses_that_were_taken_along_are_seen(net: Net) -> None:
    """An address of this LAN's prefix comes out of the tunnel, and one of another LAN's prefix appears on this LAN."""
    async with watching(net) as (controller, _):
        say(net.far, frame("10.1.0.4"))
        say(net.near, frame("10.2.0.6"))
        assert {s.address for s in await controller.until(2)} == {"10.1.0.4", "10.2.0.6"}


async def test_what_says_nothing_is_not_told(net: Net) -> None:
    async with watching(net) as (controller, _):
        say(net.near, frame("10.1.0.2"), frame("192.0.2.1"), frame("0.0.0.0"), frame("fe80::1"))
        say(net.far, frame("10.3.0.2"), frame("0.0.0.0"), frame("169.254.1.1"), frame("10.2.0.2"))
        assert [s.address for s in await controller.until(1)] == ["10.2.0.2"]
        await asyncio.sleep(1.2)
        assert len(controller.told) == 1


async def test_a_flood_costs_nothing(net: Net) -> None:
    """The flood is as many packets as the machine can send in two seconds, each from another address and MAC."""
    async with watching(net) as (controller, _):
        with net.far.packets("eth0") as mouth:
            mouth.setblocking(True)
            mouth.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            frames = [frame(f"10.2.0.{n % 250 + 2}", f"02:00:5e:{n >> 8:02x}:{n & 255:02x}:01") for n in range(8192)]
            sent, began = 0, time.monotonic()

            def flood() -> None:
                nonlocal sent
                while time.monotonic() < began + 2:
                    for one in frames:
                        mouth.send(one)
                    sent += len(frames)

            busy = time.thread_time()
            await asyncio.to_thread(flood)
            busy = time.thread_time() - busy
        await asyncio.sleep(1.5)
        logged = sum(sighting.count for sighting in controller.told)
        assert sent > 20_000
        assert logged <= BURST + RATE * 6, f"{logged} of {sent}"
        assert len(controller.reports) <= 40
        assert busy < 0.5, f"{busy:.2f} s of CPU time in the agent"
        print(f"{sent / 2:,.0f} packets/s: {logged} logged, {len(controller.reports)} reports, {busy:.3f} s busy")


async def test_a_flood_at_one_port_hides_nobody_at_another(net: Net) -> None:
    """A device sends a single packet in the middle of the flood."""
    async with watching(net) as (controller, _):
        with net.loud.packets("eth0") as mouth:
            mouth.setblocking(True)

            def flood(number: int) -> None:
                for n in range(number):
                    mouth.send(frame(f"10.2.0.{n % 250 + 2}", f"02:00:5e:{n >> 8:02x}:{n & 255:02x}:02"))

            await asyncio.to_thread(flood, 20_000)
            flooding = asyncio.create_task(asyncio.to_thread(flood, 40_000))
            await asyncio.sleep(0.1)
            assert not flooding.done()
            say(net.near, frame("10.2.0.252", MAC))
            await flooding
        async with asyncio.timeout(10):
            while not any(one.mac == MAC for one in controller.told):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.02)
        assert len(controller.told) < 2 * BURST


async def test_rules_that_somebody_took_out_come_back(net: Net) -> None:
    async with watching(net) as (controller, sightings):
        net.gate.run(f"nft delete table bridge {TABLE}")
        sightings.intend(WANT)
        async with asyncio.timeout(5):
            while not present(TABLE):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.01)
        say(net.far, frame("10.2.0.2"))
        await controller.until(1)


async def test_a_cloudlet_without_lans_has_no_table(net: Net) -> None:
    async with watching(net) as (_, sightings):
        sightings.intend(desired())
        async with asyncio.timeout(5):
            while present(TABLE):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.01)
