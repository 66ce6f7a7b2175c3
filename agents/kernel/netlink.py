"""Access to the kernel: rtnetlink through pyroute2, and /proc/sys. No other module of the agent imports pyroute2."""

import errno
import os
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyroute2.iproute.linux import AsyncIPRoute  # not `from pyroute2`: see this package's __init__
from pyroute2.netlink import NLM_F_DUMP_INTR
from pyroute2.netlink.exceptions import NetlinkDumpInterrupted, NetlinkError

from agents.kernel.floods import Entry, Floods
from agents.kernel.operations import (
    AddAddress,
    AddBridge,
    AddFlood,
    AddRoute,
    AddRule,
    AddTap,
    AddVeth,
    AddVlan,
    AddVxlan,
    DeleteAddress,
    DeleteFlood,
    DeleteLinks,
    DeleteNeighbour,
    DeleteRoute,
    DeleteRule,
    Enslave,
    Operation,
    Release,
    SetLink,
    SetPort,
    WriteSysctl,
    describe,
)
from agents.kernel.snapshot import (
    PROTOCOL,
    VXLAN_PORT,
    Bridge,
    Flood,
    Port,
    Route,
    Rule,
    Snapshot,
    Vxlan,
    bridge_index,
    tunnel_index,
)
from agents.kernel.vlans import GROUP, Vlan

_ZEROS = "00:00:00:00:00:00"
_PROC_SYS = Path("/proc/sys")
_IFF_UP = 1
_READ_ATTEMPTS = 10
_DOOMED = 0x57454654  # the interface group that is deleted as a whole
_SCOPE_GLOBAL, _SCOPE_LINK = 0, 253
_SKIP_STATS = 8  # RTEXT_FILTER_SKIP_STATS
_8021Q = 0x8100  # the EtherType of a VLAN tag; 802.1ad has another one
_NTF_SELF = 2  # the tunnel's own forwarding database, not the bridge's
_NOT_THERE = (errno.ENOENT, errno.ESRCH, errno.ENODEV, errno.ENXIO, errno.EADDRNOTAVAIL)
_TAKES_AWAY = (DeleteLinks, DeleteAddress, DeleteNeighbour, DeleteFlood, DeleteRoute, DeleteRule, Release)


class KernelError(Exception):
    """The kernel refused an operation. The text is for users."""


