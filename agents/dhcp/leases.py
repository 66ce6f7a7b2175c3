"""Where leases come from: the address plan, reached however the agent reaches it."""

from typing import Protocol

from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest


class LeaseRefused(Exception):  # noqa: N818 - an answer of the plan, not a failure
    """The plan has no address for this client. The reason is for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LeaseSource(Protocol):
    """The address plan as a DHCP server sees it."""

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        """The client's lease, new or renewed; the same address for the same client. Raises LeaseRefused; any other
        exception means that the plan cannot be asked now, and the client is left to try again."""

    async def release(self, release: LeaseRelease) -> None:
        """The client gives its address back. Releasing what is not leased is no error."""
