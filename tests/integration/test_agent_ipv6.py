"""IPv6 on one LAN against real clients: ISC dhclient -6, and the kernel as a host that hears router advertisements."""

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from ipaddress import IPv6Address
from pathlib import Path

import pytest

from agents.dhcp import v4, v6
from agents.dhcp.dual_stack import DualStack
from agents.dhcp.lease_source import LeaseSource
from agents.dhcp.ra import Advertisement, Advertiser, AdvertiserError
from agents.dhcp.v4 import DhcpError, DhcpServer
from agents.dhcp.v6 import Dhcp6Server
from agents.dhcp.v6.message import Association, Lifetimes, Message, MessageType, Option, Status, decode, encode
from agents.kernel import lan as lans
from lab.patience import eventually
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for
from tests.integration.dhcp_clients import PHONE, PHONES_VM, TABLET, Client, Clients, Plan, starting
from tests.unit.agents.desires import endpoint

pytestmark = pytest.mark.lab

LAN = endpoint(
    1, prefix="10.1.0.0/24", gateway="10.1.0.1", prefix6="2001:db8:1::/64", gateway6="2001:db8:1::1", mtu=1400
)
MAC = lans.mac("c1", 1)
TOLD, TOLD6 = v4.LanSettings.of(LAN.gateway, LAN.prefix, 1400), v6.LanSettings6.of(MAC, LAN.prefix, "2001:db8:1::/64")
ADVERTISED = Advertisement.of(MAC, "2001:db8:1::/64", 1400)
SCRIPT = """#!/bin/sh
case $reason in
  EXPIRE6|RELEASE6|STOP6) ip -6 addr flush dev $interface scope global ;;
  BOUND6|RENEW6|REBIND6) ip -6 addr replace $new_ip6_address/128 dev $interface nodad ;;
esac
echo "$reason $new_ip6_address preferred $new_preferred_life valid $new_max_life" >> {log}
exit 0
"""
SCRIPT4 = """#!/bin/sh
[ "$reason" = BOUND ] && ip addr replace $new_ip_address/24 dev $interface
echo "$reason $new_ip_address" >> {log}
exit 0
"""


class Net:
    """A cloudlet's LAN, made as the agent makes it, with two machines on it."""

    def __init__(self, gate: Namespace, machines: list[Namespace]) -> None:
        self.gate, self.machines = gate, machines
        gate.run(f"ip link add lan1 address {MAC} type bridge mcast_snooping 0")
        gate.run("ip link set lan1 mtu 1400")
        settings = {**lans.sysctls(LAN), "net/ipv6/conf/all/forwarding": "1"}
        gate.run("sysctl -qw " + " ".join(f"{path.replace('/', '.')}={value}" for path, value in settings.items()))
        for address in lans.gateways(LAN).values():
            gate.run(f"ip addr add {address} dev lan1")
        gate.run("ip link set lan1 up")
        for number, machine in enumerate(machines):
            cable(gate, f"md{number}", machine, "eth0")
            gate.run(f"ip link set md{number} master lan1")

    def machine(self, number: int, mac: str) -> Namespace:
        """Return a host with this MAC that has received nothing yet: it has only its link-local address, which is
        usable."""
        machine = self.machines[number]
        machine.run("ip link set eth0 down")
        machine.run("sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1")
        machine.run("ip addr flush dev eth0")
        machine.run(f"ip link set eth0 address {mac} mtu 1500")
        machine.run("sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0 net.ipv6.conf.eth0.accept_dad=0")
        machine.run("sysctl -qw net.ipv6.conf.eth0.router_solicitation_delay=0")
        machine.run("ip link set eth0 up")
        wait_for("a link-local address", lambda: "fe80::" in machine.run("ip -6 addr show dev eth0"))
        return machine

    @asynccontextmanager
    async def served(self, leases: LeaseSource, four: LeaseSource | None = None) -> AsyncIterator[None]:
        servers: list[Dhcp6Server | DhcpServer | Advertiser] = [
            Dhcp6Server("ada", "lan1", TOLD6, leases),
            Advertiser("lan1", ADVERTISED),
        ]
        if four is not None:
            servers.append(DhcpServer("ada", "lan1", TOLD, four))
        with self.gate.entered():
            for server in servers:
                await server.start()
        try:
            yield
        finally:
            for server in servers:
                await server.stop()


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    with namespaces("lan6", "one6", "two6") as (gate, *machines):
        yield Net(gate, machines)


