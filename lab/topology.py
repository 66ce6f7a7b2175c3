"""Topology files: the cloudlets, LANs, devices, VMs and WAN links of a region.

`load` reads a file, fills in defaults and refuses what cannot work, naming file, line and column. Everything here is a
value; nothing touches the kernel.
"""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lab.document import Document, Where

SCHEMA = Path(__file__).with_name("topology.schema.json")
VTEPS = ipaddress.IPv4Network("10.255.0.0/16")
UNDERLAY = (ipaddress.IPv4Network("10.254.0.0/15"),)  # link and loopback addresses of the lab itself


@dataclass(frozen=True)
class Endpoint:
    """One LAN of a cloudlet. `index` counts from 1 at the cloudlet and names its ports `l{index}-{station}`."""

    name: str
    index: int
    prefix: str
    ports: tuple[str, ...]
    vni: int | None
    prefix6: str | None = None


@dataclass(frozen=True)
class Station:
    """A device or, when `works_for` names one, the VM that works for it. `client_id` is DHCP option 61 in hex."""

    name: str
    endpoint: str
    mac: str
    client_id: str | None
    works_for: str | None = None

    @property
    def identity(self) -> dict[str, str]:
        """How the controller recognises its DHCP requests: by client id if it has one, else by MAC."""
        return {"client_id": self.client_id} if self.client_id else {"mac": self.mac}


@dataclass(frozen=True)
class Machine:
    """A VM that boots, of the lab's image for its driver (docs/operate/guests.md). Sizes are in bytes."""

    name: str
    endpoint: str
    device: str
    driver: Literal["qemu", "container"]
    memory: int
    vcpus: int
    disk: int | None


@dataclass(frozen=True)
class Cloudlet:
    name: str
    pe: Literal["vpls", "evpn"]
    vtep: str
    endpoints: tuple[Endpoint, ...]
    stations: tuple[Station, ...]
    machines: tuple[Machine, ...] = ()
    at: tuple[float, float] | None = None  # latitude and longitude, in degrees

    def endpoint(self, name: str) -> Endpoint:
        return next(endpoint for endpoint in self.endpoints if endpoint.name == name)


@dataclass(frozen=True)
class Link:
    """A line between two nodes. Delay, jitter and loss hold for each direction; a `rate_mbit` of None is unlimited. A
    `bypass` joins two cloudlets, and is used only by traffic that asks for it: moves over several paths."""

    a: str
    b: str
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss_percent: float = 0.0
    rate_mbit: float | None = None
    bypass: bool = False

    @property
    def shaped(self) -> bool:
        """False for a plain cable, which needs no emulation."""
        return bool(self.delay_ms or self.jitter_ms or self.loss_percent or self.rate_mbit)


