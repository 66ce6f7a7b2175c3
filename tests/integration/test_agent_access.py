"""Access rules against real packets, and from an agent's desired state to its kernel.

In the first part `gate` is a cloudlet's bridge with an access port to `near` (10.1.0.2) and a tunnel port to `far`
(10.2.0.2). Frames from `far` go through the rules. Each frame carries its name, and the tests look for it at `near`.
"""

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Iterator
from ipaddress import IPv4Address, IPv6Address

import pytest
import pytest_asyncio

from agents.access.rules import TABLE, Filtering, objects, ruleset, sweep
from agents.access.specification import read
from agents.nft import Nft
from controller.core.filters import told
from controller.core.flowspec import FlowSpec
from controller.wire.access import Access, Filter, Filtered
from tests.integration import agent_region as region_of
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.agent_region import Region, run
from tests.integration.fence_frames import checksum, ethernet, label
from tests.integration.frames_heard import arriving
from tests.integration.stub_controller import StubController, desired

reason = region_of.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.asyncio(loop_scope="module"),
]

DROP = struct.pack("!BBHf", 0x80, 6, 0, 0).hex()
SLOW = struct.pack("!BBHf", 0x80, 6, 0, 1000).hex()
MARK = struct.pack("!BB5xB", 0x80, 9, 46).hex()
TO, FROM, TO6, FROM6 = "10.1.0.0/24", "10.2.0.0/24", "2001:db8:1::/64", "2001:db8:2::/64"
WEB = FlowSpec(TO, FROM, ((6, 6),), ((0, 79), (81, 65535)), (DROP,))
WEB6 = FlowSpec(TO6, FROM6, ((6, 6),), ((0, 79), (81, 65535)), (DROP,))
DNS = FlowSpec(TO, FROM, ((17, 17),), ((53, 53),), (DROP,))
DNS6 = FlowSpec(TO6, FROM6, ((17, 17),), ((53, 53),), (DROP,))
PING = FlowSpec(TO, FROM, ((1, 1),), (), (DROP,))
PING6 = FlowSpec(TO6, FROM6, ((58, 58),), (), (DROP,))
ALL, ALL6 = FlowSpec(TO, FROM, (), (), (DROP,)), FlowSpec(TO6, FROM6, (), (), (DROP,))


def filters(*specs: FlowSpec) -> list[Filter]:
    return [told(spec) for spec in specs]


def lan(*specs: FlowSpec) -> Filtering:
    return Filtering("lan1", "pw1.*", tuple(read(one) for one in filters(*specs)))


# --- What rules do to packets


def ip4(
    name: str, protocol: int, payload: bytes, offset: int = 0, more: bool = False, source: str = "10.2.0.2"
) -> bytes:
    payload += label(name)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 7, (0x2000 if more else 0) | offset, 64, protocol, 0)
    addresses = IPv4Address(source).packed + IPv4Address("10.1.0.2").packed
    return ethernet(0x0800, head[:10] + struct.pack("!H", checksum(head + addresses)) + addresses + payload)


def ip6(name: str, protocol: int, payload: bytes, to: str = "2001:db8:1::2", hops: int = 64) -> bytes:
    payload += label(name)
    addresses = IPv6Address("2001:db8:2::2").packed + IPv6Address(to).packed
    return ethernet(0x86DD, struct.pack("!IHBB", 0x60000000, len(payload), protocol, hops) + addresses + payload)


def ports(to: int) -> bytes:
    """Return the beginning of a TCP or UDP header."""
    return struct.pack("!HHHH", 4000, to, 8, 0)


def fragment(protocol: int, payload: bytes, offset: int, more: bool) -> bytes:
    """Return a fragment header (RFC 8200, section 4.5) and the payload behind it; `offset` in units of eight octets."""
    return struct.pack("!BBHI", protocol, 0, offset << 3 | more, 9) + payload


def options(protocol: int, payload: bytes) -> bytes:
    """Return destination options without a meaning, in front of a payload."""
    return struct.pack("!BB6B", protocol, 0, 1, 4, 0, 0, 0, 0) + payload


def arp(name: str) -> bytes:
    ends = bytes(6) + IPv4Address("10.2.0.2").packed + bytes(6) + IPv4Address("10.1.0.2").packed
    return ethernet(0x0806, struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + ends + label(name))


def solicitation(name: str, hops: int = 255) -> bytes:
    return ip6(name, 58, struct.pack("!BBHI", 135, 0, 0, 0) + IPv6Address("2001:db8:1::2").packed, hops=hops)


