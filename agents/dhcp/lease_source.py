"""The source of leases for a DHCP server: the address plan, by whatever path the agent reaches it."""

from collections.abc import Callable
from typing import Literal, Protocol

from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest

Way = Literal["in", "out"]
Counted = Callable[[Way, str], None]
"""Gets each message that a server takes in or sends: its direction and its type, in lower case."""


def uncounted(way: Way, kind: str) -> None:
    """Count nothing."""


class LeaseRefused(Exception):  # noqa: N818 - an answer of the plan, not a failure
    """Raised when the plan has no address for this client. The reason is for users."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NoAnswer(Exception):  # noqa: N818 - a condition that passes
    """Raised when no answer can be given now; the client tries again."""


class LeaseSource(Protocol):
    """The address plan as a DHCP server sees it. Any error except LeaseRefused means that there is no answer now, and
    the client tries again."""

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        """Return the lease that the client could have. Its address is kept for the client for a moment, but not leased.
        Raises LeaseRefused."""

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """Return the client's lease, new or renewed; the same client gets the same address. If the request names
        another address, nothing is leased. When this returns, the lease survives any crash. Raises LeaseRefused."""

    async def release(self, release: LeaseRelease) -> None:
        """Take back the address of a client. Releasing an address that is not leased is no error."""

    async def decline(self, release: LeaseRelease) -> None:
        """Note that the client found another user of the address that it was given: the address is not given out for a
        time, and users are told. An address that is not leased to this client stays as it is."""
