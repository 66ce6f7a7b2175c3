"""The leases of all LANs of a cloudlet, for the DHCP servers."""

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
    """The LeaseSource of a cloudlet. Journals are in `directory`. `sources` hears who has leased which address before
    the client does; `told` is called when `hosts` has changed; `ports` returns an endpoint's access ports."""

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
        """Serve the LANs of the desired state, and no others. Return the problems, as texts."""
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
        """Wait until the work of a LAN fails, and raise its error. An agent that went on without that work would grant
        leases of which the controller does not hear."""
        await self._failed.wait()
        raise self._errors[0]

    def _unless_cancelled(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            log.critical("%s failed, and the agent ends: %r", task.get_name(), error, exc_info=error)
            self._errors.append(error)
            self._failed.set()

    async def stop(self) -> None:
        """End the work of all LANs."""
        while self._lans:
            await self._end(*self._lans.popitem()[1])

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        """Offer a lease as LeaseSource.offer does."""
        return await self._of(request.endpoint).offer(request)

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """Grant a lease as LeaseSource.grant does."""
        return await self._of(request.endpoint).grant(request)

    async def release(self, release: LeaseRelease) -> None:
        """Release a lease as LeaseSource.release does."""
        await self._of(release.endpoint).release(release)

    async def decline(self, release: LeaseRelease) -> None:
        """Decline an address as LeaseSource.decline does."""
        await self._of(release.endpoint).decline(release)

    def hosts(self, endpoint: str) -> HostSettings:
        """Return the settings that an endpoint's hosts get with their address."""
        return next((lan.hosts for (name, _, _), (lan, _) in self._lans.items() if name == endpoint), NO_SETTINGS)

    def findings(self) -> list[Finding]:
        """Return the findings about the LANs' clients."""
        return [finding for lan, _ in self._lans.values() for finding in lan.findings]

    def held(self) -> dict[str, int]:
        """Return the number of leases that clients hold, by endpoint."""
        return {name: lan.held for (name, _, _), (lan, _) in self._lans.items()}

    async def meet(self, endpoint: str, client: Client) -> None:
        """Find out who a client is that is expected at an endpoint. It then gets the right address at once, however
        slow the controller is at that time. Raises NoAnswer."""
        await self._of(endpoint).meet(client)

    def leased(self, endpoint: str, address: str, client: Client) -> bool:
        """Return whether a client has leased that address. Raises NoAnswer."""
        return self._of(endpoint).leased(address, client)

    def _of(self, endpoint: str) -> LeasedLan:
        for (name, _, _), (lan, _) in self._lans.items():
            if name == endpoint:
                return lan
        raise NoAnswer(f"{endpoint} has no journal of leases")

    async def _end(self, lan: LeasedLan, task: "asyncio.Task[None]") -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await lan.close()