@pytest.fixture
def started() -> Iterator[Clients]:
    with starting() as clients:
        yield clients


@pytest.fixture
def clients(started: Clients) -> Callable[..., Client]:
    """Return a function that starts a dhclient; `family` is `-4` or `-6`. Clients of one `name` share leases and
    DUID."""

    def start(family: str, space: Namespace, name: str, *options: str) -> Client:
        leases = started.folder / f"{name}{family}.leases"

        def argv(script: Path) -> list[str]:
            paths = ["-lf", str(leases), "-pf", str(script.with_suffix(".pid")), "-cf", "/dev/null"]
            return ["dhclient", family, "-d", "-1", *paths, "-sf", str(script), *options, "eth0"]

        return started.start(space, SCRIPT if family == "-6" else SCRIPT4, argv)

    return start


@pytest.mark.smoke
async def test_dhclient_leases_renews_confirms_and_releases(net: Net, clients: Callable[..., Client]) -> None:
    plan = Plan(seconds=12)
    async with net.served(plan):
        phone = net.machine(0, PHONE)
        client = clients("-6", phone, "phone")
        assert await client.news("BOUND6") == "BOUND6 2001:db8:1::2 preferred 12 valid 12"
        assert {(asked.mac, asked.client_id) for asked in plan.asked} == {(PHONE, None)}, "by MAC, not by DUID"
        assert plan.asked[-1].address == "10.1.0.2"
        assert " 1 received" in phone.run("ping -c 1 -W 1 -I 2001:db8:1::2 2001:db8:1::1")
        assert (await client.news("RENEW6")).startswith("RENEW6 2001:db8:1::2 "), "at T1"
        client.close()
        again = clients("-6", phone, "phone")
        assert (await again.news("REBIND6", "BOUND6")).split()[1] == "2001:db8:1::2", "confirmed"
        again.close()
        gone = clients("-6", phone, "phone", "-r")
        await eventually(lambda: bool(plan.released), "released")
        assert (plan.released[0].address, plan.released[0].mac) == ("10.1.0.2", PHONE)
        await gone.end()


@pytest.mark.smoke
async def test_both_families_give_one_pair(net: Net, clients: Callable[..., Client]) -> None:
    plan = Plan()
    plan.devices = ["somebody"]
    families = DualStack(plan)
    async with net.served(families.of(6), families.of(4)):
        phone, machine = net.machine(0, PHONE), net.machine(1, PHONES_VM)
        assert await clients("-6", machine, "vm").news("BOUND6") == "BOUND6 2001:db8:1::5 preferred 600 valid 600"
        assert await clients("-4", phone, "phone").news("BOUND") == "BOUND 10.1.0.4"
        assert await clients("-6", phone, "phone").news("BOUND6") == "BOUND6 2001:db8:1::4 preferred 600 valid 600"
        assert await clients("-4", machine, "vm").news("BOUND") == "BOUND 10.1.0.5"
        clients("-6", phone, "phone", "-r")
        await asyncio.sleep(0.5)
        assert not plan.released, "IPv4 still uses the lease"
        clients("-4", phone, "phone", "-r")
        await eventually(lambda: bool(plan.released), "released")


async def test_the_kernel_takes_the_router_and_makes_no_address_up(net: Net) -> None:
    async with net.served(Plan()):
        phone = net.machine(0, PHONE)
        route = f"default via {lans.link_local(MAC)} proto ra"
        await eventually(lambda: route in phone.run("ip -6 route show dev eth0"), "a router")
        routes = phone.run("ip -6 route show dev eth0")
        assert "2001:db8:1::/64 proto kernel" in routes, "on link"
        assert "mtu 1400" in routes
        assert "2001:" not in phone.run("ip -6 addr show dev eth0"), "no address by itself"
        phone.run("ip -6 addr add 2001:db8:1::2/128 dev eth0")
        assert " 1 received" in phone.run("ping -c 1 -W 1 -M do -s 1352 2001:db8:1::1"), "1400 bytes"


# --- A client of our own, for messages that the others do not send


