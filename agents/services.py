"""What runs beside the kernel for the endpoints: a DHCP server on each LAN, and FRR's configuration."""

import asyncio
import logging
from collections.abc import Callable
from ipaddress import ip_network

from agents.dhcp import DhcpError, DhcpServer
from agents.dhcp.leases import LeaseSource
from agents.lan import bridge_name
from agents.settings import FrrSettings
from controller.wire.desired import Desired, Endpoint
from controller.wire.flavours import Flavour

log = logging.getLogger(__name__)

_FRR_INTERVAL = 10.0  # seconds between looks at FRR's sessions and configuration
_FRR_RETRY = 1.0


class DhcpServers:
    """One server for each IPv4 LAN whose bridge is there."""

    def __init__(self, leases: LeaseSource) -> None:
        self._leases = leases
        self._running: dict[tuple[str, str, str, str, int, int], DhcpServer] = {}

    async def serve(self, desired: Desired, interfaces: dict[str, int]) -> dict[int, list[str]]:
        """Starts and stops servers until they match. `interfaces` are the indexes of the bridges that exist: a bridge
        that was made anew gets a new server. Returns what could not be done, by endpoint index."""
        wanted = {
            _key(endpoint, interfaces[bridge_name(endpoint)]): endpoint
            for endpoint in desired.endpoints
            if bridge_name(endpoint) in interfaces and ip_network(endpoint.prefix, strict=False).version == 4
        }
        for key in self._running.keys() - wanted.keys():
            await self._running.pop(key).stop()
        problems: dict[int, list[str]] = {}
        for key in wanted.keys() - self._running.keys():
            endpoint = wanted[key]
            bridge = bridge_name(endpoint)
            server = DhcpServer(endpoint.name, bridge, endpoint.gateway, endpoint.prefix, endpoint.mtu, self._leases)
            try:
                await server.start()
            except (DhcpError, ValueError) as error:
                problems[endpoint.index] = [str(error)]
            else:
                self._running[key] = server
        return problems

    async def stop(self) -> None:
        """Stops all of them."""
        while self._running:
            await self._running.popitem()[1].stop()


def _key(endpoint: Endpoint, interface: int) -> tuple[str, str, str, str, int, int]:
    return endpoint.name, bridge_name(endpoint), endpoint.gateway, endpoint.prefix, endpoint.mtu, interface


class EvpnSpeaker:
    """FRR as the EVPN PE. `run()` keeps its configuration; `sessions` by the route server's address."""

    def __init__(self, settings: FrrSettings, changed: Callable[[], None]) -> None:
        self.sessions: dict[str, str] = {}
        self.problem: str | None = None
        self._settings, self._changed = settings, changed
        self._desired: Desired | None = None
        self._work = asyncio.Event()

    @property
    def intended(self) -> bool:
        """Whether FRR was ever needed here."""
        return self._desired is not None

    def intend(self, desired: Desired) -> None:
        """Sets what FRR should be configured for; takes effect soon."""
        if desired is not self._desired:
            self._desired = desired
            self._work.set()

    async def run(self) -> None:
        """Configures FRR after each change, and looks after it from time to time."""
        await self._work.wait()
        from agents.frr import Frr, FrrError, render  # only EVPN cloudlets pay for the template engine

        frr = Frr(self._settings.vty_dir, self._settings.conf)
        while True:
            self._work.clear()
            assert self._desired is not None  # set before _work
            before = self.problem, self.sessions
            try:
                if await frr.apply(render(self._desired)):
                    log.info("FRR: configuration changed")
                self.problem, self.sessions = None, await frr.sessions()
            except (FrrError, ValueError, OSError) as error:
                self.problem, self.sessions = f"FRR: {error}", {}
            if (self.problem, self.sessions) != before:
                if self.problem:
                    log.warning("%s", self.problem)
                self._changed()
            waiting = any(s != "established" for s in self.sessions.values()) or self.problem is not None
            try:
                async with asyncio.timeout(_FRR_RETRY if waiting else _FRR_INTERVAL):
                    await self._work.wait()
            except TimeoutError:
                continue


def flavours(desired: Desired) -> frozenset[Flavour]:
    """The kinds of PE that the desired endpoints need."""
    return frozenset(e.flavour for e in desired.endpoints)
