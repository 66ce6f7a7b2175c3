"""The state according to the kernel, to QEMU and to the controller, and what of it is wrong. `wrong` is pure."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.vm import Vm
from lab.paths import LAB
from lab.region import Region
from lab.rest import Json, Rest

VM, DEVICE, POOL = "v1", "m1", "blue"
PORTS = (49152, 49216)
"""The range of ports on which QEMU listens for arriving machines."""


@dataclass(frozen=True)
class Host:
    """The state of one cloudlet: the machine's `condition` according to QEMU itself ("gone": nothing is left of it),
    the taps of machines on its LAN, the ports on which a migration is awaited, MPTCP endpoints, and nftables'
    tables."""

    condition: str = "gone"
    taps: int = 0
    ports: tuple[int, ...] = ()
    endpoints: int = 0
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Census:
    """The whole state. `vm` and `move` are as REST shows them. `pairs` are the LANs where the device has a reservation,
    `members` those of the pool, and `leases` the addresses leased to the VM or its device, once for each lease.
    `inside` is the address of each vNIC according to the guest itself, empty if it does not answer."""

    hosts: Mapping[str, Host]
    vm: Json
    move: Json
    members: frozenset[str]
    pairs: Sequence[str] = ()
    leases: Sequence[str] = field(default_factory=tuple)
    inside: Mapping[str, str | None] = field(default_factory=dict)


def folder(cloudlet: str) -> Path:
    """Return the directory in which the driver of a cloudlet keeps all files of the VM."""
    return LAB / cloudlet / "state" / "hypervisors" / "qemu" / VM


def take(region: Region, rest: Rest, move: str = "") -> Census:
    """Take the census, after a move or before it is ordered. Raises LabError if the controller does not answer."""
    reserved = [one for one in rest.items("/reservations") if one["device"] == DEVICE]
    vm = rest.get(f"/vms/{VM}")
    return Census(
        hosts={cloudlet.name: _host(region, cloudlet.name) for cloudlet in region.topology.cloudlets},
        vm=vm,
        move=rest.get(f"/moves/{move}") if move else {},
        members=frozenset(rest.get(f"/vcps/{POOL}")["members"]),
        pairs=[one["endpoint"] for one in reserved],
        leases=[one["address"] for one in rest.items("/leases") if one["device"] == DEVICE],
        inside=_inside(vm["cloudlet"]) if vm["condition"] == "running" else {},
    )


def tables(region: Region, cloudlet: str) -> frozenset[str]:
    """Return nftables' tables of a cloudlet."""
    listed = json.loads(region.execute(cloudlet, ["nft", "-j", "list", "tables"], check=True).stdout)["nftables"]
    return frozenset(f"{one['table']['family']} {one['table']['name']}" for one in listed if "table" in one)


def condition(cloudlet: str) -> str:
    """Return the VM's condition according to QEMU itself."""
    try:
        return asyncio.run(Vm(folder(cloudlet)).condition())
    except HypervisorError as error:
        return f"unknown: {error}"


def _inside(cloudlet: str) -> dict[str, str | None]:
    try:
        said = asyncio.run(Vm(folder(cloudlet)).agent.run("weft-guest", "state", seconds=15))
    except HypervisorError:
        return {}
    return {nic: known["address"] for nic, known in json.loads(said)["nics"].items()}


def _host(region: Region, name: str) -> Host:
    links = json.loads(region.execute(name, ["ip", "-j", "link", "show"], check=True).stdout)
    sockets = region.execute(name, ["ss", "-Htln"], check=True).stdout.splitlines()
    heard = {int(line.split()[3].rsplit(":", 1)[1]) for line in sockets}
    endpoints = region.execute(name, ["ip", "mptcp", "endpoint", "show"], check=True).stdout
    return Host(
        condition=condition(name),
        taps=sum(link["ifname"].startswith("wv") for link in links),
        ports=tuple(sorted(port for port in heard if PORTS[0] <= port < PORTS[1])),
        endpoints=len(endpoints.split("\n")) - 1,
        tables=tables(region, name),
    )