class Net:
    """The connected namespaces."""

    def __init__(self, spaces: list[Namespace]) -> None:
        self.gate, self.near, self.far = spaces
        self.nft = Nft()
        self.gate.run("ip link add lan1 type bridge")
        self.gate.run("ip link set lan1 up")
        for space, port in ((self.near, "md1"), (self.far, "pw1.2")):
            cable(self.gate, port, space, "eth0")
            self.gate.run(f"ip link set {port} master lan1")

    async def put(self, *specs: FlowSpec, first: str = "") -> str:
        text = ruleset([lan(*specs)])
        with self.gate.entered():
            await self.nft.apply(text, first)
        return text

    async def counted(self) -> dict[str, int]:
        with self.gate.entered():
            return {c.reason: c.packets for c in await self.nft.counters(TABLE)}


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "near", "far") as spaces:
        yield Net(spaces)


FRAMES = {
    "web": ip4("web", 6, ports(80)),
    "ssh": ip4("ssh", 6, ports(22)),
    "dns": ip4("dns", 17, ports(53)),
    "ntp": ip4("ntp", 17, ports(123)),
    "ping": ip4("ping", 1, struct.pack("!BBHI", 8, 0, 0, 0)),
    "gre": ip4("gre", 47, bytes(8)),
    "elsewhere": ip4("elsewhere", 6, ports(22), source="10.3.0.2"),
    "first-of-ssh": ip4("first-of-ssh", 6, ports(22), more=True),
    "first-of-web": ip4("first-of-web", 6, ports(80), more=True),
    "later-of-tcp": ip4("later-of-tcp", 6, ports(22), offset=3),
    "later-of-icmp": ip4("later-of-icmp", 1, bytes(8), offset=3),
    "web6": ip6("web6", 6, ports(80)),
    "ssh6": ip6("ssh6", 6, ports(22)),
    "dns6": ip6("dns6", 17, ports(53)),
    "ssh6-behind-options": ip6("ssh6-behind-options", 60, options(6, ports(22))),
    "web6-behind-options": ip6("web6-behind-options", 60, options(6, ports(80))),
    "first-of-ssh6": ip6("first-of-ssh6", 44, fragment(6, ports(22), 0, True)),
    "first-of-web6": ip6("first-of-web6", 44, fragment(6, ports(80), 0, True)),
    "later-of-tcp6": ip6("later-of-tcp6", 44, fragment(6, ports(22), 3, False)),
    "ping6": ip6("ping6", 58, struct.pack("!BBHI", 128, 0, 0, 0)),
    "arp": arp("arp"),
    "solicitation": solicitation("solicitation"),
}
SPECS = (WEB, WEB6, DNS, DNS6, PING, PING6)
NOT_PASSING = {
    WEB: {"ssh", "first-of-ssh"},
    WEB6: {"ssh6", "ssh6-behind-options", "first-of-ssh6"},
    DNS: {"dns"},
    DNS6: {"dns6"},
    PING: {"ping", "later-of-icmp"},
    PING6: {"ping6"},
}


@pytest.mark.smoke
async def test_what_is_denied_does_not_pass_and_nothing_else(net: Net) -> None:
    await net.put()
    assert await arriving(net.far, net.near, FRAMES) == set(FRAMES), "without rules everything passes"
    await net.put(*SPECS)
    denied = set().union(*NOT_PASSING.values())
    assert await arriving(net.far, net.near, FRAMES) == set(FRAMES) - denied
    counted = await net.counted()
    for spec, names in NOT_PASSING.items():
        (one,) = lan(spec).specifications
        assert counted[one.name] == len(names), spec
    assert counted["unreadable"] == 0
    for spec, names in NOT_PASSING.items():
        await net.put(*(other for other in SPECS if other is not spec))
        assert await arriving(net.far, net.near, FRAMES) == set(FRAMES) - denied | names, f"without {spec}"


async def test_arp_and_discovery_pass_where_nothing_else_does(net: Net) -> None:
    await net.put(ALL, ALL6)
    assert await arriving(net.far, net.near, FRAMES) == {"arp", "solicitation", "elsewhere"}
    routed = {"routed": solicitation("routed", hops=64)}
    assert await arriving(net.far, net.near, routed) == set(), (
        "a packet that was routed is no discovery (RFC 4861, section 7.1.1)"
    )


