"""A cloudlet whose access ports are guarded, and frames from these ports with arbitrary source addresses.

`gate` is the cloudlet: `lan1` with two access ports, to `bad` and to `victim`, and a tunnel port to `far`.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path

from agents.leases import Leases
from agents.nft import Elements, Nft
from agents.sources import Sources
from agents.storage.state import StateDirectory
from controller.wire.delegations import Block, Exchange, Exchanged
from controller.wire.leases import LeaseRequest
from tests.integration.agent_namespaces import Namespace, cable
from tests.integration.fence_frames import ethernet, icmp6, label, udp4
from tests.integration.frames_heard import arriving
from tests.unit.agents.desires import desired, dual, endpoint, remote

OWN, VICTIM, OTHER = "02:00:5e:00:00:aa", "02:00:5e:00:00:02", "02:00:5e:00:00:bb"
WANT = desired(endpoint(1, **dual(1)).model_copy(update={"remotes": [remote(endpoint(2, **dual(2)))]}))
PORTS = {"lan1": ("md1", "md2")}


def octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def said(frame: bytes, mac: str = OWN) -> bytes:
    """Return the frame with that MAC as its source."""
    return frame[:6] + octets(mac) + frame[12:]


def ip(name: str, source: str, mac: str = OWN) -> bytes:
    return said(ethernet(0x0800, udp4(name, source, "10.1.0.255")), mac)


def arp(name: str, sender: str, mac: str = OWN, sent_by: str = OWN) -> bytes:
    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + octets(mac) + IPv4Address(sender).packed
    return said(ethernet(0x0806, head + bytes(6) + IPv4Address("10.1.0.99").packed + label(name)), sent_by)


def ip6(name: str, source: str) -> bytes:
    return ethernet(0x86DD, icmp6(name, 128, source=source))


def na(name: str, about: str, source: str = "fe80::aa") -> bytes:
    return ethernet(0x86DD, icmp6(name, 136, source=source, about=about))


class Net:
    """The connected namespaces."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.bad, self.victim, self.far = spaces
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run("ip link set lan1 up")
        for space, port in ((self.bad, "md1"), (self.victim, "md2"), (self.far, "pw1.2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")

    async def passes(self, source: str, mac: str = OWN, to: str | None = None) -> bool:
        """Return whether an IPv4 and an ARP frame from that source reach the victim; checks that both do, or
        neither."""
        frames = {"an ip": ip("an ip", source, mac), "an arp": arp("an arp", source, mac, mac)}
        heard = await arriving(self.bad, self.victim, frames)
        assert heard in (set(), set(frames)), heard
        return bool(heard)


class Plan:
    """The controller's side: grants the requested blocks, and knows no devices."""

    def __init__(self) -> None:
        self.seconds, self.bound, self.given = 3600, True, 0

    async def exchange(self, exchange: Exchange) -> Exchanged:
        first, self.given = self.given, self.given + exchange.want
        return Exchanged(
            acked=max([exchange.acked, *(entry.version for entry in exchange.entries)]),
            lease_seconds=self.seconds,
            blocks=[Block(number=n, first=8 * n, pairs=8) for n in range(first, self.given)],
            bound=self.bound,
        )


class Counting(Nft):
    """An Nft that counts its runs for elements."""

    runs = 0

    async def elements(self, changes: Iterable[Elements]) -> None:
        self.runs += 1
        await super().elements(changes)


class Site:
    """An agent's guard and leases. They can be started again at any time over the same disk."""

    def __init__(self, here: Path, plan: Plan) -> None:
        self.nft, self.woken = Counting(), 0
        self.sources = Sources(self.nft, StateDirectory(here, "c1"), self._wake)
        self.leases = Leases(plan, here / "leases", self.sources)

    def _wake(self) -> None:
        self.woken += 1

    async def start(self) -> None:
        assert not await self.leases.follow(WANT)
        assert await self.sources.apply(WANT, PORTS) is None

    async def grant(self, mac: str, address: str | None = None, *, renewing: bool = False, who: str = "") -> str:
        request = LeaseRequest(endpoint="e1", mac=mac, client_id=who or None, address=address, renewing=renewing)
        return (await self.leases.grant(request)).address

    async def leased(self, mac: str) -> str:
        """Return a new lease; wait until the first exchange has brought the first blocks."""
        async with asyncio.timeout(5):
            while True:
                try:
                    return await self.grant(mac)
                except Exception:
                    await asyncio.sleep(0.05)

    async def stop(self) -> None:
        await self.leases.stop()
        await self.sources.stop()


@asynccontextmanager
async def running(net: Net, here: Path, plan: Plan) -> AsyncIterator[Site]:
    with net.gate.entered():
        site = Site(here, plan)
        try:
            await site.start()
            yield site
        finally:
            await site.stop()
