"""Where leases come from: the address plan, reached however the agent reaches it."""

from typing import Protocol

from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest


class LeaseRefused(Exception):  # noqa: N818 - an answer of the plan, not a failure
    """The plan has no address for this client. The reason is for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NoAnswer(Exception):  # noqa: N818 - a condition that passes
    """Nobody can say now; the client is left to try again."""


class LeaseSource(Protocol):
    """The address plan as a DHCP server sees it. Anything raised but LeaseRefused means that there is no answer now,
    and the client is left to try again."""

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        """What the client could have: kept for it for a moment, leased to nobody. Raises LeaseRefused."""

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """The client's lease, new or renewed; the same address for the same client. Where the request names another
        address than that, nothing is leased. When this returns, the lease survives any crash. Raises LeaseRefused."""

    async def release(self, release: LeaseRelease) -> None:
        """The client gives its address back. Releasing what is not leased is no error."""

    async def decline(self, release: LeaseRelease) -> None:
        """The client found that somebody else uses the address that it was given: it is not given out for a time, and
        people are told. An address that is not leased to this client stays as it is."""
