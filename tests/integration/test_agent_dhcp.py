"""The DHCP server against real clients: busybox udhcpc and ISC dhclient, each in a namespace of its own."""

import asyncio
import logging
import random
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from agents.dhcp.pace import Pace
from agents.dhcp.v4 import DhcpError, DhcpServer
from agents.dhcp.v4 import LanSettings as Told
from agents.dhcp.v4.message import Message, MessageType, Option, decode, encode
from controller.wire.host_settings import HostSettings, Route
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from lab.patience import eventually
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.integration.dhcp_clients import PHONE, PHONES_VM, TABLET, Client, Clients, Plan, starting

pytestmark = pytest.mark.lab

LAN = Told.of("10.1.0.1", "10.1.0.0/24", 1450)

# What a client does with its lease, the same for both: the address onto the interface, the news into a file.
UDHCPC_SCRIPT = """#!/bin/sh
case $1 in
  deconfig) ip addr flush dev $interface ;;
  bound) ip addr add $ip/$mask dev $interface; ip route replace default via $router ;;
esac
echo "$1 $ip/$mask via $router mtu $mtu for $lease from $serverid" >> {log}
[ -z "$dns" ] || echo "told $dns $domain $ntpsrv $staticroutes" >> {log}
"""
DHCLIENT_SCRIPT = """#!/bin/sh
case $reason in
  PREINIT|RELEASE|STOP|FAIL|EXPIRE) ip addr flush dev $interface ;;
  BOUND|REBOOT) ip addr replace $new_ip_address/24 dev $interface ;;
esac
echo "$reason $new_ip_address/$new_subnet_mask via $new_routers" \\
  "mtu $new_interface_mtu for $new_dhcp_lease_time" >> {log}
exit 0
"""


class Lan:
    """A cloudlet's LAN with two clients' machines on it."""

    def __init__(self, gate: Namespace, clients: list[Namespace]) -> None:
        self.gate, self.clients = gate, clients
        gate.run("ip link add lan1 type bridge")
        gate.run("ip addr add 10.1.0.1/24 dev lan1")
        gate.run("ip link set lan1 up")
        for number, client in enumerate(clients):
            cable(gate, f"md{number}", client, "eth0")
            gate.run(f"ip link set md{number} master lan1")

    def client(self, number: int, mac: str) -> Namespace:
        """Return a machine with this MAC address and without IP addresses."""
        client = self.clients[number]
        client.run("ip addr flush dev eth0")
        client.run("ip link set eth0 down")
        client.run(f"ip link set eth0 address {mac} up")
        return client

    @asynccontextmanager
    async def server(self, plan: Plan, pace: Pace | None = None, told: Told = LAN) -> AsyncIterator[DhcpServer]:
        server = DhcpServer("ada", "lan1", told, plan, pace)
        with self.gate.entered():
            await server.start()
        try:
            yield server
        finally:
            await server.stop()


@pytest.fixture(scope="module")
def lan() -> Iterator[Lan]:
    with namespaces("lan", "one", "two") as (gate, *clients):
        yield Lan(gate, clients)


@pytest.fixture
def started() -> Iterator[Clients]:
    with starting() as clients:
        yield clients


@pytest.fixture
def clients(started: Clients) -> Callable[..., Client]:
    def start(kind: str, space: Namespace, *options: str) -> Client:
        here = started.folder

        def argv(script: Path) -> list[str]:
            if kind == "udhcpc":
                return ["busybox", "udhcpc", "-f", "-i", "eth0", "-s", str(script), "-T", "1", *options]
            (here / "dhclient.conf").write_text("request subnet-mask, routers, interface-mtu; timeout 10;")
            paths = ["-lf", str(here / "leases"), "-pf", str(here / "pid"), "-cf", str(here / "dhclient.conf")]
            return ["dhclient", "-d", "-1", *paths, "-sf", str(script), *options, "eth0"]

        return started.start(space, UDHCPC_SCRIPT if kind == "udhcpc" else DHCLIENT_SCRIPT, argv)

    return start