class Kernel:
    """rtnetlink in the network namespace of this process."""

    def __init__(self) -> None:
        self._ip = AsyncIPRoute()
        self._floods = Floods()

    async def __aenter__(self) -> Self:
        await self._ip.setup_endpoint()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ip.close()

    @property
    def port_id(self) -> int:
        """The netlink port of the agent's requests. The kernel puts it into the notifications that they cause."""
        return int(self._ip.epid)

    async def read(self, sysctls: Iterable[str] = ()) -> Snapshot:
        """Return a snapshot of the kernel. `sysctls` names the settings to read, by path below /proc/sys. Raises
        KernelError."""
        paths = tuple(sysctls)
        for _ in range(_READ_ATTEMPTS):
            try:
                return await self._read(paths)
            except NetlinkDumpInterrupted:  # something changed meanwhile
                continue
            except (NetlinkError, OSError) as error:
                raise KernelError(f"cannot read the kernel's interfaces and routes: {error}") from error
        raise KernelError("the kernel's interfaces and routes change too fast to be read")

    async def _read(self, sysctls: Iterable[str]) -> Snapshot:
        links = {link["index"]: link async for link in _whole(await self._ip.link("dump", ext_mask=_SKIP_STATS))}
        names = {index: link.get("IFLA_IFNAME") for index, link in links.items()}
        tunnels = {index: link for index, link in links.items() if tunnel_index(names[index]) is not None}
        floods = await self._read_floods(tunnels) if tunnels else {}
        addresses = await self._addresses(names)
        bridges: dict[str, Bridge] = {}
        vxlans: dict[str, Vxlan] = {}
        ports: dict[str, Port] = {}
        for index, link in links.items():
            name, info = names[index], link.get("IFLA_LINKINFO")
            kind = info.get("IFLA_INFO_KIND") if info else None
            if kind == "bridge" and bridge_index(name) is not None:
                mac, mtu, up = link.get("IFLA_ADDRESS"), link.get("IFLA_MTU"), bool(link["flags"] & _IFF_UP)
                bridges[name] = Bridge(name, mac, mtu, up, frozenset(addresses.get(name, ())))
            elif kind == "vxlan" and tunnel_index(name) is not None:
                vxlans[name] = _vxlan(link, names.get(link.get("IFLA_MASTER")), frozenset(floods.get(index, ())))
            else:
                ports[name] = _port(link, names)
        routes, rules = await self._routes(names), await self._rules()
        return Snapshot(bridges, vxlans, ports, routes, rules, _read_sysctls(sysctls))

    async def _read_floods(self, tunnels: Mapping[int, Any]) -> dict[int, set[Flood]]:
        def flood(entry: Any) -> Flood:
            # The kernel leaves out a VNI that equals the device's own.
            vni = entry.get("NDA_VNI") or _vxlan_data(tunnels[entry["ifindex"]]).get("IFLA_VXLAN_ID")
            return Flood(entry.get("NDA_DST"), vni)

        async def dump() -> tuple[set[Entry], int]:
            found, size = set[Entry](), 0
            async for entry in _whole(await self._ip.fdb("dump")):
                size += 1
                if entry["ifindex"] in tunnels and entry.get("NDA_LLADDR") == _ZEROS and entry.get("NDA_DST"):
                    found.add((entry["ifindex"], flood(entry)))
            return found, size

        async def first(index: int) -> Flood | None:
            try:
                (entry,) = await self._ip.fdb("get", ifindex=index, lladdr=_ZEROS, flags=_NTF_SELF, state=0)
            except NetlinkError as error:
                if error.code in (*_NOT_THERE, errno.EOPNOTSUPP):  # Linux before 5.0 cannot be asked
                    return None
                raise
            return flood(entry)

        return await self._floods.read(set(tunnels), dump, first)

    async def _addresses(self, names: dict[int, str]) -> dict[str, set[str]]:
        addresses: dict[str, set[str]] = {}
        async for message in _whole(await self._ip.addr("dump")):
            name = names.get(message["index"], "")
            if bridge_index(name) is not None and message["scope"] == _SCOPE_GLOBAL:
                text = message.get("IFA_LOCAL") or message.get("IFA_ADDRESS")
                addresses.setdefault(name, set()).add(f"{text}/{message['prefixlen']}")
        return addresses

    async def _routes(self, names: dict[int, str]) -> frozenset[Route]:
        routes = set()
        for family in (socket.AF_INET, socket.AF_INET6):
            async for message in _whole(await self._ip.route("dump", family=family)):
                if message["proto"] == PROTOCOL and (destination := message.get("RTA_DST")):
                    device = names.get(message.get("RTA_OIF"), "")
                    routes.add(Route(f"{destination}/{message['dst_len']}", device, message.get("RTA_TABLE")))
        return frozenset(routes)

    async def _rules(self) -> frozenset[Rule]:
        rules = set()
        for family in (socket.AF_INET, socket.AF_INET6):
            async for message in _whole(await self._ip.rule("dump", family=family)):
                if message.get("FRA_PROTOCOL") == PROTOCOL:
                    source, interface = message.get("FRA_SRC"), message.get("FRA_IIFNAME")
                    rules.add(Rule(message.get("FRA_TABLE"), int(family), interface, source))
        return frozenset(rules)

    async def apply(self, operation: Operation) -> None:
        """Apply one operation. It is no error if the kernel already agrees with it. Raises KernelError."""
        try:
            await self._apply(operation)
        except NetlinkError as error:
            there = isinstance(operation, AddAddress | AddFlood | AddRoute | AddRule) and error.code == errno.EEXIST
            if there or (isinstance(operation, _TAKES_AWAY) and error.code in _NOT_THERE):
                return
            raise KernelError(f"cannot {describe(operation)}: {_reason(operation, error.code)}") from error
        except OSError as error:
            if isinstance(operation, _TAKES_AWAY) and error.errno in _NOT_THERE:
                return
            raise KernelError(f"cannot {describe(operation)}: {(error.strerror or str(error)).lower()}") from error

    async def _apply(self, operation: Operation) -> None:
        ip, index = self._ip, socket.if_nametoindex
        match operation:
            case AddBridge(name, mac, mtu):
                await ip.link(
                    "add",
                    ifname=name,
                    kind="bridge",
                    address=mac,
                    br_stp_state=0,
                    br_forward_delay=0,
                    br_mcast_snooping=0,
                )
                # Not at creation: only an MTU that was set afterwards does not follow that of the ports.
                await ip.link("set", index=index(name), mtu=mtu)
            case AddVxlan(vxlan):
                await self._add_vxlan(vxlan)
            case AddVlan(vlan, bridge):
                await self._add_vlan(vlan, bridge)
            case AddTap(name):
                # An ioctl does this, and it succeeds for an existing device too.
                await ip.link("add", ifname=name, kind="tuntap", mode="tap")
            case AddVeth(name, peer, mac, mtu, pid):
                inside = {"ifname": peer, "address": mac, "mtu": mtu, "net_ns_pid": pid}
                await ip.link("add", ifname=name, kind="veth", mtu=mtu, peer=inside)
            case SetLink(name, mac, mtu, up):
                changes: dict[str, Any] = {} if mac is None else {"address": mac}
                changes |= {} if mtu is None else {"mtu": mtu}
                changes |= {} if up is None else {"state": "up" if up else "down"}
                await ip.link("set", index=index(name), **changes)
            case SetPort(name, bridge, isolated, learning):
                await ip.link("set", index=index(name), master=index(bridge))
                await ip.brport("set", index=index(name), isolated=int(isolated), learning=int(learning))
            case Enslave(name, bridge):
                await ip.link("set", index=index(name), master=index(bridge), state="up")
            case Release(name):
                await ip.link("set", index=index(name), master=0)
            case DeleteLinks(names):
                await self._delete_links(names)
            case AddAddress(device, address):
                text, _, length = address.partition("/")
                await ip.addr("add", index=index(device), address=text, prefixlen=int(length))
            case DeleteAddress(device, address):
                text, _, length = address.partition("/")
                await ip.addr("del", index=index(device), address=text, prefixlen=int(length))
            case DeleteNeighbour(device, address):
                await ip.neigh("del", ifindex=index(device), dst=address)
            case AddFlood(device, flood):
                await ip.fdb("append", ifindex=index(device), lladdr=_ZEROS, dst=flood.vtep, vni=flood.vni)
            case DeleteFlood(device, flood):
                await ip.fdb("del", ifindex=index(device), lladdr=_ZEROS, dst=flood.vtep, vni=flood.vni)
            case AddRoute(route, metric):
                await ip.route("add", priority=metric, **_route(route))
            case DeleteRoute(route):
                await ip.route("del", **_route(route))
            case AddRule(rule):
                await ip.rule("add", **_rule(rule))
            case DeleteRule(rule):
                await ip.rule("del", **_rule(rule))
            case WriteSysctl(path, value):
                _write_sysctl(path, value)

    async def _delete_links(self, names: tuple[str, ...]) -> None:
        found = []
        for name in names:
            with suppress(OSError):  # gone already
                index = socket.if_nametoindex(name)
                await self._ip.link("set", index=index, state="down", group=_DOOMED)
                found.append(index)
        if found:
            await self._ip.link("del", group=_DOOMED)

    async def _add_vxlan(self, vxlan: Vxlan) -> None:
        await self._ip.link(
            "add",
            ifname=vxlan.name,
            kind="vxlan",
            mtu=vxlan.mtu,
            master=socket.if_nametoindex(vxlan.bridge or ""),
            vxlan_id=vxlan.vni,
            vxlan_local=vxlan.local,
            vxlan_port=VXLAN_PORT,
            vxlan_learning=0,
        )
        index = socket.if_nametoindex(vxlan.name)
        # A tunnel carries only the LAN's frames: it needs no link-local address and sends no MLD.
        _write_sysctl(f"net/ipv6/conf/{vxlan.name}/disable_ipv6", "1")
        await self._ip.brport("set", index=index, isolated=int(vxlan.isolated), learning=int(vxlan.learning))
        for flood in vxlan.flood or ():
            await self._ip.fdb("append", ifindex=index, lladdr=_ZEROS, dst=flood.vtep, vni=flood.vni)
        await self._ip.link("set", index=index, state="up")

    async def _add_vlan(self, vlan: Vlan, bridge: str) -> None:
        trunk = socket.if_nametoindex(vlan.trunk)
        await self._ip.link("set", index=trunk, state="up")  # no VLAN of an interface that is down comes up
        await self._ip.link(
            "add",
            ifname=vlan.device,
            kind="vlan",
            link=trunk,
            vlan_id=vlan.vid,
            group=GROUP,
            master=socket.if_nametoindex(bridge),
        )
        # It carries only the LAN's frames, as a tunnel does.
        _write_sysctl(f"net/ipv6/conf/{vlan.device}/disable_ipv6", "1")
        await self._ip.link("set", index=socket.if_nametoindex(vlan.device), state="up")


