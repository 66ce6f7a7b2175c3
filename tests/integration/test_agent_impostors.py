"""Attacks from a LAN's own ports and from the underlay: each succeeds once its rule is removed.

`gate` is a cloudlet: `lan1` with two access ports, to `bad` and to `victim`, and a tunnel port to `far`. `up0` leads to
the underlay, where `peer` shares a pool with it, and `stranger` does not.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from ipaddress import IPv4Address

import pytest

from agents.fence import TABLE, Fence, Underlay, ruleset
from agents.kernel.snapshot import VXLAN_PORT
from agents.nft import Nft
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.fence_frames import BPDU, WRAPPINGS, ethernet, icmp6, ip6, label, udp4, udp6
from tests.integration.frames_heard import arriving, drain, without

pytestmark = pytest.mark.lab

GATEWAY_MAC, GATEWAY, GATEWAY6, LINK_LOCAL = "02:57:00:00:00:01", "10.1.0.1", "2001:db8:1::1", "fe80::57:ff:fe00:1"
FENCE = Fence(
    "lan1", "pw1.*", "10.1.0.0/24", "2001:db8:1::/64", (GATEWAY6, LINK_LOCAL), GATEWAY_MAC, ("md1", "md2"), GATEWAY
)
RULES = ruleset([FENCE], Underlay("192.0.2.1", frozenset({("192.0.2.2", 4098)}), (range(49152, 49216),)))


def arp(name: str, sender: str) -> bytes:
    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + bytes.fromhex("02005e0000aa") + IPv4Address(sender).packed
    return ethernet(0x0806, head + bytes(6) + IPv4Address("10.1.0.2").packed + label(name))


def options(protocol: int, payload: bytes) -> bytes:
    return struct.pack("!BB6B", protocol, 0, 1, 4, 0, 0, 0, 0) + payload


def ra(name: str) -> bytes:
    return icmp6(name, 134, source="fe80::aa")


def from_gateway(name: str) -> bytes:
    frame = ethernet(0x88B5, label(name))
    return frame[:6] + bytes.fromhex(GATEWAY_MAC.replace(":", "")) + frame[12:]


ATTACKS = {
    "dhcp": {
        "offer": ethernet(0x0800, udp4("offer", "10.1.0.66", "255.255.255.255", (67, 68))),
        "offer-elsewhence": ethernet(0x0800, udp4("offer-elsewhence", "10.1.0.66", "255.255.255.255", (4000, 68))),
        "advertise": ethernet(0x86DD, udp6("advertise", 546)),
    },
    "router": {
        "ra": ethernet(0x86DD, ra("ra")),
        "ra-behind-options": ethernet(0x86DD, icmp6("ra-behind-options", 134, hop_by_hop=True)),
        "redirect": ethernet(0x86DD, icmp6("redirect", 137)),
    },
    "tagged": {"ra-in-vlan-0": ethernet(0x8100, struct.pack("!HH", 0, 0x86DD) + ra("ra-in-vlan-0"))},
    "hidden": {
        "rest-of-chain": ethernet(
            0x86DD, ip6("rest-of-chain", 44, struct.pack("!BBHI", 60, 0, 1 << 3, 9) + options(58, bytes(16)))
        )
    },
    "gateway": {
        "arp": arp("arp", GATEWAY),
        "its-address": ethernet(0x0800, udp4("its-address", GATEWAY, "10.1.0.255")),
        "its-address6": ethernet(0x86DD, icmp6("its-address6", 128, source=GATEWAY6)),
        "na": ethernet(0x86DD, icmp6("na", 136, about=LINK_LOCAL)),
        "its-mac": from_gateway("its-mac"),
    },
}
HARMLESS = {
    "discover": ethernet(0x0800, udp4("discover", "0.0.0.0", "255.255.255.255", (68, 67))),
    "solicit6": ethernet(0x86DD, udp6("solicit6", 547)),
    "rs": ethernet(0x86DD, icmp6("rs", 133)),
    "dad": ethernet(0x86DD, icmp6("dad", 135, source="::", about="2001:db8:1::2")),
    "who-is-the-gateway": ethernet(0x86DD, icmp6("who-is-the-gateway", 135, about=GATEWAY6)),
    "own-arp": arp("own-arp", "10.1.0.66"),
    "own": ethernet(0x0800, udp4("own", "10.1.0.66", "10.1.0.255")),
    "own6": ethernet(0x86DD, icmp6("own6", 128, source="2001:db8:1::66")),
}
FRAMES = HARMLESS | {name: frame for frames in ATTACKS.values() for name, frame in frames.items()}


class Net:
    """The connected namespaces."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.bad, self.victim, self.far, self.core, self.peer, self.stranger = spaces
        self.nft = Nft()
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run("ip link set lan1 up")
        for space, port in ((self.bad, "md1"), (self.victim, "md2"), (self.far, "pw1.2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")
        self.core.run("ip link add core type bridge")
        self.core.run("ip link set core up")
        for n, space in enumerate((self.gate, self.peer, self.stranger), 1):
            cable(self.core, f"u{n}", space, "up0")
            self.core.run(f"ip link set u{n} master core")
            space.run(f"ip addr add 192.0.2.{n}/24 dev up0")

    async def put(self, text: str) -> None:
        with self.gate.entered():
            await self.nft.apply(text)

    async def dropped(self) -> dict[str, int]:
        with self.gate.entered():
            return {f"{c.bridge}.{c.reason}": c.packets for c in await self.nft.counters(TABLE)}


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "bad", "victim", "far", "core", "peer", "stranger") as spaces:
        yield Net(spaces)


