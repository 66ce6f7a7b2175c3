"""The fences against real frames: each thing that must not cross is shown to cross once its rule is taken out.

The shared member is `gate`: `lan1` has an access port and two tunnels (`pw1.2`, `pw1.3`, isolated as pseudowires are),
`lan2` is another LAN of the same cloudlet, `up0` leads out. `far2` and `far3` are devices of two other cloudlets.
"""

import asyncio
import re
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from agents.dhcp import DhcpServer
from agents.fence import Fence, Nft, NftError, ruleset
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from tests.integration.agent_namespaces import Namespace, cable, namespaces

pytestmark = pytest.mark.lab

RULES = ruleset([Fence("lan1", "pw1.*", "10.1.0.0/24"), Fence("lan2", "pw2.*", "10.9.0.0/24")])
EVERYBODY = b"\xff" * 6


@dataclass(frozen=True)
class Place:
    """A device in a namespace, where frames are sent or seen."""

    space: Namespace
    device: str = "eth0"


class Net:
    """The namespaces, wired up."""

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
            return {f"{d.bridge}.{d.reason}": d.packets for d in await self.nft.counters()}

    async def seen(self, rules: str, sender: Place, frames: dict[str, bytes], at: Place, expect: set[str]) -> set[str]:
        """The names of those frames that arrive, under these rules. A frame carries its name. Waits long for what is
        expected, and then shortly for what is not."""
        await self.fence(rules)
        with at.space.packets(at.device) as ear, sender.space.packets(sender.device) as mouth:
            for frame in frames.values():
                mouth.send(frame)
            heard, names = b"", set[str]()
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline and not expect <= names:
                await asyncio.sleep(0.01)
                heard += _drain(ear)
                names = {name for name in frames if _label(name) in heard}
            await asyncio.sleep(0.15)
            heard += _drain(ear)
        return {name for name in frames if _label(name) in heard}


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "near", "far2", "far3", "near2", "out") as spaces:
        yield Net(spaces)


def without(counter: str) -> str:
    """The rules less those that count into `counter`."""
    lines = RULES.splitlines(keepends=True)
    kept = [line for line in lines if f"counter name {counter} drop" not in line]
    assert len(kept) < len(lines), f"no rule counts into {counter}"
    return "".join(kept)


# --- What crosses a tunnel port, and what does not


def _label(name: str) -> bytes:
    return f"<{name}>".encode()


def _drain(ear: socket.socket) -> bytes:
    heard = b""
    while True:
        try:
            data, (_, _, kind, *_) = ear.recvfrom(4096)
        except BlockingIOError:
            return heard
        if kind != socket.PACKET_OUTGOING:
            heard += data


def _ethernet(kind: int, payload: bytes, to: bytes = EVERYBODY) -> bytes:
    return to + bytes.fromhex("02005e0000aa") + struct.pack("!H", kind) + payload


def _sum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def _udp4(name: str, source: str, target: str, ports: tuple[int, int] = (4000, 5555)) -> bytes:
    udp = struct.pack("!HHHH", *ports, 8 + len(_label(name)), 0) + _label(name)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    addresses = IPv4Address(source).packed + IPv4Address(target).packed
    return head[:10] + struct.pack("!H", _sum(head + addresses)) + addresses + udp


def _ip6(name: str, next_header: int, payload: bytes, hop_by_hop: bool = False) -> bytes:
    if hop_by_hop:
        payload, next_header = bytes((next_header, 0, 5, 2, 0, 0, 1, 0)) + payload, 0
    payload += _label(name)
    source, target = bytes.fromhex("fe80" + "00" * 13 + "01"), bytes.fromhex("ff02" + "00" * 13 + "01")
    return struct.pack("!IHBB", 0x60000000, len(payload), next_header, 255) + source + target + payload


def _icmp6(name: str, kind: int, hop_by_hop: bool = False) -> bytes:
    return _ip6(name, 58, struct.pack("!BBHI", kind, 0, 0, 0) + bytes(16), hop_by_hop)


def _udp6(name: str, port: int) -> bytes:
    return _ip6(name, 17, struct.pack("!HHHH", 4000, port, 8, 0))


def _arp(name: str) -> bytes:
    return (
        struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)
        + bytes(6)
        + bytes((10, 2, 0, 2))
        + bytes(6)
        + bytes((10, 1, 0, 9))
        + _label(name)
    )


PASSING = {
    "arp": _ethernet(0x0806, _arp("arp")),
    "ipv4": _ethernet(0x0800, _udp4("ipv4", "10.2.0.2", "10.1.0.255")),
    "echo6": _ethernet(0x86DD, _icmp6("echo6", 128)),
}
FENCED = {
    "dhcp": {
        "dhcp4-client": _ethernet(0x0800, _udp4("dhcp4-client", "0.0.0.0", "255.255.255.255", (68, 67))),
        "dhcp4-server": _ethernet(0x0800, _udp4("dhcp4-server", "10.2.0.1", "255.255.255.255", (67, 68))),
        "dhcp6-client": _ethernet(0x86DD, _udp6("dhcp6-client", 547)),
        "dhcp6-server": _ethernet(0x86DD, _udp6("dhcp6-server", 546)),
    },
    "nd": {
        **{
            name: _ethernet(0x86DD, _icmp6(name, kind))
            for name, kind in zip(("rs", "ra", "ns", "na", "redirect"), range(133, 138), strict=True)
        },
        "ra-behind-options": _ethernet(0x86DD, _icmp6("ra-behind-options", 134, hop_by_hop=True)),
    },
    "tagged": {
        "vlan": _ethernet(0x8100, struct.pack("!HH", 0, 0x0806) + _arp("vlan")),
        "vlan-twice": _ethernet(0x8100, struct.pack("!HHHH", 0, 0x8100, 0, 0x86DD) + _icmp6("vlan-twice", 134)),
    },
}
ALL = PASSING | {name: frame for frames in FENCED.values() for name, frame in frames.items()}
WAYS = {
    "forwarded in": ("in", ("far2", "eth0"), ("near", "eth0")),
    "into the gateway": ("in", ("far2", "eth0"), ("gate", "lan1")),
    "forwarded out": ("out", ("near", "eth0"), ("far2", "eth0")),
    "out of the gateway": ("out", ("gate", "lan1"), ("far2", "eth0")),
}


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
        assert await net.seen(without(f"lan1.{reason}-{end}"), *ends, expected) == expected, reason