HIDDEN = {
    "rest-of-chain": ip6("rest-of-chain", 44, fragment(60, options(6, ports(22)), 1, False)),
    "first-without-ports": ip6("first-without-ports", 44, fragment(6, b"", 0, True))[: 14 + 40 + 8],
}


async def test_who_hides_its_ports_does_not_pass(net: Net) -> None:
    """Rules with ports drop an IPv6 header chain that continues in the next fragment (RFC 7112). A rule without ports
    drops none of these frames, as ports do not matter to it."""
    hidden = {name: frame for name, frame in HIDDEN.items() if name != "first-without-ports"}
    with net.near.packets("eth0"):
        await net.put(FlowSpec(TO6, "2001:db8:9::/64", (), (), (DROP,)))
        assert await arriving(net.far, net.near, hidden) == set(hidden)
    text = await net.put(WEB6)
    assert await arriving(net.far, net.near, HIDDEN) == set()
    assert (await net.counted())["unreadable"] == len(HIDDEN)
    open_ = "".join(line for line in text.splitlines(keepends=True) if "unreadable drop" not in line)
    with net.gate.entered():
        await net.nft.apply(open_)
    assert await arriving(net.far, net.near, hidden) == set(hidden), "without the rule they pass"


async def test_a_limit_lets_its_share_pass(net: Net) -> None:
    limited = FlowSpec(TO, FROM, ((17, 17),), (), (SLOW,))
    await net.put(limited)
    flood = {f"p{i}": ip4(f"p{i}", 17, ports(9) + bytes(1000)) for i in range(200)}
    passed = await arriving(net.far, net.near, flood | {"web": FRAMES["web"]})
    assert "web" in passed
    # A burst of 64 KiB and a second's worth, 1000 bytes: frames have 1028 bytes and their name.
    assert 55 <= len(passed - {"web"}) <= 70
    counted, (one,) = await net.counted(), lan(limited).specifications
    assert counted[one.name] == 200 and counted[one.name + ".over"] == 200 - len(passed - {"web"})


async def test_a_mark_is_put_on(net: Net) -> None:
    await net.put(FlowSpec(TO, FROM, ((17, 17),), ((5004, 5005),), (MARK,)))
    with net.near.packets("eth0") as ear, net.far.packets("eth0") as mouth:
        for name, port in (("voice", 5004), ("other", 5006)):
            mouth.send(ip4(name, 17, ports(port)))
        await asyncio.sleep(0.3)
        heard: dict[str, bytes] = {}
        while True:
            try:
                frame = ear.recv(4096)
            except BlockingIOError:
                break
            heard |= {name: frame for name in ("voice", "other") if label(name) in frame}
    assert heard["voice"][15] >> 2 == 46 and heard["other"][15] == 0
    assert checksum(heard["voice"][14:34]) == 0, "the header's checksum goes with it"


async def test_counters_stay_where_rules_do(net: Net) -> None:
    """A changed set of rules is applied in one transaction; rules that are no longer wanted leave nothing behind."""
    await net.put(WEB, DNS)
    assert "ssh" not in await arriving(net.far, net.near, {"ssh": FRAMES["ssh"]})
    web, dns = (lan(spec).specifications[0].name for spec in (WEB, DNS))
    before = (await net.counted())[web]
    assert before >= 1
    gone = objects([lan(WEB, DNS)]) - objects([lan(WEB, PING)])
    await net.put(WEB, PING, first=sweep(gone))
    counted = await net.counted()
    assert counted[web] == before and dns not in counted
    with net.gate.entered():
        assert await net.nft.apply(ruleset([lan(WEB, PING)])) is False
        net.gate.run(f"nft flush table bridge {TABLE}")
        assert await net.nft.apply(ruleset([lan(WEB, PING)])) is True, "rules that somebody took out come back"
    assert (await net.counted())[web] == before
    await net.put()
    assert TABLE not in net.gate.run("nft list ruleset")


# --- From the controller to the kernel, and back