@pytest.mark.smoke
async def test_nobody_on_the_lan_is_a_server_or_a_router(net: Net) -> None:
    await net.put(ruleset([]))
    assert await arriving(net.bad, net.victim, FRAMES) == set(FRAMES)
    await net.put(RULES)
    assert await arriving(net.bad, net.victim, FRAMES) == set(HARMLESS)
    dropped = await net.dropped()
    for reason, frames in ATTACKS.items():
        assert dropped[f"lan1.{reason}-at"] == len(frames), reason
    for reason, frames in ATTACKS.items():
        await net.put(without(RULES, f"lan1.{reason}-at"))
        assert await arriving(net.bad, net.victim, FRAMES) == set(HARMLESS) | set(frames), reason


async def test_no_other_header_hides_an_impostor(net: Net) -> None:
    """The same holds for frames with the gateway's own address, which the guard of sources examines afterwards."""
    await net.put(RULES)
    for wrapping, wrapped in WRAPPINGS.items():
        frames = {name: wrapped(frame) for name, frame in FRAMES.items()}
        assert await arriving(net.bad, net.victim, frames) == set(), wrapping
    dropped = await net.dropped()
    assert dropped["lan1.tagged-at"] + dropped["lan1.wrapped-at"] == len(WRAPPINGS) * len(FRAMES)
    await net.put("".join(x for x in RULES.splitlines(keepends=True) if "tagged-at" not in x and "wrapped-at" not in x))
    for wrapping, wrapped in WRAPPINGS.items():
        frames = {name: wrapped(frame) for name, frame in FRAMES.items()}
        got = await arriving(net.bad, net.victim, frames)
        assert got >= set(HARMLESS) and got - set(HARMLESS), f"{wrapping}: without the rules attacks get through"


async def test_arp_of_another_hardware_type_is_arp(net: Net) -> None:
    """Linux accepts hardware type 6 (IEEE 802) as Ethernet too."""
    frame = arp("type-6", GATEWAY)
    frames = {"type-6": frame[:14] + b"\0\x06" + frame[16:]}
    await net.put(RULES)
    assert await arriving(net.bad, net.victim, frames) == set()