@pytest.mark.smoke
async def test_udhcpc_leases_renews_and_releases(lan: Lan, clients: Callable[..., Client]) -> None:
    plan = Plan()
    async with lan.server(plan):
        phone = lan.client(0, PHONE)
        client = clients("udhcpc", phone, "-O", "mtu", "-x", "hostname:phone", "-R")
        assert await client.news("bound") == "bound 10.1.0.2/24 via 10.1.0.1 mtu 1450 for 600 from 10.1.0.1"
        assert " 1 received" in phone.run("ping -c 1 -W 1 10.1.0.1")
        before = len(plan.asked)
        client.process.send_signal(signal.SIGUSR1)
        assert (await client.news("renew")).startswith("renew 10.1.0.2/24 ")
        # One or several: udhcpc misses an answer that arrives before it has closed its sending socket.
        renewal = LeaseRequest(
            endpoint="ada",
            mac=PHONE,
            client_id="0102005e000001",
            hostname="phone",
            address="10.1.0.2",
            renewing=True,
        )
        assert set(plan.asked[before:]) == {renewal}
        client.process.send_signal(signal.SIGUSR2)
        await eventually(lambda: bool(plan.released), "released")
        assert plan.released == [
            LeaseRelease(endpoint="ada", address="10.1.0.2", mac=PHONE, client_id="0102005e000001")
        ]


async def test_dhclient_leases_and_renews_by_itself_and_releases(lan: Lan, clients: Callable[..., Client]) -> None:
    plan = Plan(seconds=6)
    async with lan.server(plan):
        phone = lan.client(0, PHONE)
        client = clients("dhclient", phone)
        assert await client.news("BOUND") == "BOUND 10.1.0.2/255.255.255.0 via 10.1.0.1 mtu 1450 for 6"
        assert (await client.news("RENEW")).startswith("RENEW 10.1.0.2/"), "at T1, unicast to the server"
        client.close()
        again = clients("dhclient", phone)
        assert (await again.news("REBOOT")).startswith("REBOOT 10.1.0.2/"), "the lease it remembers is confirmed"
        again.close()
        gone = clients("dhclient", phone, "-r")
        await eventually(lambda: bool(plan.released), "released")
        assert plan.released[0].address == "10.1.0.2"
        await gone.end()


@pytest.mark.smoke
async def test_a_device_and_its_machine_get_a_pair(lan: Lan, clients: Callable[..., Client]) -> None:
    plan = Plan()
    async with lan.server(plan):
        device = clients("udhcpc", lan.client(0, PHONE))
        machine = clients("udhcpc", lan.client(1, PHONES_VM), "-B")
        assert "10.1.0.2/24" in await device.news("bound")
        assert "10.1.0.3/24" in await machine.news("bound"), "also when it wants its replies broadcast"


async def test_a_full_plan_answers_nothing_and_says_so(
    lan: Lan, clients: Callable[..., Client], caplog: pytest.LogCaptureFixture
) -> None:
    async with lan.server(Plan(room=1)):
        assert "10.1.0.2/24" in await clients("udhcpc", lan.client(0, PHONE)).news("bound")
        tablet = clients("udhcpc", lan.client(1, TABLET), "-n", "-t", "2")
        assert await tablet.end() == 1
        assert "no lease, failing" in tablet.said()
    refusals = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert f"lan1: no address for {TABLET}: no pair is left in the plan of ada" in refusals


async def test_who_comes_from_another_lan_starts_again_at_once(
    lan: Lan, started: Clients, clients: Callable[..., Client]
) -> None:
    (started.folder / "leases").write_text(
        'lease {\n  interface "eth0";\n  fixed-address 10.2.0.2;\n  option subnet-mask 255.255.255.0;\n'
        "  option dhcp-lease-time 86400;\n  option dhcp-server-identifier 10.2.0.1;\n"
        "  renew 6 2096/01/01 00:00:00;\n  rebind 6 2096/01/01 00:00:00;\n  expire 6 2096/01/01 00:00:00;\n}\n"
    )
    async with lan.server(Plan()):
        client = clients("dhclient", lan.client(0, PHONE))
        assert "BOUND 10.1.0.2/" in await client.news("BOUND")
        assert "DHCPNAK from 10.1.0.1" in client.said()