class Cloudlets:
    """Two sites in one pool, each with its agent, and the version that all tests share."""

    def __init__(self, region: Region, stub: StubController) -> None:
        self.region, self.stub, self.version = region, stub, 0

    async def want(self) -> None:
        self.version += 1
        await asyncio.to_thread(self.region.rules, self.version, {"e1", "e2"})
        for n, other in ((1, 2), (2, 1)):
            await self.stub.set(desired(n, {other}, self.version))

    async def filter(self, *specs: FlowSpec) -> None:
        """Filter the traffic to site 1 by these rules; return when its agent reports them."""
        lans = [Filtered(endpoint="e1", filters=filters(*specs))] if specs else []
        await self.stub.filter("c1", Access(version=self.version, lans=lans))
        wanted = {one.nlri for one in filters(*specs)}

        def told() -> bool:
            report = self.stub.counted.get("c1")
            return report is not None and {one.nlri for one in report.filters} == wanted

        await self.stub.until(told, 60)

    def counted(self, spec: FlowSpec) -> int:
        (wanted,) = filters(spec)
        return next((one.dropped for one in self.stub.counted["c1"].filters if one.nlri == wanted.nlri), -1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cloudlets(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cloudlets]:
    region = Region(tmp_path_factory.mktemp("region"), 2)
    stub = StubController()
    try:
        await stub.start()
        made = Cloudlets(region, stub)
        await made.want()
        for n in (1, 2):
            region.start_agent(n)
        for n, other in ((1, "e2"), (2, "e1")):
            await stub.wait(f"c{n}", lambda r, o=other: {t.remote for t in r.endpoints[0].tunnels} == {o}, 90)  # type: ignore[misc]
        yield made
    finally:
        await stub.stop()
        region.close()


async def pings(count: int = 3) -> int:
    """Return the number of pings from site 2's device that site 1's device answers."""
    words = ("ping", "-n", "-c", str(count), "-i", "0.05", "-W", "1", "10.1.0.2")
    text = await asyncio.to_thread(run, *words, namespace="md2", check=False)
    return int(text.partition(" received")[0].rpartition(" ")[2])


@pytest.mark.smoke
async def test_rules_come_count_and_go(cloudlets: Cloudlets) -> None:
    assert await pings() == 3
    await cloudlets.filter(PING, WEB)
    assert await pings() == 0
    await cloudlets.stub.until(lambda: cloudlets.counted(PING) == 3, 60)
    assert cloudlets.counted(WEB) == 0
    await cloudlets.filter(WEB)
    assert await pings() == 3
    await cloudlets.filter()
    assert TABLE not in await asyncio.to_thread(run, "nft", "list", "tables", namespace="pe1")


async def test_rules_stay_while_agent_and_controller_are_away(cloudlets: Cloudlets) -> None:
    """When the agent comes back without the controller, the rules and their counters are unchanged."""
    await cloudlets.filter(PING)
    assert await pings() == 0
    await asyncio.to_thread(cloudlets.region.stop, "agent1")
    await cloudlets.stub.stop()
    assert await pings() == 0
    listed = ("nft", "list", "table", "bridge", TABLE)
    before = await asyncio.to_thread(run, *listed, namespace="pe1")
    assert "packets 6 " in before
    await asyncio.to_thread(run, "nft", "flush", "table", "bridge", TABLE, namespace="pe1")
    assert await pings() == 3, "it is these rules"
    cloudlets.region.start_agent(1)
    deadline = time.monotonic() + 60
    while await asyncio.to_thread(run, *listed, namespace="pe1") != before:
        assert time.monotonic() < deadline, "the agent has not put them back"
        await asyncio.sleep(0.1)
    assert await pings() == 0
    cloudlets.stub = stub = StubController()
    await stub.start()
    for n, other in ((1, 2), (2, 1)):
        await stub.set(desired(n, {other}, cloudlets.version))
    await cloudlets.filter(PING)
    await stub.until(lambda: cloudlets.counted(PING) >= 9, 60)
    await cloudlets.filter()
    assert await pings() == 3
    await stub.stop()


async def test_what_leaves_is_filtered_until_it_has_left(cloudlets: Cloudlets) -> None:
    """The rules for the next desired state arrive before it: until it arrives the earlier rules apply too."""
    cloudlets.stub = stub = StubController()
    await stub.start()
    await cloudlets.want()
    await cloudlets.filter(PING)
    later = Access(version=cloudlets.version + 1, lans=[])
    await stub.filter("c1", later)
    path = cloudlets.region.directory / "state1" / "access.json"
    deadline = time.monotonic() + 60
    while Access.model_validate_json(path.read_text()) != later:
        assert time.monotonic() < deadline, "the agent has not heard of it"
        await asyncio.sleep(0.05)
    assert await pings() == 0
    await cloudlets.want()
    await stub.until(lambda: not stub.counted["c1"].filters, 60)
    assert await pings() == 3
    await stub.stop()