# --- Nobody routes through a shared member


TRANSIT = {
    "to the other cloudlet": ("10.2.0.2", "10.3.0.2", "far3"),
    "with a forged local source": ("10.1.0.2", "10.3.0.2", "far3"),
    "with the target's neighbour as source": ("10.3.0.9", "10.3.0.2", "far3"),
    "out of the cloudlet": ("10.2.0.2", "192.0.2.2", "out"),
    "into another LAN": ("10.2.0.2", "10.9.0.2", "near2"),
}


@pytest.mark.parametrize("case", TRANSIT)
async def test_no_transit(net: Net, case: str) -> None:
    source, target, receiver = TRANSIT[case]
    frames = {"transit": _ethernet(0x0800, _udp4("transit", source, target), net.gateway)}
    ends = Place(net.far2), frames, Place(getattr(net, receiver))
    open_ = without("lan1.transit").replace("counter name lan1.other-lan drop", "counter name lan1.other-lan")
    assert await net.seen(open_, *ends, {"transit"}) == {"transit"}, "without the rule it crosses"
    assert await net.seen(RULES, *ends, set()) == set()
    assert (await net.dropped())["lan1.transit"] == 1


async def test_a_tunnel_reaches_the_own_lan_through_the_gateway(net: Net) -> None:
    frames = {"own": _ethernet(0x0800, _udp4("own", "10.2.0.2", "10.1.0.2"), net.gateway)}
    assert await net.seen(RULES, Place(net.far2), frames, Place(net.near), {"own"}) == {"own"}


async def test_a_bridged_frame_is_not_taken_for_a_routed_one(net: Net) -> None:
    """A machine that moved here keeps an address of another LAN for a while."""
    frames = {"moved": _ethernet(0x0800, _udp4("moved", "10.2.0.2", "10.3.0.7"), net.near.mac("eth0"))}
    assert await net.seen(RULES, Place(net.far2), frames, Place(net.near), {"moved"}) == {"moved"}


async def test_the_lan_reaches_other_cloudlets_and_the_outside(net: Net) -> None:
    for target, receiver in (("10.3.0.2", net.far3), ("192.0.2.2", net.out)):
        frames = {"outward": _ethernet(0x0800, _udp4("outward", "10.1.0.2", target), net.gateway)}
        assert await net.seen(RULES, Place(net.near), frames, Place(receiver), {"outward"}) == {"outward"}


async def test_no_way_from_one_lan_into_another(net: Net) -> None:
    for target in ("10.9.0.2", "10.9.0.1"):
        await net.fence(
            without("lan1.other-lan").replace("counter name lan2.other-lan drop", "counter name lan2.other-lan")
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
    frame = _ethernet(0x0800, _udp4("host", "10.2.0.2", target), net.gateway)
    open_ = without("lan1.host").replace("counter name lan1.other-lan drop", "counter name lan1.other-lan")
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
        return service.recv(100) == _label("host")
    except TimeoutError:
        return False


# --- A real DHCP client behind a tunnel


class Plan:
    """Gives everybody 10.1.0.6."""

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        return LeaseGrant(
            address="10.1.0.6", prefix_length=24, gateway="10.1.0.1", kind="md", device=request.mac, seconds=600
        )

    async def release(self, release: LeaseRelease) -> None:
        raise AssertionError(release)


async def test_a_dhcp_client_behind_a_tunnel_gets_nothing(net: Net, tmp_path: Path) -> None:
    server = DhcpServer("ada", "lan1", "10.1.0.1", "10.1.0.0/24", 1450, Plan())
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
    await net.fence(without("lan1.transit"))
    with net.gate.entered():
        assert await net.nft.apply(RULES) is True
        assert await net.nft.apply(RULES) is False
        net.gate.run("nft flush table inet weft")
        assert await net.nft.apply(RULES) is True, "rules that somebody took out come back"


async def test_fences_that_are_gone_leave_nothing(net: Net) -> None:
    await net.fence(RULES)
    with net.gate.entered():
        await net.nft.clear()
        await net.nft.clear()
        assert await net.nft.counters() == []
    assert "weft" not in net.gate.run("nft list ruleset")


async def test_a_refusal_says_what_and_changes_nothing(net: Net) -> None:
    await net.fence(RULES)
    before = net.gate.run("nft list ruleset")
    with net.gate.entered(), pytest.raises(NftError, match=r"(?s)nft refused the rules: .*fnord"):
        await net.nft.apply(RULES + "fnord\n")
    assert net.gate.run("nft list ruleset") == before
