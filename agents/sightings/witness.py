"""Stands between the DHCP servers and the leases: a device that is given its address here, or has it confirmed, is
here."""

from collections.abc import Callable

from agents.dhcp.lease_source import LeaseSource
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest

Saw = Callable[[str, str, str], None]
"""Gets the endpoint, the address, and the MAC that asked."""


class Witness:
    """A LeaseSource that passes everything on to `leases`. Only devices are sightings, because VMs are where somebody
    put them."""

    def __init__(self, leases: LeaseSource, saw: Saw) -> None:
        self._leases, self._saw = leases, saw

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        """See LeaseSource."""
        return await self._leases.offer(request)

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """See LeaseSource."""
        grant = await self._leases.grant(request)
        if grant.kind == "md" and request.address in (None, grant.address):  # otherwise nothing was leased
            self._saw(request.endpoint, grant.address, request.mac)
        return grant

    async def release(self, release: LeaseRelease) -> None:
        """See LeaseSource."""
        await self._leases.release(release)

    async def decline(self, release: LeaseRelease) -> None:
        """See LeaseSource."""
        await self._leases.decline(release)