async def _whole(dump: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield all messages of a dump. Raises NetlinkDumpInterrupted at its end if something changed while the kernel
    wrote it, because entries may then be missing. pyroute2 leaves this check to its callers."""
    interrupted = False
    async for message in dump:
        interrupted = interrupted or bool(message["header"]["flags"] & NLM_F_DUMP_INTR)
        yield message
    if interrupted:
        raise NetlinkDumpInterrupted()


def _port(link: Any, names: Mapping[int, str]) -> Port:
    vlan = _vlan(link, names)
    made = vlan is not None and link.get("IFLA_GROUP") == GROUP
    return Port(link.get("IFLA_IFNAME"), names.get(link.get("IFLA_MASTER")), vlan, made)


def _vlan(link: Any, names: Mapping[int, str]) -> Vlan | None:
    info = link.get("IFLA_LINKINFO")
    if not info or info.get("IFLA_INFO_KIND") != "vlan":
        return None
    data = info.get("IFLA_INFO_DATA")
    trunk = names.get(link.get("IFLA_LINK"))
    # The index of a trunk in another namespace may be that of any interface here.
    if trunk is None or link.get("IFLA_LINK_NETNSID") is not None or data.get("IFLA_VLAN_PROTOCOL") != _8021Q:
        return None
    return Vlan(trunk, data.get("IFLA_VLAN_ID"))


def _vxlan_data(link: Any) -> Any:
    return link.get("IFLA_LINKINFO").get("IFLA_INFO_DATA")


def _vxlan(link: Any, bridge: str | None, floods: frozenset[Flood]) -> Vxlan:
    data, port = _vxlan_data(link), link.get("IFLA_LINKINFO").get("IFLA_INFO_SLAVE_DATA")
    return Vxlan(
        name=link.get("IFLA_IFNAME"),
        vni=data.get("IFLA_VXLAN_ID"),
        local=data.get("IFLA_VXLAN_LOCAL") or data.get("IFLA_VXLAN_LOCAL6") or "",
        mtu=link.get("IFLA_MTU"),
        bridge=bridge,
        isolated=bool(port and port.get("IFLA_BRPORT_ISOLATED")),
        learning=bool(port and port.get("IFLA_BRPORT_LEARNING")),
        up=bool(link["flags"] & _IFF_UP),
        flood=floods,
    )


def _reason(operation: Operation, code: int) -> str:
    if isinstance(operation, AddVlan) and code == errno.EOPNOTSUPP:
        return "the interface can have no VLAN, or the kernel lacks its module 8021q"
    return os.strerror(code).lower()


def _family(text: str) -> int:
    version = ip_address(text.partition("/")[0]).version
    return int(socket.AF_INET if version == 4 else socket.AF_INET6)


def _route(route: Route) -> dict[str, Any]:
    family = _family(route.prefix)
    return {
        "family": family,
        "dst": route.prefix,
        "oif": socket.if_nametoindex(route.device),
        "table": route.table,
        "proto": PROTOCOL,
        "scope": _SCOPE_LINK if family == socket.AF_INET else _SCOPE_GLOBAL,  # IPv6 routes have no scope
    }


def _rule(rule: Rule) -> dict[str, Any]:
    found: dict[str, Any] = {"table": rule.table, "priority": rule.table, "protocol": PROTOCOL, "family": rule.family}
    if rule.interface is not None:
        return found | {"iifname": rule.interface}
    return found | {"src": rule.source, "src_len": 32 if rule.family == socket.AF_INET else 128}


def _read_sysctls(paths: Iterable[str]) -> dict[str, str]:
    values = {}
    for path in paths:
        with suppress(OSError):
            values[path] = (_PROC_SYS / path).read_text().strip()
    return values


def _write_sysctl(path: str, value: str) -> None:
    try:
        (_PROC_SYS / path).write_text(value)
    except FileNotFoundError:
        if not path.startswith("net/ipv6/"):  # a kernel without IPv6 has nothing to set there
            raise