class Talker:
    """A machine that sends messages and whole packets, and receives the answers."""

    def __init__(self, machine: Namespace, mac: str, identity: bytes = b"\0\4" + bytes(16)) -> None:
        self.machine, self.identity = machine, identity
        with machine.entered():
            self._socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
        self._socket.bind(("::", 546))
        self._socket.setblocking(False)

    def say(self, kind: MessageType, *associations: Association, to: str = "ff02::1:2", server: bool = False) -> None:
        duid = SERVER if server else None
        self.send(encode(Message(kind, 42, self.identity, duid, associations)), to)

    def send(self, data: bytes, to: str = "ff02::1:2") -> None:
        self._socket.sendto(data, (to, 547))

    async def hear(self, seconds: float = 2) -> Message | None:
        loop = asyncio.get_running_loop()
        try:
            return decode(await asyncio.wait_for(loop.sock_recv(self._socket, 2000), seconds))
        except TimeoutError:
            return None

    def close(self) -> None:
        self._socket.close()


SERVER = b"\0\3\0\1" + bytes.fromhex(MAC.replace(":", ""))


def wish(*addresses: str, number: int = 7) -> Association:
    return Association(Option.IA_NA, number, addresses=tuple(Lifetimes(IPv6Address(a)) for a in addresses))


@pytest.fixture
def talkers(net: Net) -> Iterator[tuple[Talker, Talker]]:
    one, two = (Talker(net.machine(n, mac), mac) for n, mac in enumerate((PHONE, TABLET)))
    yield one, two
    one.close()
    two.close()


async def test_a_client_may_ask_from_any_port_and_is_answered_at_its_own(
    net: Net, talkers: tuple[Talker, Talker]
) -> None:
    async with net.served(Plan()):
        with net.machines[0].entered():
            other = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        with other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
            other.sendto(
                encode(Message(MessageType.SOLICIT, 42, talkers[0].identity, None, (wish(),))), ("ff02::1:2", 547)
            )
        reply = await talkers[0].hear()
        assert reply and reply.kind is MessageType.ADVERTISE


async def test_a_prefix_alone_leases_nothing(net: Net, talkers: tuple[Talker, Talker]) -> None:
    plan = Plan()
    async with net.served(plan):
        rapid = Message(
            MessageType.SOLICIT,
            42,
            talkers[0].identity,
            None,
            (Association(Option.IA_PD, 1),),
            None,
            ((Option.RAPID_COMMIT, b""),),
        )
        talkers[0].send(encode(rapid))
        reply = await talkers[0].hear()
        assert reply and reply.kind is MessageType.ADVERTISE
        assert reply.associations[0].outcome and reply.associations[0].outcome.status is Status.NO_PREFIXES
        assert plan.asked == []


async def test_a_borrowed_duid_takes_nobodys_address(net: Net, talkers: tuple[Talker, Talker]) -> None:
    phone, thief = talkers
    assert phone.identity == thief.identity
    async with net.served(Plan()):
        for talker, expected in ((phone, "2001:db8:1::2"), (thief, "2001:db8:1::4")):
            talker.say(MessageType.REQUEST, wish("2001:db8:1::2"), server=True)
            reply = await talker.hear()
            assert reply and reply.kind is MessageType.REPLY
            assert [str(one.address) for one in reply.associations[0].addresses] == [expected]


async def test_the_server_is_the_same_after_a_restart(net: Net, talkers: tuple[Talker, Talker]) -> None:
    for _ in range(2):
        async with net.served(Plan()):
            talkers[0].say(MessageType.INFORMATION_REQUEST)
            reply = await talkers[0].hear()
            assert reply and (reply.kind, reply.server, reply.associations) == (MessageType.REPLY, SERVER, ())


async def test_what_comes_to_one_address_is_sent_to_all(net: Net, talkers: tuple[Talker, Talker]) -> None:
    async with net.served(Plan()):
        talkers[0].say(MessageType.RENEW, wish("2001:db8:1::2"), to=f"{lans.link_local(MAC)}", server=True)
        reply = await talkers[0].hear()
        assert reply and reply.outcome and reply.outcome.status is Status.USE_MULTICAST


