"""Sources against real frames: what a device says from somebody else's address gets through once its rule is out.

`gate` is a cloudlet: `lan1` with two access ports, to `bad` and to `victim`, and a tunnel port to `far`.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from pathlib import Path

import pytest

from agents.fence import Elements, Nft
from agents.leases import Leases
from agents.sightings import Sightings
from agents.sightings.nflog import present
from agents.sightings.rules import TABLE as SIGHTINGS
from agents.sources import TABLE, Leased, Sources
from agents.sources.lan import Lan
from agents.sources.rules import ruleset
from agents.state import State
from controller.wire.access import Dropped
from controller.wire.delegations import Block, Client, Exchange, Exchanged
from controller.wire.leases import LeaseRelease, LeaseRequest
from controller.wire.machines import Machine, client_id
from controller.wire.moves import Addresses, Order
from controller.wire.sightings import SightingReport
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.fence_frames import ethernet, icmp6, label, udp4, udp6
from tests.integration.frames_heard import arriving
from tests.unit.agents.desires import desired, dual, endpoint, remote

pytestmark = pytest.mark.lab

OWN, VICTIM, OTHER = "02:00:5e:00:00:aa", "02:00:5e:00:00:02", "02:00:5e:00:00:bb"
WANT = desired(endpoint(1, **dual(1)).model_copy(update={"remotes": [remote(endpoint(2, **dual(2)))]}))
PORTS = {"lan1": ("md1", "md2")}


def octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def said(frame: bytes, mac: str = OWN) -> bytes:
    """The frame as sent by that MAC."""
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


ATTACKS = {
    # The victim's, which it has leased out of what the agent gives out: in `ranges` and in `bound`.
    "ip both": ip("ip both", "10.1.0.2"),
    "arp both": arp("arp both", "10.1.0.2"),
    "arp both, another's MAC within": arp("arp both, another's MAC within", "10.1.0.2", mac=VICTIM),
    "arp both, another's MAC outside": arp("arp both, another's MAC outside", "10.1.0.2", sent_by=VICTIM),
    "ip6 both": ip6("ip6 both", "2001:db8:1::2"),
    "na both": na("na both", "2001:db8:1::2"),
    # Another's, which it has from elsewhere: `bound`.
    "ip bound": ip("ip bound", "10.1.0.100"),
    "arp bound": arp("arp bound", "10.1.0.100"),
    "arp bound, another's MAC within": arp("arp bound, another's MAC within", "10.1.0.100", mac=OTHER),
    "arp bound, another's MAC outside": arp("arp bound, another's MAC outside", "10.1.0.100", sent_by=OTHER),
    "ip6 bound": ip6("ip6 bound", "2001:db8:1::64"),
    "na bound": na("na bound", "2001:db8:1::64"),
    # Nobody's.
    "ip ranges, nobody's": ip("ip ranges, nobody's", "10.1.0.8"),
    "arp ranges, nobody's": arp("arp ranges, nobody's", "10.1.0.8"),
    "ip6 ranges, nobody's": ip6("ip6 ranges, nobody's", "2001:db8:1::8"),
    "na ranges, nobody's": na("na ranges, nobody's", "2001:db8:1::8"),
}
HARMLESS = {
    "own": ip("own", "10.1.0.4"),
    "own-arp": arp("own-arp", "10.1.0.4"),
    "own6": ip6("own6", "2001:db8:1::4"),
    "own-na": na("own-na", "2001:db8:1::4"),
    "probe": arp("probe", "0.0.0.0"),
    "dad": ethernet(0x86DD, icmp6("dad", 135, source="::", about="2001:db8:1::2")),
    "who-has": ethernet(0x86DD, icmp6("who-has", 135, about="2001:db8:1::2")),
    "discover": ethernet(0x0800, udp4("discover", "0.0.0.0", "255.255.255.255", (68, 67))),
    "late-renewal": ethernet(0x0800, udp4("late-renewal", "10.1.0.8", "255.255.255.255", (68, 67))),
    "solicit6": ethernet(0x86DD, udp6("solicit6", 547)),
    "not-given-out": ip("not-given-out", "10.1.0.200"),
    "not-given-out6": ip6("not-given-out6", "2001:db8:1::c8"),
    "of-another-lan": ip("of-another-lan", "10.2.0.4"),
    "of-another-lan-arp": arp("of-another-lan-arp", "10.2.0.4"),
    "of-another-lan6": ip6("of-another-lan6", "2001:db8:2::4"),
}
FRAMES = HARMLESS | ATTACKS
HEADS = {
    "ip": ("ip saddr",),
    "ip6": ("ip6 saddr",),
    "arp": ("arp saddr ip",),
    "na": ("icmpv6 type 136",),
}
RANGES, BOUND = ("ranges4", "ranges6", "near"), ("bound4", "bound6", "about")
SETS = {"ranges": RANGES, "bound": BOUND, "both": RANGES + BOUND}


class Net:
    """The namespaces, wired up."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.bad, self.victim, self.far = spaces
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run("ip link set lan1 up")
        for space, port in ((self.bad, "md1"), (self.victim, "md2"), (self.far, "pw1.2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")

    async def passes(self, source: str, mac: str = OWN, to: str | None = None) -> bool:
        """Whether an IPv4 and an ARP frame from there reach the victim; both do, or none."""
        frames = {"an ip": ip("an ip", source, mac), "an arp": arp("an arp", source, mac, mac)}
        heard = await arriving(self.bad, self.victim, frames)
        assert heard in (set(), set(frames)), heard
        return bool(heard)


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "bad", "victim", "far") as spaces:
        yield Net(spaces)


