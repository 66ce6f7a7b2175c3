"""One lease for both protocols: DHCPv4 and DHCPv6 of a LAN give a machine the same half of the same pair.

DHCPv4 knows a client by its MAC and client id, DHCPv6 by DUID and IAID. The MAC is common to both. In DHCPv6 it is the
MAC of the frame, because a client can put anything into its DUID. A client that the plan knows only by its client id is
recognised by the MAC from which it last used that id here.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from agents.dhcp.lease_source import LeaseSource
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest

Version = Literal[4, 6]

_MOST_CLIENTS = 4096


class DualStack:
    """The access of both address families to the same leases. A lease ends when the last family that uses it gives it
    back. The agent does not keep over a restart which families use a lease: then the lease ends with the first release,
    and the other family gets the same pair again at its next renewal."""

    def __init__(self, leases: LeaseSource, now: Callable[[], float] = time.monotonic) -> None:
        self._leases, self._now = leases, now
        # By endpoint and MAC: the time until which each family uses the lease. The least recently renewed comes first.
        self._used: OrderedDict[tuple[str, str], dict[Version, float]] = OrderedDict()
        self._client_ids: OrderedDict[str, str] = OrderedDict()  # by MAC, the least recently used first

    def of(self, version: Version) -> LeaseSource:
        """Return the leases as the DHCP server of one family sees them."""
        return _Family(self, version)

    async def offer(self, version: Version, request: LeaseRequest) -> LeaseGrant:
        """Offer a lease as LeaseSource.offer does."""
        if version == 6:
            request = request.model_copy(update={"client_id": self._client_ids.get(request.mac)})
        return await self._leases.offer(request)

    async def grant(self, version: Version, request: LeaseRequest) -> LeaseGrant:
        """Grant a lease as LeaseSource.grant does."""
        if version == 6:
            request = request.model_copy(update={"client_id": self._client_ids.get(request.mac)})
        grant = await self._leases.grant(request)
        if version == 4 and request.client_id is not None:
            self._client_ids.pop(request.mac, None)
            self._client_ids[request.mac] = request.client_id
        key, now = (request.endpoint, request.mac), self._now()
        self._used[key] = self._used.pop(key, {}) | {version: now + grant.seconds}
        self._forget(now)
        return grant

    async def release(self, version: Version, release: LeaseRelease) -> None:
        """Release a lease as LeaseSource.release does. Do nothing while the other family uses the lease."""
        used = self._used.get((release.endpoint, release.mac), {})
        used.pop(version, None)
        if any(until > self._now() for until in used.values()):
            return
        await self._leases.release(self._named(version, release))

    async def decline(self, version: Version, release: LeaseRelease) -> None:
        """Decline as LeaseSource.decline does, for both families: both addresses follow from one number in the pair."""
        self._used.pop((release.endpoint, release.mac), None)
        await self._leases.decline(self._named(version, release))

    def _named(self, version: Version, release: LeaseRelease) -> LeaseRelease:
        if version == 4:
            return release
        return release.model_copy(update={"client_id": self._client_ids.get(release.mac)})

    def _forget(self, now: float) -> None:
        """Forget leases that are over, and the oldest entries above the limits."""
        while len(self._client_ids) > _MOST_CLIENTS:
            self._client_ids.popitem(last=False)
        while self._used:
            oldest = next(iter(self._used))
            over = all(until <= now for until in self._used[oldest].values())
            if not over and len(self._used) <= _MOST_CLIENTS:
                return
            del self._used[oldest]


class _Family:
    """The LeaseSource of one address family."""

    def __init__(self, families: DualStack, version: Version) -> None:
        self._families, self._version = families, version

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        return await self._families.offer(self._version, request)

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        return await self._families.grant(self._version, request)

    async def release(self, release: LeaseRelease) -> None:
        await self._families.release(self._version, release)

    async def decline(self, release: LeaseRelease) -> None:
        await self._families.decline(self._version, release)
