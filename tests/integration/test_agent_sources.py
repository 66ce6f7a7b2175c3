"""The guard of sources against real frames: a frame with another device's address passes only after its rule is
removed."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network

import pytest

from agents.nft import Nft
from agents.sources import TABLE, Leased
from agents.sources.lan import GuardedLan
from agents.sources.rules import ruleset
from controller.wire.delegations import Client
from tests.integration.agent_namespaces import namespaces
from tests.integration.fence_frames import ethernet, icmp6, udp4, udp6
from tests.integration.frames_heard import arriving
from tests.integration.sources_site import OTHER, OWN, PORTS, VICTIM, Net, arp, ip, ip6, na

pytestmark = pytest.mark.lab

ATTACKS = {
    # The victim's address, leased out of the agent's ranges: in `ranges` and in `bound`.
    "ip both": ip("ip both", "10.1.0.2"),
    "arp both": arp("arp both", "10.1.0.2"),
    "arp both, another's MAC within": arp("arp both, another's MAC within", "10.1.0.2", mac=VICTIM),
    "arp both, another's MAC outside": arp("arp both, another's MAC outside", "10.1.0.2", sent_by=VICTIM),
    "ip6 both": ip6("ip6 both", "2001:db8:1::2"),
    "na both": na("na both", "2001:db8:1::2"),
    # Another device's address, leased elsewhere: in `bound`.
    "ip bound": ip("ip bound", "10.1.0.100"),
    "arp bound": arp("arp bound", "10.1.0.100"),
    "arp bound, another's MAC within": arp("arp bound, another's MAC within", "10.1.0.100", mac=OTHER),
    "arp bound, another's MAC outside": arp("arp bound, another's MAC outside", "10.1.0.100", sent_by=OTHER),
    "ip6 bound": ip6("ip6 bound", "2001:db8:1::64"),
    "na bound": na("na bound", "2001:db8:1::64"),
    # An address without a lease.
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


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("gate", "bad", "victim", "far") as spaces:
        yield Net(spaces)


def lan() -> GuardedLan:
    clients = {2: Client(mac=VICTIM), 4: Client(mac=OWN), 100: Client(mac=OTHER)}
    made = GuardedLan(
        "lan1", IPv4Network("10.1.0.0/24"), IPv6Network("2001:db8:1::/64"), Leased(clients, ((2, 17), (18, 33)))
    )
    made.ports = PORTS["lan1"]
    for offset in clients:
        made.settle(offset)
    return made


@pytest.mark.smoke
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
        # Of the two rules on ARP, each stops the frames that the other passes.
        for attack, compared in (("within", "ether saddr . arp"), ("outside", "arp saddr ether . arp")):
            less = "".join(line for line in text.splitlines(keepends=True) if f"4 {compared} saddr ip" not in line)
            await nft.load(less)
            name = f"arp both, another's MAC {attack}"
            assert await arriving(net.bad, net.victim, {name: ATTACKS[name]}) == {name}, attack
        await nft.load(ruleset([]))


async def test_out_of_a_tunnel_all_of_it_comes(net: Net) -> None:
    """The cloudlet at the far end has already checked these frames, and a machine that moved sends from elsewhere."""
    with net.gate.entered():
        await Nft().load(ruleset([lan()]))
        assert await arriving(net.far, net.victim, FRAMES) == set(FRAMES)