def lan() -> Lan:
    clients = {2: Client(mac=VICTIM), 4: Client(mac=OWN), 100: Client(mac=OTHER)}
    made = Lan("lan1", IPv4Network("10.1.0.0/24"), IPv6Network("2001:db8:1::/64"), Leased(clients, ((2, 17), (18, 33))))
    made.ports = PORTS["lan1"]
    for offset in clients:
        made.settle(offset)
    return made


async def test_nobody_speaks_from_an_address_that_is_not_its_own(net: Net) -> None:
    nft, text = Nft(), ruleset([lan()])
    with net.gate.entered():
        await nft.load(ruleset([]))
        assert await arriving(net.bad, net.victim, FRAMES) == set(FRAMES)
        await nft.load(text)
        assert await arriving(net.bad, net.victim, FRAMES) == set(HARMLESS)
        (counted,) = await nft.counters(TABLE)
        assert (counted.bridge, counted.reason, counted.packets) == ("lan1", "source-at", len(ATTACKS))
        for attack in ATTACKS:
            kind, which = attack.partition(",")[0].split()
            lines = text.splitlines(keepends=True)
            drops = [
                line
                for line in lines
                if line.strip().startswith(HEADS[kind]) and any(f"@lan1.{name} " in line for name in SETS[which])
            ]
            assert drops
            less = "".join(line for line in lines if line not in drops)
            assert await arriving(net.bad, net.victim, {attack: ATTACKS[attack]}) == set(), attack
            await nft.load(less)
            assert await arriving(net.bad, net.victim, {attack: ATTACKS[attack]}) == {attack}, attack
            await nft.load(text)
        # Of the two rules on ARP each stops what the other does not.
        for attack, compared in (("within", "ether saddr . arp"), ("outside", "arp saddr ether . arp")):
            less = "".join(line for line in text.splitlines(keepends=True) if f"4 {compared} saddr ip" not in line)
            await nft.load(less)
            name = f"arp both, another's MAC {attack}"
            assert await arriving(net.bad, net.victim, {name: ATTACKS[name]}) == {name}, attack
        await nft.load(ruleset([]))


