"""The fences against real frames: each frame that must not cross does cross once its rule is removed.

The shared member is `gate`: `lan1` has an access port and two tunnels (`pw1.2`, `pw1.3`, isolated as pseudowires are),
`lan2` is another LAN of the same cloudlet, `up0` leads out. `far2` and `far3` are devices of two other cloudlets.
"""

import asyncio
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.dhcp.v4 import DhcpServer, LanSettings
from agents.fence import TABLE, Fence, ruleset
from agents.nft import Elements, Nft, NftError
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.fence_frames import ALL, FENCED, PASSING, WRAPPINGS, ethernet, icmp6, label, udp4
from tests.integration.frames_heard import drain, without

pytestmark = pytest.mark.lab

RULES = ruleset([Fence("lan1", "pw1.*", "10.1.0.0/24"), Fence("lan2", "pw2.*", "10.9.0.0/24")])


@dataclass(frozen=True)
class Place:
    """A device in a namespace, at which frames are sent or seen."""

    space: Namespace
    device: str = "eth0"


class Net:
    """The connected namespaces."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.near, self.far2, self.far3, self.near2, self.out = spaces
        self.gate.run(
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0"
        )
        # The default, and the harder case: bridged frames pass the IP hooks too.
        self.gate.run("sysctl -qw net.bridge.bridge-nf-call-iptables=1")
        for lan, address in (("lan1", "10.1.0.1/24"), ("lan2", "10.9.0.1/24")):
            self.gate.run(f"ip link add {lan} type bridge")
            self.gate.run(f"ip addr add {address} dev {lan}")
            self.gate.run(f"ip link set {lan} up")
        wires: list[tuple[Namespace, str, str | None, str]] = [
            (self.near, "md1", "lan1", "10.1.0.2/24"),
            (self.far2, "pw1.2", "lan1", "10.2.0.2/24"),
            (self.far3, "pw1.3", "lan1", "10.3.0.2/24"),
            (self.near2, "md2", "lan2", "10.9.0.2/24"),
            (self.out, "up0", None, "192.0.2.2/24"),
        ]
        for space, port, bridge, address in wires:
            cable(self.gate, port, space, "eth0")
            space.run(f"ip addr add {address} dev eth0")
            if bridge:
                self.gate.run(f"ip link set {port} master {bridge}")
        for port in ("pw1.2", "pw1.3"):
            self.gate.run(f"bridge link set dev {port} isolated on")
        self.gate.run("ip addr add 192.0.2.1/24 dev up0")
        for remote in ("10.2.0.0/24", "10.3.0.0/24"):
            self.gate.run(f"ip route add {remote} dev lan1")
        self.near.run("ip route add default via 10.1.0.1")
        self.near2.run("ip route add default via 10.9.0.1")
        self.gateway = self.gate.mac("lan1")
        self.nft = Nft()

    async def fence(self, rules: str) -> None:
        with self.gate.entered():
            await self.nft.apply(rules)

    async def dropped(self) -> dict[str, int]:
        with self.gate.entered():
            return {f"{d.bridge}.{d.reason}": d.packets for d in await self.nft.counters(TABLE)}

    async def seen(self, rules: str, sender: Place, frames: dict[str, bytes], at: Place, expect: set[str]) -> set[str]:
        """Return the names of the frames that arrive under these rules. A frame carries its name. Waits long for the
        expected frames, and then shortly for any others."""
        await self.fence(rules)
        with at.space.packets(at.device) as ear, sender.space.packets(sender.device) as mouth:
            for frame in frames.values():
                mouth.send(frame)
            heard, names = b"", set[str]()
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline and not expect <= names:
                await asyncio.sleep(0.01)
                heard += drain(ear)
                names = {name for name in frames if label(name) in heard}
            await asyncio.sleep(0.15)
            heard += drain(ear)
        return {name for name in frames if label(name) in heard}


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "near", "far2", "far3", "near2", "out") as spaces:
        yield Net(spaces)


# --- What crosses a tunnel port, and what does not


WAYS = {
    "forwarded in": ("in", ("far2", "eth0"), ("near", "eth0")),
    "into the gateway": ("in", ("far2", "eth0"), ("gate", "lan1")),
    "forwarded out": ("out", ("near", "eth0"), ("far2", "eth0")),
    "out of the gateway": ("out", ("gate", "lan1"), ("far2", "eth0")),
}


@pytest.mark.smoke
@pytest.mark.parametrize("way", WAYS)
async def test_dhcp_and_nd_stay_at_home(net: Net, way: str) -> None:
    end, (sender, device), (receiver, ear) = WAYS[way]
    ends = Place(getattr(net, sender), device), ALL, Place(getattr(net, receiver), ear)
    everything = set(ALL)
    assert await net.seen(ruleset([]), *ends, everything) == everything, "without fences everything crosses"
    assert await net.seen(RULES, *ends, set(PASSING)) == set(PASSING)
    counted = await net.dropped()
    for reason, frames in FENCED.items():
        assert counted[f"lan1.{reason}-{end}"] >= len(frames)
        expected = set(PASSING) | set(frames)
        assert await net.seen(without(RULES, f"lan1.{reason}-{end}"), *ends, expected) == expected, reason


@pytest.mark.parametrize("way", ["forwarded in", "into the gateway", "out of the gateway"])
async def test_no_other_header_hides_what_a_frame_is(net: Net, way: str) -> None:
    """The fence treats a frame in the same way behind every header other than Ethernet II."""
    end, (sender, device), (receiver, ear) = WAYS[way]
    for wrapping, wrapped in WRAPPINGS.items():
        frames = {name: wrapped(frame) for name, frame in ALL.items()}
        ends = Place(getattr(net, sender), device), frames, Place(getattr(net, receiver), ear)
        both = "".join(
            line
            for line in RULES.splitlines(keepends=True)
            if f"lan1.tagged-{end} drop" not in line and f"lan1.wrapped-{end} drop" not in line
        )
        crossing = {*PASSING, "ra"}
        assert await net.seen(both, *ends, crossing) >= crossing, f"{wrapping}: without the rules it crosses"
        assert await net.seen(RULES, *ends, set()) == set(), wrapping
        counted = await net.dropped()
        assert counted[f"lan1.tagged-{end}"] + counted[f"lan1.wrapped-{end}"] >= len(frames), wrapping


# --- With IPv6 on the LAN, neighbours find each other as by ARP, and routers stay at home


LINK_LOCAL, GATEWAY6 = "fe80::ff:fe00:1", "2001:db8:1::1"
RULES6 = ruleset([Fence("lan1", "pw1.*", "10.1.0.0/24", "2001:db8:1::/64", (GATEWAY6, LINK_LOCAL))])
NS, NA = 135, 136
NEIGHBOURS = {
    "ns": ethernet(0x86DD, icmp6("ns", NS, about="2001:db8:1::2")),
    "ns-of-another-lan": ethernet(0x86DD, icmp6("ns-of-another-lan", NS, about="2001:db8:2::2")),
    "ns-about-the-gateway": ethernet(0x86DD, icmp6("ns-about-the-gateway", NS, about=GATEWAY6)),
    "dad": ethernet(0x86DD, icmp6("dad", NS, source="::", about="2001:db8:1::2")),
    "na": ethernet(0x86DD, icmp6("na", NA, about="2001:db8:1::2")),
    "na-behind-options": ethernet(0x86DD, icmp6("na-behind-options", NA, hop_by_hop=True, about="2001:db8:1::2")),
    "echo6": ethernet(0x86DD, icmp6("echo6", 128)),
}
ROUTERS = {
    **{
        name: ethernet(0x86DD, icmp6(name, kind, about="2001:db8:1::2"))
        for name, kind in (("rs", 133), ("ra", 134), ("redirect", 137))
    },
    "ra-behind-options": ethernet(0x86DD, icmp6("ra-behind-options", 134, hop_by_hop=True)),
    "ns-link-local": ethernet(0x86DD, icmp6("ns-link-local", NS, about="fe80::bb")),
    "na-link-local": ethernet(0x86DD, icmp6("na-link-local", NA, about="febf:ffff::1")),
    "dad-link-local": ethernet(0x86DD, icmp6("dad-link-local", NS, source="::", about=LINK_LOCAL)),
}
IMPOSTORS = {
    "ns-as-gateway": ethernet(0x86DD, icmp6("ns-as-gateway", NS, source=LINK_LOCAL, about="2001:db8:1::2")),
    "echo-as-gateway": ethernet(0x86DD, icmp6("echo-as-gateway", 128, source=GATEWAY6)),
    "na-of-gateway": ethernet(0x86DD, icmp6("na-of-gateway", NA, about=GATEWAY6)),
}


@pytest.mark.parametrize("way", WAYS)
async def test_neighbours_are_found_and_routers_are_not(net: Net, way: str) -> None:
    end, (sender, device), (receiver, ear) = WAYS[way]
    frames = NEIGHBOURS | ROUTERS | IMPOSTORS
    ends = Place(getattr(net, sender), device), frames, Place(getattr(net, receiver), ear)
    expected = set(NEIGHBOURS) if end == "in" else set(NEIGHBOURS | IMPOSTORS)
    assert await net.seen(RULES6, *ends, expected) == expected
    counted = await net.dropped()
    assert counted[f"lan1.nd-{end}"] >= len(ROUTERS)
    lines = RULES6.splitlines(keepends=True)
    open_ = "".join(line for line in lines if f"lan1.nd-{end} drop" not in line)
    assert await net.seen(open_, *ends, expected | set(ROUTERS)) == expected | set(ROUTERS)
    if end == "in":
        assert counted["lan1.gateway-in"] >= len(IMPOSTORS)
        open_ = "".join(line for line in lines if "lan1.gateway-in drop" not in line)
        expected |= set(IMPOSTORS)
        assert await net.seen(open_, *ends, expected) == expected


# --- Nobody routes through a shared member


TRANSIT = {
    "to the other cloudlet": ("10.2.0.2", "10.3.0.2", "far3"),
    "with a forged local source": ("10.1.0.2", "10.3.0.2", "far3"),
    "with the target's neighbour as source": ("10.3.0.9", "10.3.0.2", "far3"),
    "out of the cloudlet": ("10.2.0.2", "192.0.2.2", "out"),
    "into another LAN": ("10.2.0.2", "10.9.0.2", "near2"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("case", TRANSIT)
async def test_no_transit(net: Net, case: str) -> None:
    source, target, receiver = TRANSIT[case]
    frames = {"transit": ethernet(0x0800, udp4("transit", source, target), net.gateway)}
    ends = Place(net.far2), frames, Place(getattr(net, receiver))
    open_ = without(RULES, "lan1.transit").replace("counter name lan1.other-lan drop", "counter name lan1.other-lan")
    assert await net.seen(open_, *ends, {"transit"}) == {"transit"}, "without the rule it crosses"
    assert await net.seen(RULES, *ends, set()) == set()
    assert (await net.dropped())["lan1.transit"] == 1


async def test_a_tunnel_reaches_the_own_lan_through_the_gateway(net: Net) -> None:
    frames = {"own": ethernet(0x0800, udp4("own", "10.2.0.2", "10.1.0.2"), net.gateway)}
    assert await net.seen(RULES, Place(net.far2), frames, Place(net.near), {"own"}) == {"own"}


async def test_a_bridged_frame_is_not_taken_for_a_routed_one(net: Net) -> None:
    """A machine that moved here keeps an address of another LAN for a while."""
    frames = {"moved": ethernet(0x0800, udp4("moved", "10.2.0.2", "10.3.0.7"), net.near.mac("eth0"))}
    assert await net.seen(RULES, Place(net.far2), frames, Place(net.near), {"moved"}) == {"moved"}


async def test_the_lan_reaches_other_cloudlets_and_the_outside(net: Net) -> None:
    for target, receiver in (("10.3.0.2", net.far3), ("192.0.2.2", net.out)):
        frames = {"outward": ethernet(0x0800, udp4("outward", "10.1.0.2", target), net.gateway)}
        assert await net.seen(RULES, Place(net.near), frames, Place(receiver), {"outward"}) == {"outward"}


async def test_no_way_from_one_lan_into_another(net: Net) -> None:
    for target in ("10.9.0.2", "10.9.0.1"):
        await net.fence(
            without(RULES, "lan1.other-lan").replace("counter name lan2.other-lan drop", "counter name lan2.other-lan")
        )
        assert _pings(net.near, target), "without the rule it answers"
        await net.fence(RULES)
        assert not _pings(net.near, target)
        assert (await net.dropped())["lan1.other-lan"] == 1
    assert _pings(net.near, "10.1.0.1")
    assert _pings(net.near2, "10.9.0.1")


def _pings(space: Namespace, target: str) -> bool:
    return " 1 received" in space.run(f"ping -c 1 -W 0.5 {target}", check=False)


@pytest.mark.parametrize(("target", "reached"), [("192.0.2.1", False), ("10.9.0.1", False), ("10.1.0.1", True)])
async def test_a_tunnel_reaches_no_address_of_the_host_but_its_lans(net: Net, target: str, reached: bool) -> None:
    frame = ethernet(0x0800, udp4("host", "10.2.0.2", target), net.gateway)
    open_ = without(RULES, "lan1.host").replace("counter name lan1.other-lan drop", "counter name lan1.other-lan")
    for rules, expected in ((open_, True), (RULES, reached)):
        await net.fence(rules)
        with net.gate.entered():
            service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with service, net.far2.packets("eth0") as mouth:
            service.bind(("0.0.0.0", 5555))
            service.settimeout(0.3)
            mouth.send(frame)
            assert _receives(service) is expected


def _receives(service: socket.socket) -> bool:
    try:
        return service.recv(100) == label("host")
    except TimeoutError:
        return False


# --- A real DHCP client behind a tunnel


class Plan:
    """A plan that gives 10.1.0.6 to every client."""

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        return LeaseGrant(
            address="10.1.0.6", prefix_length=24, gateway="10.1.0.1", kind="md", device=request.mac, seconds=600
        )

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        return await self.grant(request)

    async def release(self, release: LeaseRelease) -> None:
        raise AssertionError(release)

    async def decline(self, release: LeaseRelease) -> None:
        raise AssertionError(release)


async def test_a_dhcp_client_behind_a_tunnel_gets_nothing(net: Net, tmp_path: Path) -> None:
    server = DhcpServer("ada", "lan1", LanSettings.of("10.1.0.1", "10.1.0.0/24", 1450), Plan())
    with net.gate.entered():
        await server.start()
    try:
        await net.fence(RULES)
        assert not await _udhcpc(net.far2)
        assert await _udhcpc(net.near), "at home it gets an address"
        both = re.sub(r"\n[^\n]*counter name lan1\.dhcp-(in|out) drop", "", RULES)
        await net.fence(both)
        assert await _udhcpc(net.far2), "without the rules it gets one through the tunnel"
    finally:
        await server.stop()


async def _udhcpc(space: Namespace) -> bool:
    argv = ["ip", "netns", "exec", space.name, "busybox", "udhcpc", "-i", "eth0", "-n", "-q", "-t", "2", "-T", "1"]
    process = await asyncio.create_subprocess_exec(
        *argv, "-s", "/bin/true", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, said = await process.communicate()
    return b"lease of 10.1.0.6 obtained" in said


# --- The door to nft


async def test_unchanged_rules_start_no_process_and_keep_the_counters(net: Net) -> None:
    await net.fence(without(RULES, "lan1.transit"))
    with net.gate.entered():
        assert await net.nft.apply(RULES) is True
        assert await net.nft.apply(RULES) is False
        net.gate.run("nft flush table inet weft")
        assert await net.nft.apply(RULES) is True, "rules that somebody took out come back"


@pytest.mark.smoke
async def test_elements_come_and_go_beside_the_fences(net: Net) -> None:
    """The elements are in a set of another table; the fences stay as they are, and are not loaded again."""
    await net.fence(RULES)
    before = await net.dropped()
    with net.gate.entered():
        await net.nft.load("add table bridge beside\nadd set bridge beside held { type ether_addr . ipv4_addr; }\n")
        one, two = "02:00:5e:00:00:01 . 10.1.0.2", "02:00:5e:00:00:02 . 10.1.0.4"
        await net.nft.elements([Elements("beside", "held", add=(one, two))])
        await net.nft.elements([Elements("beside", "held", add=(one,), remove=(two, "02:00:5e:00:00:03 . 10.1.0.6"))])
        listed = net.gate.run("nft list set bridge beside held")
        assert one in listed and "10.1.0.4" not in listed and "10.1.0.6" not in listed
        assert not await net.nft.apply(RULES) and await net.dropped() == before
        seen = net.nft.strange()
        net.gate.run("nft delete table bridge beside")
        with pytest.raises(NftError):
            await net.nft.elements([Elements("beside", "held", add=(one,))])
        assert net.nft.strange() > seen, "somebody else changed something"
        assert await net.nft.apply(RULES), "so the fences are put in again"


async def test_fences_that_are_gone_leave_nothing(net: Net) -> None:
    await net.fence(RULES)
    with net.gate.entered():
        await net.nft.apply(ruleset([]))
        assert await net.nft.counters(TABLE) == []
    assert "weft" not in net.gate.run("nft list ruleset")


async def test_a_refusal_says_what_and_changes_nothing(net: Net) -> None:
    await net.fence(RULES)
    before = net.gate.run("nft list ruleset")
    with net.gate.entered(), pytest.raises(NftError, match=r"(?s)nft refused the rules: .*fnord"):
        await net.nft.apply(RULES + "fnord\n")
    assert net.gate.run("nft list ruleset") == before