@dataclass(frozen=True)
class Topology:
    path: Path
    asn: int
    controller: str
    route_servers: tuple[str, str]
    core: str
    cloudlets: tuple[Cloudlet, ...]
    links: tuple[Link, ...]
    policy: Path | None
    ipsec: bool = False
    thin: bool = False  # memory and disks move by weft-transfer
    stores: bool = False  # each cloudlet has a store of images of its own, empty at first

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node of the underlay: controller, route servers, core, cloudlets."""
        return (self.controller, *self.route_servers, self.core, *(cloudlet.name for cloudlet in self.cloudlets))

    @property
    def stations(self) -> tuple[tuple[Cloudlet, Station], ...]:
        """Every device and VM with its cloudlet."""
        return tuple((cloudlet, station) for cloudlet in self.cloudlets for station in cloudlet.stations)

    @property
    def machines(self) -> tuple[tuple[Cloudlet, Machine], ...]:
        """Every VM that boots, with its first cloudlet."""
        return tuple((cloudlet, machine) for cloudlet in self.cloudlets for machine in cloudlet.machines)


def load(path: Path) -> Topology:
    """Return the topology in `path`. Raises LabError with `file:line:column`."""
    path = path.absolute()
    document = Document(path)
    document.validate(SCHEMA)
    data = document.value
    first, second = (str(name) for name in data.get("route_servers", ["rs1", "rs2"]))
    topology = Topology(
        path=path,
        asn=int(data.get("region", {}).get("asn", 65000)),
        controller=str(data.get("controller", "ctl")),
        route_servers=(first, second),
        core=str(data.get("core", "core")),
        cloudlets=_cloudlets(document),
        links=tuple(_link(link) for link in data["links"]),
        policy=path.parent / str(data["policy"]) if "policy" in data else None,
        ipsec=bool(data.get("region", {}).get("ipsec", False)),
        thin=bool(data.get("region", {}).get("thin", False)),
        stores=bool(data.get("region", {}).get("stores", False)),
    )
    _check_names(document, topology)
    _check_links(document, topology)
    if topology.policy and not topology.policy.is_file():
        raise document.error(
            ["policy"], f"there is no policy file {topology.policy}", "the path is relative to this file"
        )
    return topology


def _cloudlets(document: Document) -> tuple[Cloudlet, ...]:
    stations = 0
    made = []
    for number, item in enumerate(document.value["cloudlets"], start=1):
        where: Where = ["cloudlets", number - 1]
        pe: Literal["vpls", "evpn"] = "evpn" if item.get("pe") == "evpn" else "vpls"
        endpoints = tuple(
            _endpoint(document, [*where, "endpoints", k], index, pe) for k, index in _counted(item["endpoints"])
        )
        known = {endpoint.name for endpoint in endpoints}
        here = []
        machines = []
        for kind in ("devices", "vms", "machines"):
            for k, station in enumerate(item.get(kind, [])):
                if station["endpoint"] not in known:
                    place = [*where, kind, k, "endpoint"]
                    problem = f"cloudlet {item['name']} has no endpoint '{station['endpoint']}'"
                    raise document.error(place, problem, f"it has: {', '.join(sorted(known))}")
                stations += 1
                if kind == "machines":
                    machines.append(_machine(station))
                else:
                    here.append(_station(station, stations))
        vtep = str(item.get("vtep", VTEPS[number]))
        if not _is_vtep(vtep):
            raise document.error([*where, "vtep"], f"vtep '{vtep}' is not an IPv4 address of {VTEPS}", "10.255.0.N")
        at = (float(item["at"][0]), float(item["at"][1])) if "at" in item else None
        made.append(Cloudlet(str(item["name"]), pe, vtep, endpoints, tuple(here), tuple(machines), at))
    return tuple(made)


def _counted(items: list[Any]) -> list[tuple[int, int]]:
    return [(k, k + 1) for k in range(len(items))]


def _is_vtep(text: str) -> bool:
    try:
        return ipaddress.IPv4Address(text) in VTEPS
    except ipaddress.AddressValueError:
        return False


def _endpoint(document: Document, where: Where, index: int, pe: str) -> Endpoint:
    item = document.value
    for step in where:
        item = item[step]
    try:
        prefix = ipaddress.IPv4Network(item["prefix"])
    except ValueError as error:
        raise document.error([*where, "prefix"], f"prefix: {error}", "an IPv4 prefix such as 10.1.0.0/24") from None
    if prefix.prefixlen > 29:
        raise document.error([*where, "prefix"], f"prefix {prefix} holds no pair of addresses", "/29 is the smallest")
    if any(prefix.overlaps(network) for network in UNDERLAY):
        raise document.error([*where, "prefix"], f"prefix {prefix} overlaps the lab's own 10.254.0.0/15")
    prefix6 = None
    if "prefix6" in item:
        try:
            prefix6 = str(ipaddress.IPv6Network(item["prefix6"]))
        except ValueError as error:
            hint = "an IPv6 prefix such as 2001:db8:1::/64"
            raise document.error([*where, "prefix6"], f"prefix6: {error}", hint) from None
    if "vni" in item and pe != "evpn":
        raise document.error([*where, "vni"], "vni is for evpn cloudlets only", "add pe: evpn, or remove vni", key=True)
    ports = tuple(str(port) for port in item.get("ports", [f"l{index}-*"]))
    vni = int(item["vni"]) if "vni" in item else None
    return Endpoint(str(item["name"]), index, str(prefix), ports, vni, prefix6)


def _station(item: dict[str, Any], number: int) -> Station:
    kind = 1 if "device" in item else 0
    mac = str(item.get("mac", f"02:00:5e:{kind:02x}:{number >> 8:02x}:{number & 255:02x}"))
    client_id = str(item["client_id"]) if "client_id" in item else None
    works_for = str(item["device"]) if "device" in item else None
    return Station(str(item["name"]), str(item["endpoint"]), mac, client_id, works_for)


def _machine(item: dict[str, Any]) -> Machine:
    disk = int(item["disk_mib"]) << 20 if "disk_mib" in item else None
    memory, vcpus = int(item.get("memory_mib", 256)) << 20, int(item.get("vcpus", 1))
    driver: Literal["qemu", "container"] = "container" if item.get("driver") == "container" else "qemu"
    return Machine(str(item["name"]), str(item["endpoint"]), str(item["device"]), driver, memory, vcpus, disk)


def _link(item: dict[str, Any]) -> Link:
    numbers = {
        name: float(item[name]) for name in ("delay_ms", "jitter_ms", "loss_percent", "rate_mbit") if name in item
    }
    return Link(str(item["between"][0]), str(item["between"][1]), bypass=bool(item.get("bypass")), **numbers)


def _check_names(document: Document, topology: Topology) -> None:
    """Check that names, VTEPs and MACs are unique, and that a VM's device exists and has no other VM."""
    data = document.value
    taken: dict[tuple[str, str], str] = {}

    def claim(kind: str, value: str, where: Where) -> None:
        if (kind, value) in taken:
            raise document.error(where, f"{kind} '{value}' is taken", f"by {taken[kind, value]}")
        taken[kind, value] = ".".join(str(step) for step in where)

    for name in (topology.controller, *topology.route_servers, topology.core, "wan"):
        claim("node", name, ["controller"])
    devices = {str(d["name"]) for cloudlet in data["cloudlets"] for d in cloudlet.get("devices", [])}
    for k, cloudlet in enumerate(topology.cloudlets):
        where: Where = ["cloudlets", k]
        claim("node", cloudlet.name, [*where, "name"])
        claim("vtep", cloudlet.vtep, [*where, "vtep"])
        for j, endpoint in enumerate(cloudlet.endpoints):
            claim("endpoint", endpoint.name, [*where, "endpoints", j, "name"])
        places = [
            [*where, kind, j] for kind in ("devices", "vms") for j in range(len(data["cloudlets"][k].get(kind, [])))
        ]
        for place, station in zip(places, cloudlet.stations, strict=True):
            claim("device or VM", station.name, [*place, "name"])
            claim("MAC address", station.mac, [*place, "mac"])
            if station.works_for is not None:
                if station.works_for not in devices:
                    raise document.error([*place, "device"], f"there is no device '{station.works_for}'")
                claim("VM for device", station.works_for, [*place, "device"])
        for j, machine in enumerate(cloudlet.machines):
            place = [*where, "machines", j]
            claim("device or VM", machine.name, [*place, "name"])
            if machine.device not in devices:
                raise document.error([*place, "device"], f"there is no device '{machine.device}'")
            claim("VM for device", machine.device, [*place, "device"])