async def test_out_of_a_tunnel_all_of_it_comes(net: Net) -> None:
    """Where it came from has looked at it, and a machine that moved speaks from elsewhere."""
    with net.gate.entered():
        await Nft().load(ruleset([lan()]))
        assert await arriving(net.far, net.victim, FRAMES) == set(FRAMES)


class Plan:
    """The controller's side: gives the blocks that are wanted, and knows nobody."""

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
    """Counts its runs for elements."""

    runs = 0

    async def elements(self, changes: Iterable[Elements]) -> None:
        self.runs += 1
        await super().elements(changes)


class Site:
    """An agent's part of it, started anew as often as you like, over the same disk."""

    def __init__(self, here: Path, plan: Plan) -> None:
        self.nft, self.woken = Counting(), 0
        self.sources = Sources(self.nft, State(here, "c1"), self._wake)
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
        """The first blocks come with the first exchange."""
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


async def test_a_lease_works_at_once_and_until_it_is_given_back(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        address = await site.leased(VICTIM)
        assert not await net.passes(address) and not await net.passes("10.1.0.8"), "it is another's, and nobody's"
        mine = await site.grant(OWN)
        assert mine != address and await net.passes(mine)
        before = site.nft.runs
        assert await site.grant(OWN, mine, renewing=True) == mine
        assert site.nft.runs == before, "a renewal is nothing new to the kernel"
        assert await net.passes(mine)
        await site.leases.release(LeaseRelease(endpoint="e1", address=mine, mac=OWN))
        assert not await net.passes(mine) and not await net.passes(address)
        assert await site.grant(OWN) == mine and await net.passes(mine)
        # The lease is its client's, who has come with another MAC.
        again = await site.grant(OTHER, who="0001")
        assert await site.grant(OWN, again, renewing=True, who="0001") == again
        assert await net.passes(again) and not await net.passes(again, mac=OTHER)


async def test_a_lease_that_ends_frees_nobody(net: Net, tmp_path: Path) -> None:
    plan = Plan()
    plan.seconds = 2
    async with running(net, tmp_path, plan) as site:
        address = await site.leased(OWN)
        assert await net.passes(address)
        async with asyncio.timeout(6):
            while await net.passes(address):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.1)
        assert await site.grant(OWN, address) == address and await net.passes(address)


