"""The services of endpoints beside the kernel: the servers on each LAN, and FRR's configuration."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from agents.dhcp import v4, v6
from agents.dhcp.dual_stack import DualStack
from agents.dhcp.lease_source import LeaseSource, Way
from agents.dhcp.ra import Advertisement, Advertiser, AdvertiserError
from agents.dhcp.v4 import DhcpError, DhcpServer
from agents.dhcp.v6 import Dhcp6Server
from agents.kernel.lan import bridge_name, mac
from agents.settings import FrrSettings
from controller.wire.desired import Desired, Endpoint
from controller.wire.flavours import Flavour
from controller.wire.host_settings import HostSettings

log = logging.getLogger(__name__)

_FRR_INTERVAL = 10.0  # seconds between looks at FRR's sessions and configuration
_FRR_RETRY = 1.0


class Server(Protocol):
    """A server of one LAN."""

    async def start(self) -> None:
        """Start the server. Raises DhcpError or AdvertiserError."""

    async def stop(self) -> None:
        """Stop the server. A second call does nothing."""


@dataclass(frozen=True)
class _Lan:
    """The settings of a LAN's servers. If any of them changes, new servers replace the old ones."""

    endpoint: str
    index: int
    bridge: str
    interface: int
    mac: str
    gateway: str
    prefix: str
    prefix6: str | None
    mtu: int
    hosts: HostSettings


class LanServers:
    """The servers of all LANs whose bridge exists: a DHCP server and, where the LAN has IPv6, a DHCPv6 server and
    router advertisements. `counted` gets each message of DHCP, with its family."""

    def __init__(self, leases: LeaseSource, counted: Callable[[str, Way, str], None] = lambda *_: None) -> None:
        self._leases, self._families, self._counted = leases, DualStack(leases), counted
        self._running: dict[tuple[str, _Lan], Server] = {}

    async def serve(
        self, desired: Desired, interfaces: dict[str, int], hosts: Callable[[str], HostSettings]
    ) -> dict[int, list[str]]:
        """Start and stop servers until they match the desired state. `interfaces` holds the interface indexes of the
        bridges that exist: a recreated bridge gets new servers. `hosts` returns the settings for an endpoint's hosts.
        Return the problems by endpoint index."""
        wanted = {
            (what, lan)
            for endpoint in desired.endpoints
            if bridge_name(endpoint) in interfaces
            for lan in [_lan(desired.cloudlet, endpoint, interfaces[bridge_name(endpoint)], hosts(endpoint.name))]
            for what in (("dhcp", "dhcp6", "ra") if lan.prefix6 else ("dhcp",))
        }
        for key in self._running.keys() - wanted:
            await self._running.pop(key).stop()
        problems: dict[int, list[str]] = {}
        for what, lan in sorted(wanted - self._running.keys(), key=str):
            try:
                server = self._server(what, lan)
                await server.start()
            except (DhcpError, AdvertiserError, ValueError) as error:
                problems.setdefault(lan.index, []).append(str(error))
            else:
                self._running[what, lan] = server
        return problems

    def greet(self, endpoint: str) -> None:
        """Advertise the router on that LAN at once, because a machine has just moved there and does not know it."""
        for (_, lan), server in self._running.items():
            if lan.endpoint == endpoint and isinstance(server, Advertiser):
                server.greet()

    def _server(self, what: str, lan: _Lan) -> Server:
        if what == "dhcp" or lan.prefix6 is None:
            leases = self._families.of(4) if lan.prefix6 is not None else self._leases
            told = v4.LanSettings.of(lan.gateway, lan.prefix, lan.mtu, lan.hosts)
            return DhcpServer(lan.endpoint, lan.bridge, told, leases, counted=partial(self._counted, "ipv4"))
        if what == "dhcp6":
            told6 = v6.LanSettings6.of(lan.mac, lan.prefix, lan.prefix6, lan.hosts)
            counted = partial(self._counted, "ipv6")
            return Dhcp6Server(lan.endpoint, lan.bridge, told6, self._families.of(6), counted=counted)
        return Advertiser(lan.bridge, Advertisement.of(lan.mac, lan.prefix6, lan.mtu, lan.hosts))

    async def stop(self) -> None:
        """Stop all servers."""
        while self._running:
            await self._running.popitem()[1].stop()


def _lan(cloudlet: str, endpoint: Endpoint, interface: int, hosts: HostSettings) -> _Lan:
    return _Lan(
        endpoint=endpoint.name,
        index=endpoint.index,
        bridge=bridge_name(endpoint),
        interface=interface,
        mac=mac(cloudlet, endpoint.index),
        gateway=endpoint.gateway,
        prefix=endpoint.prefix,
        prefix6=endpoint.prefix6,
        mtu=endpoint.mtu,
        hosts=hosts,
    )


class EvpnSpeaker:
    """FRR as the EVPN PE. `run()` keeps its configuration. `sessions` holds the state of each session by the route
    server's address, and `signed` the password that signs it; both mean nothing before the first look at FRR
    (`looked`)."""

    def __init__(self, settings: FrrSettings, changed: Callable[[], None], hops: int | None = None) -> None:
        self.sessions: dict[str, str] = {}
        self.signed: dict[str, str] = {}
        self.looked = False
        self._passwords: Mapping[str, str] = {}
        self._hops = hops
        self.problem: str | None = None
        self._settings, self._changed = settings, changed
        self._desired: Desired | None = None
        self._work = asyncio.Event()

    @property
    def intended(self) -> bool:
        """Whether this cloudlet has ever needed FRR."""
        return self._desired is not None

    def intend(self, desired: Desired, passwords: Mapping[str, str]) -> None:
        """Set the desired state for FRR's configuration, and the passwords that sign its sessions, by address. They
        take effect soon."""
        if desired is not self._desired or passwords != self._passwords:
            self._desired, self._passwords = desired, passwords
            self._work.set()

    async def run(self) -> None:
        """Configure FRR after each change, and check it from time to time."""
        await self._work.wait()
        from agents.bgp.frr import Frr, FrrError, render  # only EVPN cloudlets pay for the template engine

        frr = Frr(self._settings.vty_dir, self._settings.conf)
        while True:
            self._work.clear()
            assert self._desired is not None  # set before _work
            before = self.problem, self.sessions, self.signed
            passwords = dict(self._passwords)
            try:
                if await frr.apply(render(self._desired, passwords, self._hops)):
                    log.info("FRR: configuration changed")
                self.problem, self.sessions = None, await frr.sessions()
                self.signed = {address: passwords.get(address, "") for address in self.sessions}
            except (FrrError, ValueError, OSError) as error:
                self.problem, self.sessions, self.signed = f"FRR: {error}", {}, {}
            if (self.problem, self.sessions, self.signed) != before or not self.looked:
                if self.problem:
                    log.warning("%s", self.problem)
                self.looked = True
                self._changed()
            waiting = any(s != "established" for s in self.sessions.values()) or self.problem is not None
            try:
                async with asyncio.timeout(_FRR_RETRY if waiting else _FRR_INTERVAL):
                    await self._work.wait()
            except TimeoutError:
                continue


def flavours(desired: Desired) -> frozenset[Flavour]:
    """Return the kinds of PE that the desired endpoints need."""
    return frozenset(e.flavour for e in desired.endpoints)