async def test_a_plan_out_of_reach_is_silence_not_refusal(
    lan: Lan, clients: Callable[..., Client], caplog: pytest.LogCaptureFixture
) -> None:
    plan = Plan()
    async with lan.server(plan):
        client = clients("udhcpc", lan.client(0, PHONE))
        await client.news("bound")
        plan.reachable = False
        asked = len(plan.asked)
        client.process.send_signal(signal.SIGUSR1)
        await eventually(lambda: len(plan.asked) > asked, "asked again")
        await eventually(lambda: "no answer to REQUEST" in caplog.text, "logged")
        assert "nak " not in client.said()
        plan.reachable = True
        client.process.send_signal(signal.SIGUSR1)
        # As a renewal or, if the client has given that up, as a new lease.
        assert "10.1.0.2/24" in await client.news("renew", "bound", times=2)


async def test_two_servers_on_one_bridge_are_refused(lan: Lan) -> None:
    async with lan.server(Plan()):
        second = DhcpServer("ada", "lan1", LAN, Plan())
        with lan.gate.entered(), pytest.raises(DhcpError, match="lan1: Address already in use"):
            await second.start()
    missing = DhcpServer("ada", "lan7", LAN, Plan())
    with lan.gate.entered(), pytest.raises(DhcpError, match="lan7: No such device"):
        await missing.start()
    await missing.stop()


# --- A client of our own, for messages that the others do not send


class Talker:
    """A client that sends datagrams to the server and receives the answers, from an address that it took without a
    lease."""

    def __init__(self, space: Namespace) -> None:
        space.run("ip addr add 10.1.0.8/24 dev eth0")
        with space.entered():
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
        self._socket.bind(("", 68))
        self._socket.setblocking(False)

    def say(self, data: bytes) -> None:
        self._socket.sendto(data, ("255.255.255.255", 67))

    async def hear(self, seconds: float = 2) -> Message | None:
        loop = asyncio.get_running_loop()
        try:
            return decode(await asyncio.wait_for(loop.sock_recv(self._socket, 2000), seconds))
        except TimeoutError:
            return None

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def talker(lan: Lan) -> Iterator[Talker]:
    one = Talker(lan.client(0, PHONE))
    yield one
    one.close()


def message(kind: MessageType, mac: str = PHONE, ciaddr: str = "0.0.0.0", **options: bytes) -> bytes:
    chosen: dict[int, bytes] = {Option[name]: value for name, value in options.items()}
    octets = bytes.fromhex(mac.replace(":", ""))
    return encode(
        Message(op=1, xid=42, mac=octets, kind=kind, broadcast=True, ciaddr=IPv4Address(ciaddr), options=chosen)
    )


async def test_inform_gets_settings(lan: Lan, talker: Talker) -> None:
    plan = Plan()
    async with lan.server(plan):
        talker.say(message(MessageType.INFORM, ciaddr="10.1.0.8"))
        reply = await talker.hear()
        assert reply and (reply.kind, reply.xid) == (MessageType.ACK, 42)
        assert reply.address(Option.ROUTER) == IPv4Address("10.1.0.1")
        assert Option.LEASE_TIME not in reply.options
        assert plan.asked == []