async def test_who_walked_in_is_told_at_once(net: Net, talkers: tuple[Talker, Talker]) -> None:
    async with net.served(Plan()):
        talkers[0].say(MessageType.CONFIRM, wish("2001:db8:2::2"))
        reply = await talkers[0].hear()
        assert reply and reply.outcome and reply.outcome.status is Status.NOT_ON_LINK
        talkers[0].say(MessageType.REBIND, wish("2001:db8:2::2"))
        reply = await talkers[0].hear()
        assert reply
        found = {str(one.address): one.valid for one in reply.associations[0].addresses}
        assert found == {"2001:db8:1::2": 600, "2001:db8:2::2": 0}, "and has its new address with the same answer"


async def test_a_full_plan_says_so_and_one_out_of_reach_says_nothing(net: Net, talkers: tuple[Talker, Talker]) -> None:
    plan = Plan(room=0)
    async with net.served(plan):
        for kind, server, status in (
            (MessageType.SOLICIT, False, Status.NO_ADDRESSES),
            (MessageType.REQUEST, True, Status.NO_ADDRESSES),
            (MessageType.RENEW, True, Status.NO_BINDING),
        ):
            talkers[0].say(kind, wish(), server=server)
            reply = await talkers[0].hear()
            assert reply and reply.associations[0].outcome
            assert reply.associations[0].outcome.status is status
            assert reply.associations[0].outcome.text == "no pair is left in the plan of ada"
        plan.room, plan.reachable = 1, False
        talkers[0].say(MessageType.SOLICIT, wish())
        assert await talkers[0].hear(0.3) is None
        plan.reachable = True
        talkers[0].say(MessageType.SOLICIT, wish())
        reply = await talkers[0].hear()
        assert reply and reply.kind is MessageType.ADVERTISE


async def test_garbage_does_not_hurt(net: Net, talkers: tuple[Talker, Talker]) -> None:
    async with net.served(Plan()):
        dice = random.Random(1)
        good = encode(Message(MessageType.SOLICIT, 1, talkers[0].identity, None, (wish("2001:db8:1::2"),)))
        for _ in range(1000):
            bad = bytearray(good[: dice.randrange(1, len(good))] + dice.randbytes(dice.randrange(40)))
            bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
            talkers[0].send(bytes(bad))
            talkers[0].send(dice.randbytes(dice.randrange(1300)))
            await asyncio.sleep(0)
        talkers[1].say(MessageType.SOLICIT, wish())
        reply = await talkers[1].hear()
        assert reply and reply.kind is MessageType.ADVERTISE


async def test_two_on_one_bridge_are_refused(net: Net) -> None:
    async with net.served(Plan()):
        second = Dhcp6Server("ada", "lan1", TOLD6, Plan())
        with net.gate.entered(), pytest.raises(DhcpError, match="DHCPv6 server on lan1: Address already in use"):
            await second.start()
    with net.gate.entered():
        with pytest.raises(DhcpError, match="lan7: No such device"):
            await Dhcp6Server("ada", "lan7", TOLD6, Plan()).start()
        with pytest.raises(AdvertiserError, match="lan7: No such device"):
            await Advertiser("lan7", ADVERTISED).start()


async def test_a_crowd_of_solicitations_gets_few_advertisements(net: Net) -> None:
    phone = net.machine(0, PHONE)
    source = IPv6Address(phone.run("ip -6 -br addr show dev eth0").split()[2].partition("/")[0])
    asking = struct.pack("!BBHI", 133, 0, 0, 0) + bytes((1, 1)) + bytes.fromhex(PHONE.replace(":", ""))
    router = bytes.fromhex(MAC.replace(":", ""))
    with phone.packets("eth0") as ear, phone.entered():
        raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
        with raw:
            raw.bind((str(source), 0))
            for hops, answers in ((255, range(1, 3)), (254, range(1, 2))):
                raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, hops)
                async with net.served(Plan()):
                    await asyncio.sleep(0.2)
                    for _ in range(200):
                        raw.sendto(asking, ("ff02::2", 0))
                    await asyncio.sleep(4)
                assert _advertisements(ear, router) in answers, f"{hops} hops"


def _advertisements(ear: socket.socket, router: bytes) -> int:
    found = 0
    while True:
        try:
            data = ear.recv(2000)
        except BlockingIOError:
            return found
        found += data[6:12] == router and data[12:14] == b"\x86\xdd" and data[20] == 58 and data[54] == 134
