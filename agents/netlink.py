"""The door to the kernel: rtnetlink by pyroute2, and /proc/sys. Nobody else imports pyroute2."""

import errno
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyroute2 import AsyncIPRoute
from pyroute2.netlink.exceptions import NetlinkError

from agents.kernel import (
    PROTOCOL,
    VXLAN_PORT,
    AddAddress,
    AddBridge,
    AddFlood,
    AddRoute,
    AddVxlan,
    Bridge,
    DeleteAddress,
    DeleteFlood,
    DeleteLink,
    DeleteRoute,
    Enslave,
    Flood,
    Operation,
    Port,
    Release,
    Route,
    SetLink,
    SetPort,
    Snapshot,
    Vxlan,
    WriteSysctl,
    bridge_index,
    device_of,
    tunnel_index,
)

_ZEROS = "00:00:00:00:00:00"
_PROC_SYS = Path("/proc/sys")
_IFF_UP = 1
_SCOPE_GLOBAL, _SCOPE_LINK = 0, 253
_SKIP_STATS = 8  # RTEXT_FILTER_SKIP_STATS


class KernelError(Exception):
    """The kernel refused an operation. The text is for people."""


class Kernel:
    """rtnetlink in the network namespace of this process."""

    def __init__(self) -> None:
        self._ip = AsyncIPRoute()

    async def __aenter__(self) -> Self:
        await self._ip.setup_endpoint()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ip.close()

    @property
    def port_id(self) -> int:
        """The netlink port of our requests: the kernel puts it into the notifications that they cause."""
        return int(self._ip.epid)

    async def read(self, sysctls: Iterable[str] = ()) -> Snapshot:
        """What is there now. `sysctls` names the settings to read, by path below /proc/sys."""
        links = {link["index"]: link async for link in await self._ip.link("dump", ext_mask=_SKIP_STATS)}
        names = {index: link.get("IFLA_IFNAME") for index, link in links.items()}
        floods = await self._floods({i for i, name in names.items() if tunnel_index(name) is not None}, links)
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
                ports[name] = Port(name, names.get(link.get("IFLA_MASTER")))
        return Snapshot(bridges, vxlans, ports, await self._routes(names), _read_sysctls(sysctls))

    async def _floods(self, indexes: set[int], links: dict[int, Any]) -> dict[int, set[Flood]]:
        floods: dict[int, set[Flood]] = {}
        if indexes:
            async for entry in await self._ip.fdb("dump"):
                index = entry["ifindex"]
                if index in indexes and entry.get("NDA_LLADDR") == _ZEROS and (vtep := entry.get("NDA_DST")):
                    # The kernel does not tell a VNI that equals the device's own.
                    vni = entry.get("NDA_VNI") or _vxlan_data(links[index]).get("IFLA_VXLAN_ID")
                    floods.setdefault(index, set()).add(Flood(vtep, vni))
        return floods

    async def _addresses(self, names: dict[int, str]) -> dict[str, set[str]]:
        addresses: dict[str, set[str]] = {}
        async for message in await self._ip.addr("dump"):
            name = names.get(message["index"], "")
            if bridge_index(name) is not None and message["scope"] == _SCOPE_GLOBAL:
                text = message.get("IFA_LOCAL") or message.get("IFA_ADDRESS")
                addresses.setdefault(name, set()).add(f"{text}/{message['prefixlen']}")
        return addresses

    async def _routes(self, names: dict[int, str]) -> frozenset[Route]:
        routes = set()
        for family in (socket.AF_INET, socket.AF_INET6):
            async for message in await self._ip.route("dump", family=family):
                if message["proto"] == PROTOCOL and (destination := message.get("RTA_DST")):
                    device = names.get(message.get("RTA_OIF"), "")
                    routes.add(Route(f"{destination}/{message['dst_len']}", device))
        return frozenset(routes)

    async def apply(self, operation: Operation) -> None:
        """Does one operation. What is already so is no error. Raises KernelError."""
        try:
            await self._apply(operation)
        except NetlinkError as error:
            gone = isinstance(operation, DeleteLink | DeleteAddress | DeleteFlood | DeleteRoute | Release)
            if error.code == errno.EEXIST or (gone and error.code in (errno.ENOENT, errno.ESRCH, errno.ENODEV)):
                return
            raise KernelError(f"{_sentence(operation)}: {os.strerror(error.code).lower()}") from error
        except OSError as error:
            if isinstance(operation, DeleteLink | DeleteAddress | DeleteFlood | Release):
                return  # the interface has gone
            raise KernelError(f"{_sentence(operation)}: {(error.strerror or str(error)).lower()}") from error

    async def _apply(self, operation: Operation) -> None:
        ip, index = self._ip, socket.if_nametoindex
        match operation:
            case AddBridge(name, mac, mtu):
                await ip.link(
                    "add",
                    ifname=name,
                    kind="bridge",
                    address=mac,
                    mtu=mtu,
                    br_stp_state=0,
                    br_forward_delay=0,
                    br_mcast_snooping=0,
                )
                # Set again: else the bridge would take the smallest MTU of its ports instead.
                await ip.link("set", index=index(name), mtu=mtu)
            case AddVxlan(vxlan):
                await self._add_vxlan(vxlan)
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
            case DeleteLink(name):
                await ip.link("del", index=index(name))
            case AddAddress(device, address):
                text, _, length = address.partition("/")
                await ip.addr("add", index=index(device), address=text, prefixlen=int(length))
            case DeleteAddress(device, address):
                text, _, length = address.partition("/")
                await ip.addr("del", index=index(device), address=text, prefixlen=int(length))
            case AddFlood(device, flood):
                await ip.fdb("append", ifindex=index(device), lladdr=_ZEROS, dst=flood.vtep, vni=flood.vni)
            case DeleteFlood(device, flood):
                await ip.fdb("del", ifindex=index(device), lladdr=_ZEROS, dst=flood.vtep, vni=flood.vni)
            case AddRoute(route, metric):
                oif = index(route.device)
                await ip.route("add", dst=route.prefix, oif=oif, scope=_scope(route), proto=PROTOCOL, priority=metric)
            case DeleteRoute(route):
                await ip.route("del", dst=route.prefix, oif=index(route.device), scope=_scope(route), proto=PROTOCOL)
            case WriteSysctl(path, value):
                _write_sysctl(path, value)

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
        # A tunnel carries the LAN's frames and has nothing of its own to say (link-local address, MLD).
        _write_sysctl(f"net/ipv6/conf/{vxlan.name}/disable_ipv6", "1")
        await self._ip.brport("set", index=index, isolated=int(vxlan.isolated), learning=int(vxlan.learning))
        for flood in vxlan.flood or ():
            await self._ip.fdb("append", ifindex=index, lladdr=_ZEROS, dst=flood.vtep, vni=flood.vni)
        await self._ip.link("set", index=index, state="up")


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


def _scope(route: Route) -> int:
    # IPv6 has no scopes of routes.
    return _SCOPE_LINK if ip_address(route.prefix.partition("/")[0]).version == 4 else _SCOPE_GLOBAL


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


def _sentence(operation: Operation) -> str:
    match operation:
        case WriteSysctl(path, value):
            return f"cannot set {path.replace('/', '.')} to {value}"
        case AddVxlan(vxlan):
            return f"cannot make the tunnel device {vxlan.name} (VNI {vxlan.vni}, local address {vxlan.local})"
        case AddRoute(route, _) | DeleteRoute(route):
            return f"cannot change the route to {route.prefix} over {route.device}"
        case AddAddress(device, address) | DeleteAddress(device, address):
            return f"cannot change the address {address} of {device}"
        case Enslave(name, bridge):
            return f"cannot put {name} on {bridge}"
        case _:
            return f"cannot change {device_of(operation)} ({type(operation).__name__})"