def wrong(census: Census, before: Census, ends: tuple[str, str]) -> list[str]:
    """Return what is wrong, in sentences. `ends` are source and destination. `before` was taken before the move."""
    vm, move, here = census.vm, census.move, census.vm["cloudlet"]
    found = []
    running = [name for name, host in census.hosts.items() if host.condition == "running"]
    if len(running) > 1:
        found.append(f"it runs at {' and '.join(running)}")
    told = vm["condition"]
    if (told == "running") != (running == [here]):
        found.append(f"{VM} is told to be {told} at {here}, and runs {'at ' + running[0] if running else 'nowhere'}")
    if vm["move"] is not None or move["ended_at"] is None:
        found.append(f"{move['name']} is {move['state']}, at {move['step']}")
    elif move["step"] != "normal":
        found.append(f"{move['name']} is over, and {move['step']} is still owed")
    if (move["state"], here) not in (("done", ends[1]), ("undone", ends[0])):
        found.append(f"{move['name']} is {move['state']}, and {VM} at {here}")
    for name, host in census.hosts.items():
        found += _left(name, host, before.hosts[name], name == here)
    return found + _held(census, before, ends)


def _left(name: str, host: Host, before: Host, here: bool) -> list[str]:
    """Return what a move has left behind at a cloudlet."""
    found = []
    if not here and host.condition != "gone":
        found.append(f"{name} has a machine {VM}, {host.condition}")
    if host.taps > (2 if here else 0):
        found.append(f"{name} has {host.taps} taps")
    if host.ports:
        found.append(f"{name} waits for a machine on {', '.join(map(str, host.ports))}")
    if host.endpoints > before.endpoints:
        found.append(f"{name} has {host.endpoints} MPTCP endpoints, and had {before.endpoints}")
    if host.tables != before.tables:
        found.append(f"{name} has the tables {sorted(host.tables)}, and had {sorted(before.tables)}")
    return found


def _held(census: Census, before: Census, ends: tuple[str, str]) -> list[str]:
    """Return addresses and memberships that nobody needs, or that two have."""
    found, (source, destination) = [], (f"{end}-lan" for end in ends)
    done = census.move["state"] == "done"
    swapped = done and census.vm["address"] == census.move["new_address"]
    joined, left = census.members - before.members, before.members - census.members
    # A LAN that had joined for an earlier move leaves when the VM's address there is given up.
    if joined - ({destination} if done else set()) or left - ({source} if swapped else set()):
        found.append(f"the pool has {sorted(census.members)}, and had {sorted(before.members)}")
    allowed = set(before.pairs) | {source} | ({destination} if swapped else set())
    if set(census.pairs) - allowed or len(set(census.pairs)) < len(census.pairs):
        found.append(f"pairs are reserved at {sorted(census.pairs)}, where {sorted(allowed)} would do")
    if len(set(census.leases)) < len(census.leases):
        found.append(f"an address is leased twice: {sorted(census.leases)}")
    if census.vm["condition"] == "running" and census.vm["address"] not in census.leases:
        found.append(f"{VM} is known by {census.vm['address']}, and leased are {sorted(census.leases)}")
    if census.inside and census.inside[census.vm["serving"]] != census.vm["address"]:
        known = f"{census.vm['address']} at vNIC {census.vm['serving']}"
        found.append(f"{VM} is known by {known}, and has {dict(census.inside)}")
    return found


def unneeded(census: Census, before: Census) -> list[str]:
    """Return leases and reservations that nobody needs, in sentences. This is stricter than `wrong`, and so only for
    moves without linger time that are done: the VM has one address, where it is, and the device's own addresses are
    unchanged."""
    vm = census.vm
    leases, pairs = set(before.leases) - {before.vm["address"]} | {vm["address"]}, {vm["endpoint"]}
    found = []
    if set(census.leases) != leases:
        found.append(f"leased are {sorted(census.leases)}, where {sorted(leases)} would do")
    if set(census.pairs) != pairs:
        found.append(f"pairs are reserved at {sorted(census.pairs)}, where {sorted(pairs)} would do")
    return found
