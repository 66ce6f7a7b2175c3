"""The way to move without Weft: QEMU's own live migration with its own defaults, and a tunnel to the old address.

Both cloudlets route their LANs to one another over the same WAN. The guest keeps its address, which belongs to c1's
LAN. Packets for it go from there through a tunnel to c2 as soon as QEMU reports that it has moved. Its answers need not
go back through the tunnel: c2 has a gateway of the same address and MAC, which saves half of the way.
"""

import time
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path

from agents.hypervisors import record
from agents.hypervisors.hypervisor import Attachment, Site
from agents.hypervisors.qemu import boot
from agents.hypervisors.qemu import driver as qemu
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.monitor import Session
from agents.hypervisors.qemu.vm import Vm
from controller.wire.machines import Machine
from controller.wire.moves import Target
from lab import netns
from lab.bench_move.cases import DOWNTIME_MS, MEMORY
from lab.bench_move.figures import Moved
from lab.errors import LabError
from lab.guests.accelerator import accelerator
from lab.hosts import BRIDGE, Host
from lab.paths import GUESTS, LAB
from lab.region import Region
from lab.state import Record

MACHINE = Machine(
    name="v1", driver="qemu", image="lab", memory=MEMORY << 20, macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b")
)
GATEWAY = "02:57:00:00:00:01"
"""The MAC of the gateway at either end."""

PORT = 49152
UNLIMITED = 10**12
"""Bytes a second."""

MTU = 1450
"""The MTU of the guest's vNICs, as in Weft's LANs: packets in the tunnel fit into the WAN's frames."""

_PATIENCE = 300.0  # seconds that a transfer may take
_POLL = 0.005