async def test_spanning_trees_stay_at_home(net: Net) -> None:
    """Switches at two ports of one LAN find their loop; their frames do not reach other LANs."""
    await net.put(RULES)
    frames = {"bpdu": BPDU + label("bpdu")}
    assert await arriving(net.bad, net.victim, frames) == {"bpdu"}
    assert await arriving(net.bad, net.far, frames) == set()
    assert await arriving(net.far, net.victim, frames) == set()


async def test_nothing_of_it_crosses_the_pool(net: Net) -> None:
    await net.put(RULES)
    assert await arriving(net.bad, net.far, FRAMES) == {"dad", "who-is-the-gateway", "own-arp", "own", "own6"}


class Vteps:
    """Two real VXLAN devices of `gate`: `pw1.2`'s VNI is for `peer`, and VNI 8195, of another LAN, is for another peer.
    `reaches` tells whether a VXLAN frame with that VNI comes out of its device."""

    def __init__(self, net: Net, underlay: str, peer: str) -> None:
        self._net, self.underlay, self.peer = net, underlay, peer

    async def reaches(self, sender: Namespace, vni: int, to: str | None = None) -> bool:
        name = f"inner-{vni}"
        frame = struct.pack("!II", 0x08000000, vni << 8) + ethernet(0x0806, label(name))
        family = socket.AF_INET6 if ":" in (to or self.underlay) else socket.AF_INET
        with sender.entered():
            mouth = socket.socket(family, socket.SOCK_DGRAM)
        with mouth, self._net.gate.packets(f"tun{vni}") as ear:
            mouth.sendto(frame, (to or self.underlay, VXLAN_PORT))
            heard, until = b"", time.monotonic() + 0.5
            while label(name) not in heard and time.monotonic() < until:
                await asyncio.sleep(0.01)
                heard += drain(ear)
            return label(name) in heard


@pytest.fixture(params=[("192.0.2.1", "192.0.2.2"), ("2001:db8:f::1", "2001:db8:f::2")], ids=["ipv4", "ipv6"])
def vteps(net: Net, request: pytest.FixtureRequest) -> Iterator[Vteps]:
    underlay, peer = request.param
    if ":" in underlay:
        for n, space in enumerate((net.gate, net.peer, net.stranger), 1):
            space.run("sysctl -qw net.ipv6.conf.up0.disable_ipv6=0 net.ipv6.conf.up0.accept_dad=0")
            space.run(f"ip addr replace 2001:db8:f::{n}/64 dev up0 nodad")
    for vni in (4098, 8195):
        zero = "udp6zerocsumrx" if ":" in underlay else ""
        net.gate.run(
            f"ip link add tun{vni} type vxlan id {vni} local {underlay} dstport {VXLAN_PORT} nolearning {zero}"
        )
        net.gate.run(f"ip link set tun{vni} up")
    yield Vteps(net, underlay, peer)
    for vni in (4098, 8195):
        net.gate.run(f"ip link del tun{vni}")


def underlay(vtep: str, *tunnels: tuple[str, int]) -> str:
    return ruleset([FENCE], Underlay(vtep, frozenset(tunnels)))


async def test_vxlan_comes_from_whom_a_pool_is_shared_with(net: Net, vteps: Vteps) -> None:
    """A host on the underlay injects a whole frame for the LAN; there is no IPsec."""
    rules = underlay(vteps.underlay, (vteps.peer, 4098))
    await net.put(rules)
    assert await vteps.reaches(net.peer, 4098)
    assert not await vteps.reaches(net.stranger, 4098)
    assert (await net.dropped())["vxlan.outside"] == 1
    await net.put(without(rules, "vxlan.outside"))
    assert not await vteps.reaches(net.stranger, 4098), "it has none of these tunnels either"
    await net.put(without(without(rules, "vxlan.outside"), "vxlan.other-vni"))
    assert await vteps.reaches(net.stranger, 4098), "without the rules it gets in"
    await net.put(underlay(vteps.underlay))
    assert not await vteps.reaches(net.peer, 4098), "who shares no pool any more is a stranger"