def _check_links(document: Document, topology: Topology) -> None:
    """Check that links join known nodes, that no two join the same pair, that jitter is no more than delay, and that
    all nodes are connected."""
    seen: set[frozenset[str]] = set()
    cloudlets = {cloudlet.name for cloudlet in topology.cloudlets}
    for k, link in enumerate(topology.links):
        for end, name in enumerate((link.a, link.b)):
            if name not in topology.nodes:
                known = ", ".join(topology.nodes)
                raise document.error(["links", k, "between", end], f"there is no node '{name}'", f"known: {known}")
        if link.bypass and not {link.a, link.b} <= cloudlets:
            raise document.error(["links", k, "bypass"], "a bypass joins two cloudlets", key=True)
        if frozenset((link.a, link.b)) in seen:
            raise document.error(["links", k], f"a second link between {link.a} and {link.b}")
        seen.add(frozenset((link.a, link.b)))
        if link.jitter_ms > link.delay_ms:
            raise document.error(["links", k, "jitter_ms"], "jitter_ms must not be larger than delay_ms", key=True)
    reached = {topology.core}
    roads = [frozenset((link.a, link.b)) for link in topology.links if not link.bypass]
    while more := {name for pair in roads if pair & reached for name in pair} - reached:
        reached |= more
    if cut_off := [name for name in topology.nodes if name not in reached]:
        raise document.error(["links"], f"no link leads from {topology.core} to {', '.join(cut_off)}", key=True)