class Plain:
    """The region's namespaces and WAN without Weft; the guest runs at c1. The caller must hold the region's lock."""

    def __init__(self, region: Region, folder: Path) -> None:
        self.region = region
        self.old, device = "10.1.0.3", "10.2.0.2"
        self.new: str | None = None
        region.lay(lambda _: None)
        for number, cloudlet in enumerate(("c1", "c2"), start=1):
            self._lan(cloudlet, f"10.{number}.0.1/24", f"10.{3 - number}.0.0/24", "c2" if number == 1 else "c1")
        self._lead_home()
        for words in ("link set l1-m1 master lan1", f"address add {self.old_gateway}/32 dev {BRIDGE}"):
            self._ip("c2", words)
        for words in (f"address add {device}/24 dev eth0", "route add default via 10.2.0.1"):
            self._ip("m1", words)
        self._tunnel()
        region.start(_dhcp_server(folder, self.old, self.old_gateway))
        with ExitStack() as opened:
            self._sites = [self._site(name, folder) for name in ("c1", "c2")]
            self._hosts = []
            for site in self._sites:
                host = Host(site, qemu)
                opened.callback(host.close)
                host.attachment = Attachment(BRIDGE, MTU)
                self._hosts.append(host)
            source = self._hosts[0]
            source.do(source.driver.start(MACHINE, source.attachment, "a"))
            self._wait_for_guest()
            self._open = opened.pop_all()

    @property
    def old_gateway(self) -> str:
        return str(ip_address(self.old) - 2)

    @property
    def now(self) -> str:
        return self.old

    def __enter__(self) -> "Plain":
        return self

    def __exit__(self, *_: object) -> None:
        """Close the hosts. The holder of the region's lock removes the rest."""
        self._open.close()

    def move(self) -> Moved:
        """Move the guest. Raises LabError, HypervisorError."""
        began = time.time()
        source, destination = self._hosts
        there = self.region.plan.loopbacks["c2"]
        destination.do(_wait_for_state(self._sites[1], destination.attachment))
        prepared = time.time()
        destination_vm, source_vm = (_vm(host) for host in (destination, source))
        source.do(_send(source_vm, there))
        deadline = time.monotonic() + _PATIENCE
        while (info := source.do(source_vm.monitor.execute("query-migrate")))["status"] != "completed":
            if info["status"] in ("failed", "cancelled") or time.monotonic() > deadline:
                raise LabError(f"QEMU did not migrate: {info.get('error-desc', info['status'])}")
            time.sleep(_POLL)
        sent = time.time()
        self._ip("c1", f"route replace {self.old}/32 via 192.0.2.2 dev tun0")
        while not destination.do(destination_vm.monitor.execute("query-status"))["running"]:
            time.sleep(_POLL)
        ended = time.time()
        time.sleep(0.2)  # in the instant of completion QEMU may not have its own figures yet
        info = source.do(source_vm.monitor.execute("query-migrate"))
        steps = {"prepare": prepared - began, "memory": sent - prepared, "tunnel": ended - sent}
        return Moved(began, ended, info.get("downtime", 0), info["ram"]["transferred"], 1, steps)

    def _lan(self, cloudlet: str, address: str, other: str, there: str) -> None:
        """Make a bridge with a gateway, and a route to the other LAN along the way to the other cloudlet's loopback."""
        way = self._way(cloudlet, there)
        lines = [f"link add {BRIDGE} address {GATEWAY} type bridge forward_delay 0", f"link set {BRIDGE} up"]
        lines += [f"address add {address} dev {BRIDGE}", f"route add {other} {way}"]
        for words in lines:
            self._ip(cloudlet, words)

    def _lead_home(self) -> None:
        """Add routes to both LANs at the core."""
        for number, cloudlet in enumerate(("c1", "c2"), start=1):
            self._ip(self.region.topology.core, f"route add 10.{number}.0.0/24 {self._way('core', cloudlet)}")

    def _way(self, node: str, there: str) -> str:
        plan = self.region.plan
        route = next(route for route in plan.routes[node] if route.destination == plan.loopbacks[there])
        return f"via {route.via} dev {route.interface}"

    def _tunnel(self) -> None:
        """Make the tunnel from c1 to c2 before the move. At c2 only packets that come out of it go to the guest
        directly."""
        vteps = [self.region.plan.loopbacks[cloudlet] for cloudlet in ("c1", "c2")]
        for number, cloudlet in enumerate(("c1", "c2")):
            ends = f"local {vteps[number]} remote {vteps[1 - number]}"
            self._ip(cloudlet, f"link add tun0 type vxlan id 99 {ends} dstport 4789")
            self._ip(cloudlet, f"address add 192.0.2.{number + 1}/30 dev tun0")
            self._ip(cloudlet, "link set tun0 up")
        self._ip("c2", f"route add {self.old}/32 dev {BRIDGE} src {self.old_gateway} table 99")
        self._ip("c2", "rule add iif tun0 lookup 99")

    def _site(self, name: str, folder: Path) -> Site:
        address, options = self.region.plan.loopbacks[name], {"accelerator": accelerator(GUESTS)}
        return Site(netns.PREFIX + name, folder / name, GUESTS, address, (address,), options)

    def _wait_for_guest(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while self.region.execute("m1", ["ping", "-c", "1", "-W", "1", self.old]).returncode:
            if time.monotonic() > deadline:
                raise LabError(f"the guest does not answer at {self.old} after {seconds:.0f} s")

    def _ip(self, node: str, words: str) -> None:
        self.region.execute(node, ["ip", *words.split()], check=True)


def _vm(host: Host) -> Vm:
    return Vm(host.state / MACHINE.name)


def _address(there: str) -> str:
    return f"tcp:{there}:{PORT}"


async def _wait_for_state(site: Site, attachment: Attachment) -> None:
    """Start a QEMU that waits at the destination, and runs as soon as the whole state is there."""
    where = _address(site.address)
    vm = Vm(site.state_dir / MACHINE.name)
    coming = record.Move(name="plain", role="incoming", target=Target(memory=[where]))
    await boot.boot(site, vm, MACHINE, attachment, "a", coming, Digests(site.state_dir))
    async with vm.monitor.session() as session:
        await session.execute("migrate-incoming", {"uri": where})
        await session.execute("cont")  # before any state has come, so that QEMU continues by itself


async def _send(vm: Vm, there: str) -> None:
    async with vm.monitor.session() as session:
        await _configure(session)
        await session.execute("migrate", {"uri": _address(there)})


async def _configure(session: Session) -> None:
    """Set QEMU's parameters: its defaults, except for the limit of its bandwidth, which would slow it down."""
    limits = {"max-bandwidth": UNLIMITED, "downtime-limit": DOWNTIME_MS}
    await session.execute("migrate-set-parameters", limits)


def _dhcp_server(folder: Path, address: str, gateway: str) -> dict[str, Record]:
    """Return a DHCP server for c1's LAN, where only the guest asks."""
    folder.mkdir(parents=True, exist_ok=True)
    leases, config = folder / "udhcpd.leases", folder / "udhcpd.conf"
    leases.write_text("")
    options = [f"option router {gateway}", "option subnet 255.255.255.0", "option lease 864000"]
    lines = [f"start {address}", f"end {address}", f"interface {BRIDGE}", f"lease_file {leases}", "max_leases 1"]
    config.write_text("\n".join([*lines, *options]) + "\n")
    argv = ["busybox", "udhcpd", "-f", str(config)]
    return {"c1-udhcpd": Record(node="c1", argv=argv, env={}, log=str(LAB / "c1" / "udhcpd.log"))}
