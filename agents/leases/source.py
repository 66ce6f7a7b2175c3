"""The leases of all LANs of a cloudlet: what the DHCP servers ask."""

import asyncio
import logging
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

from agents.dhcp.lease_source import NoAnswer
from agents.leases.journal import JournalError
from agents.leases.lan import Exchanges, LeasedLan
from agents.leases.shares import ONE_PORT, Ports
from agents.sources import Sources
from controller.wire.delegations import Client
from controller.wire.desired import Desired, Endpoint
from controller.wire.findings import Finding
from controller.wire.host_settings import NO_SETTINGS, HostSettings
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest

log = logging.getLogger(__name__)


class Leases:
    """A LeaseSource. Journals are in `directory`. `sources` is told who has leased what, before the client is; `told`
    is called when `hosts` has changed; `ports` gives an endpoint's access ports."""

    def __init__(
        self,
        controller: Exchanges,
        directory: Path,
        sources: Sources | None = None,
        told: Callable[[], None] = lambda: None,
        ports: Callable[[str], Ports] = lambda _endpoint: ONE_PORT,
    ) -> None:
        self._controller, self._directory, self._sources, self._told = controller, directory, sources, told
        self._ports = ports
        self._failed, self._errors = asyncio.Event(), list[BaseException]()
        self._lans: dict[tuple[str, str, str], tuple[LeasedLan, asyncio.Task[None]]] = {}

    async def follow(self, desired: Desired) -> list[str]:
        """Makes the LANs those of the desired state. Returns what could not be done."""
        wanted = {(e.name, e.prefix, e.gateway): e for e in desired.endpoints}
        for key in self._lans.keys() - wanted.keys():
            await self._end(*self._lans.pop(key))
            if self._sources is not None and key[0] not in {name for name, _, _ in wanted}:
                self._sources.end(key[0])
        problems = []
        for key in wanted.keys() - self._lans.keys():
            if ip_network(key[1], strict=False).version != 4:
                continue
            try:
                lan = self._lan(wanted[key])
            except (JournalError, ValueError, KeyError, TypeError) as error:
                problems.append(f"leases of {key[0]}: {error}")
            else:
                task = asyncio.create_task(lan.run(), name=f"leases of {key[0]}")
                task.add_done_callback(self._unless_cancelled)
                self._lans[key] = lan, task
                await lan.publish()
        return problems

    def _lan(self, endpoint: Endpoint) -> LeasedLan:
        ports = self._ports(endpoint.name)
        return LeasedLan(
            endpoint, self._directory, self._controller, sources=self._sources, told=self._told, ports=ports
        )

    async def watch(self) -> None:
        """Waits for a LAN's work to fail, and raises what it failed with: an agent that goes on without its leases'
        journal would grant what nobody is told of."""
        await self._failed.wait()
        raise self._errors[0]

    def _unless_cancelled(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            log.critical("%s failed, and the agent ends: %r", task.get_name(), error, exc_info=error)
            self._errors.append(error)
            self._failed.set()

    async def stop(self) -> None:
        """Ends all of it."""
        while self._lans:
            await self._end(*self._lans.popitem()[1])

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        """As LeaseSource."""
        return await self._of(request.endpoint).offer(request)

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """As LeaseSource."""
        return await self._of(request.endpoint).grant(request)

    async def release(self, release: LeaseRelease) -> None:
        """As LeaseSource."""
        await self._of(release.endpoint).release(release)

    async def decline(self, release: LeaseRelease) -> None:
        """As LeaseSource."""
        await self._of(release.endpoint).decline(release)

    def hosts(self, endpoint: str) -> HostSettings:
        """What an endpoint's hosts are told beside their address."""
        return next((lan.hosts for (name, _, _), (lan, _) in self._lans.items() if name == endpoint), NO_SETTINGS)

    def findings(self) -> list[Finding]:
        """What people are to be told of the LANs' clients."""
        return [finding for lan, _ in self._lans.values() for finding in lan.findings]

    async def meet(self, endpoint: str, client: Client) -> None:
        """A client that is expected at an endpoint is known before it asks, so that it gets the right address at once
        whether or not the controller is quick to answer then. Raises NoAnswer."""
        await self._of(endpoint).meet(client)

    def _of(self, endpoint: str) -> LeasedLan:
        for (name, _, _), (lan, _) in self._lans.items():
            if name == endpoint:
                return lan
        raise NoAnswer(f"{endpoint} has no journal of leases")

    async def _end(self, lan: LeasedLan, task: "asyncio.Task[None]") -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await lan.close()