@pytest.mark.smoke
async def test_a_peer_has_no_way_into_the_tunnel_of_another_pair(net: Net, vteps: Vteps) -> None:
    """The kernel would accept the frame, as it chooses the VXLAN device by the VNI alone."""
    another = vteps.peer.removesuffix("2") + "9"
    rules = underlay(vteps.underlay, (vteps.peer, 4098), (another, 8195))
    await net.put(rules)
    assert await vteps.reaches(net.peer, 4098)
    assert not await vteps.reaches(net.peer, 8195)
    assert (await net.dropped())["vxlan.other-vni"] == 1 and (await net.dropped())["vxlan.outside"] == 0
    await net.put(without(rules, "vxlan.other-vni"))
    assert await vteps.reaches(net.peer, 8195), "without the rule it is on the other LAN"


async def test_vxlan_comes_to_no_other_address_of_the_host(net: Net, vteps: Vteps) -> None:
    """A device sends VXLAN to its gateway: the kernel accepts VXLAN at each of its addresses."""
    gateway, net_bits = ("2001:db8:1::1", 64) if ":" in vteps.underlay else ("10.1.0.1", 24)
    for space, device, last in ((net.gate, "lan1", "1"), (net.bad, "eth0", "66")):
        space.run(f"sysctl -qw net.ipv6.conf.{device}.disable_ipv6=0")
        space.run(f"ip addr replace {gateway.removesuffix('1')}{last}/{net_bits} dev {device} nodad")
    rules = underlay(vteps.underlay, (vteps.peer, 4098))
    await net.put("".join(line for line in rules.splitlines(keepends=True) if "vxlan.outside drop" not in line))
    try:
        assert await vteps.reaches(net.bad, 4098, gateway), "without the rule it gets in"
        await net.put(rules)
        assert not await vteps.reaches(net.bad, 4098, gateway)
        assert (await net.dropped())["vxlan.outside"] == 1
    finally:
        for space, device in ((net.gate, "lan1"), (net.bad, "eth0")):
            space.run(f"ip addr flush dev {device}")
            space.run(f"sysctl -qw net.ipv6.conf.{device}.disable_ipv6=1")


async def test_where_machines_arrive_is_for_whom_a_pool_is_shared_with(net: Net) -> None:
    """A hypervisor that waits for a machine accepts any sender, so the rules admit only peers. Connections that this
    host itself opened may use such a port."""

    def reaches(sender: Namespace, at: Namespace, address: str, port: int, source: int = 0) -> bool:
        with at.entered():
            waiting = socket.create_server((address, port))
        with sender.entered():
            link = socket.socket()
        with waiting, link:
            link.settimeout(1)
            link.bind(("", source))
            return link.connect_ex((address, port)) == 0

    async def tries(sender: Namespace, port: int) -> bool:
        return await asyncio.to_thread(reaches, sender, net.gate, "192.0.2.1", port)

    await net.put(RULES)
    for port in (49152, 49215):
        assert await tries(net.peer, port) and not await tries(net.stranger, port)
    assert await tries(net.stranger, 49216), "others are not Weft's"
    assert await asyncio.to_thread(reaches, net.gate, net.stranger, "192.0.2.3", 80, 49152), "an answer is no stranger"
    assert await asyncio.to_thread(reaches, net.gate, net.gate, "192.0.2.1", 49152), "nor is who is here"
    assert (await net.dropped())["moves.outside"] >= 2
    await net.put(without(RULES, "moves.outside"))
    assert await tries(net.stranger, 49152), "without the rule it gets in"
    await net.put(ruleset([FENCE], Underlay("192.0.2.1", frozenset(), (range(49152, 49216),))))
    assert not await tries(net.peer, 49152), "who shares no pool any more is a stranger"