async def test_rebinding_and_rebooting_are_answered_as_the_plan_has_it(lan: Lan, talker: Talker) -> None:
    plan = Plan(room=4)
    plan.devices = ["one", "two", "three", PHONE]
    async with lan.server(plan):
        talker.say(message(MessageType.REQUEST, ciaddr="10.1.0.8"))
        reply = await talker.hear()
        assert reply and (reply.kind, reply.ciaddr, reply.yiaddr) == (MessageType.ACK, *[IPv4Address("10.1.0.8")] * 2)
        talker.say(message(MessageType.REQUEST, REQUESTED_ADDRESS=IPv4Address("10.1.0.2").packed))
        reply = await talker.hear()
        assert reply and reply.kind is MessageType.NAK
        assert reply.options[Option.MESSAGE] == b"10.1.0.2 is not this client's address"


@pytest.mark.smoke
async def test_what_a_client_declines_is_told_to_the_plan(lan: Lan, clients: Callable[..., Client]) -> None:
    plan = Plan()
    async with lan.server(plan):
        squatter = lan.client(1, TABLET)
        squatter.run("ip addr add 10.1.0.2/24 dev eth0")
        clients("udhcpc", lan.client(0, PHONE), "-a", "-A", "1")  # which asks by ARP before it uses an address
        await eventually(lambda: bool(plan.declined), "declined")
        declined = LeaseRelease(endpoint="ada", address="10.1.0.2", mac=PHONE, client_id="0102005e000001")
        assert plan.declined[0] == declined
        assert plan.released == [], "nobody else may get it"


async def test_hosts_are_told_what_policy_says(lan: Lan, clients: Callable[..., Client]) -> None:
    routes = (Route(to="192.168.7.0/24", via="10.1.0.9"),)
    hosts = HostSettings(dns=("10.0.0.53",), domain="cafe.example", ntp=("10.0.0.123",), routes=routes)
    told = Told.of("10.1.0.1", "10.1.0.0/24", 1450, hosts)
    async with lan.server(Plan(), told=told):
        client = clients("udhcpc", lan.client(0, PHONE), "-O", "ntpsrv", "-O", "staticroutes")
        assert await client.news("told") == (
            "told 10.0.0.53 cafe.example 10.0.0.123 192.168.7.0/24 10.1.0.9 0.0.0.0/0 10.1.0.1"
        )


async def test_garbage_does_not_hurt(lan: Lan, talker: Talker) -> None:
    async with lan.server(Plan()):
        dice = random.Random(1)
        good = message(MessageType.DISCOVER)
        for _ in range(2000):
            bad = bytearray(good[: dice.randrange(1, len(good))] + dice.randbytes(dice.randrange(40)))
            bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
            talker.say(bytes(bad))
            talker.say(dice.randbytes(dice.randrange(1400)))
        await asyncio.sleep(0.2)
        while await talker.hear(0.05):
            pass
        talker.say(message(MessageType.DISCOVER, mac=TABLET))
        reply = await talker.hear()
        assert reply and reply.kind is MessageType.OFFER


async def test_one_client_cannot_keep_the_others_out(lan: Lan, talker: Talker) -> None:
    plan = Plan()
    async with lan.server(plan, Pace(burst=5, rate=0)):
        for _ in range(200):
            talker.say(message(MessageType.DISCOVER))
        while await talker.hear(0.2):
            pass
        assert 1 <= len(plan.asked) <= 5
        talker.say(message(MessageType.DISCOVER, mac=TABLET))
        reply = await talker.hear()
        assert reply and reply.mac == bytes.fromhex(TABLET.replace(":", ""))


async def test_work_in_hand_is_bounded_and_ends_with_the_server(lan: Lan, talker: Talker) -> None:
    class Stuck(Plan):
        async def grant(self, request: LeaseRequest) -> LeaseGrant:
            self.asked.append(request)
            await asyncio.Event().wait()
            raise AssertionError

    plan = Stuck()
    async with lan.server(plan):
        for number in range(300):
            talker.say(message(MessageType.DISCOVER, mac=f"02:00:5e:01:{number >> 8:02x}:{number & 255:02x}"))
            await asyncio.sleep(0)
        await eventually(lambda: len(plan.asked) >= 64, "asked")
        await asyncio.sleep(0.2)
        assert len(plan.asked) == 64
    assert len(asyncio.all_tasks()) == 1