async def test_many_at_once_are_few_runs_of_nft(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        await site.leased(VICTIM)
        before = site.nft.runs
        macs = [f"02:00:5e:00:01:{n:02x}" for n in range(12)]
        granted = await asyncio.gather(*(site.grant(mac) for mac in macs))
        listed = net.gate.run(f"nft list set bridge {TABLE} lan1.held4")
        assert all(f"{mac} . {address}" in listed for mac, address in zip(macs, granted, strict=True))
        assert site.nft.runs <= before + 5


async def test_an_agent_that_is_killed_leaves_the_sets_and_its_successor_has_the_same(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        theirs, mine = await site.leased(VICTIM), await site.grant(OWN)
    assert await net.passes(mine) and not await net.passes(theirs), "nobody runs, and the kernel goes on"
    async with running(net, tmp_path, Plan()) as site:
        assert await net.passes(mine) and not await net.passes(theirs) and not await net.passes("10.1.0.8")
        assert await site.grant(OWN, mine, renewing=True) == mine


async def test_what_somebody_took_out_comes_back(net: Net, tmp_path: Path) -> None:
    async with running(net, tmp_path, Plan()) as site:
        theirs, mine = await site.leased(VICTIM), await site.grant(OWN)
        net.gate.run(f"nft delete table bridge {TABLE}")
        assert await net.passes(theirs)
        third = await site.grant(OTHER)
        assert site.woken, "a lease that the kernel does not take makes the agent look"
        assert await site.sources.apply(WANT, PORTS) is None
        assert not await net.passes(theirs) and await net.passes(mine) and await net.passes(third, OTHER)
        await site.sources.apply(WANT, {"lan1": ("md2",)})
        assert await net.passes(theirs), "a port that is plugged in elsewhere is not looked at"
        await site.sources.apply(WANT, PORTS)
        assert not await net.passes(theirs) and await net.passes(mine), "and the sets are as they were"


async def test_a_policy_may_turn_it_off(net: Net, tmp_path: Path) -> None:
    plan = Plan()
    async with running(net, tmp_path, plan) as site:
        theirs = await site.leased(VICTIM)
        assert not await net.passes(theirs)
        plan.bound = False
        await site.grant(OTHER)
        async with asyncio.timeout(5):
            while not site.woken:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.05)
        await site.sources.apply(WANT, PORTS)
        assert await net.passes(theirs)


def order(act: str, old: str, new: str | None = None, move: str = "m") -> Order:
    machine = Machine(name="v1", driver="simulated", image="debian", memory=1 << 28, macs=(OWN, OTHER))
    addresses = Addresses(old=old, new=new)
    return Order.model_validate(
        {"move": move, "number": 1, "act": act, "machine": machine, "endpoint": "e1", "addresses": addresses}
    )


async def test_nothing_of_a_machine_that_moves_is_dropped(net: Net, tmp_path: Path) -> None:
    """Its old address is of another LAN; the new one is leased on one vNIC, and the kernel in it may answer for either
    on both. When it comes home with an address that it has kept, nobody has leased that."""
    plan = Plan()
    async with running(net, tmp_path, plan) as site:
        await site.leased(VICTIM)
        await site.sources.admit(order("prepare", "10.2.0.5", "10.1.0.5"))
        assert await net.passes("10.2.0.5", OWN) and await net.passes("10.2.0.5", OTHER)
        new = await site.grant(OTHER, who=client_id("v1"))
        for address in (new, "10.2.0.5"):
            for mac in (OWN, OTHER):
                assert await net.passes(address, mac), (address, mac)
        assert not await net.passes(new, VICTIM)
        await site.sources.admit(order("activate", "10.1.0.9", None, "home"))
        assert await net.passes("10.1.0.9", OWN) and await net.passes("10.1.0.9", OTHER)
        assert not await net.passes("10.1.0.9", VICTIM)
        await site.sources.dismiss(order("abort", "10.1.0.9", None, "another"))
    async with running(net, tmp_path, plan) as site:
        assert await net.passes("10.1.0.9", OWN), "an agent that was started anew knows it still"
        await site.sources.dismiss(order("discard", "10.1.0.9", None, "on"))
        assert not await net.passes("10.1.0.9", OWN)
        assert await net.passes(new, OTHER) and not await net.passes(new, OWN), "the lease is that vNIC's"


class Seen:
    """Takes sightings."""

    def __init__(self) -> None:
        self.addresses: set[str] = set()

    async def sightings(self, report: SightingReport) -> None:
        self.addresses |= {sighting.address for sighting in report.sightings}


async def test_a_roaming_device_is_seen_and_a_spoofed_one_is_not(net: Net, tmp_path: Path) -> None:
    seen = Seen()
    async with running(net, tmp_path, Plan()) as site:
        theirs = await site.leased(VICTIM)
        sightings = Sightings("c1", seen)
        task = asyncio.create_task(sightings.run())
        sightings.intend(WANT)
        try:
            async with asyncio.timeout(10):
                while not present(SIGHTINGS):  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.01)
                assert await net.passes("10.2.0.4") and not await net.passes(theirs)
                while "10.2.0.4" not in seen.addresses:  # noqa: ASYNC110 - there is no event for it
                    await asyncio.sleep(0.05)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert seen.addresses == {"10.2.0.4"}


def test_the_controller_is_told_of_it() -> None:
    assert Dropped(endpoint="e1", what="source", packets=1).what == "source"
