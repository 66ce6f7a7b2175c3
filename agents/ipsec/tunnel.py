"""A protected tunnel between two VTEPs: its intent and its state. Pure, and independent of the program that protects
it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agents.ipsec.traffic import Traffic
from controller.wire.desired import Desired


@dataclass(frozen=True, slots=True, order=True)
class TunnelPeer:
    """The other end, which has to prove its name: a cloudlet, or the host of a route server, and its VTEP."""

    cloudlet: str
    vtep: str


@dataclass(frozen=True, slots=True)
class TunnelIntent:
    """This end, and all others that share a pool or have protected BGP with it: there is a tunnel to each of those and
    to nobody else."""

    cloudlet: str
    vtep: str
    peers: tuple[TunnelPeer, ...]


@dataclass(frozen=True, slots=True)
class TunnelState:
    """The state of a tunnel. It came or went at `since`; the keys of its traffic were made at `keyed` and are replaced
    at `rekey` (all in monotonic seconds). `coming`: the tunnel is down and is being made. `ike` and `esp` are the
    negotiated proposals, empty if there are none. `why` is the reason why the tunnel is down, if it is known."""

    peer: TunnelPeer
    up: bool
    since: float
    coming: bool = False
    ike: str = ""
    esp: str = ""
    keyed: float | None = None
    rekey: float | None = None
    traffic: Traffic = field(default_factory=Traffic)
    why: str = ""


class Tunnels(Protocol):
    """A program that protects the traffic between VTEPs."""

    @property
    def states(self) -> Mapping[str, TunnelState]:
        """The states of all intended tunnels, by the peer's VTEP."""

    @property
    def problem(self) -> str | None:
        """A sentence while no tunnel can work at all, or None."""

    def intend(self, intent: TunnelIntent) -> None:
        """Set the tunnels that there should be; takes effect soon."""

    def look(self) -> None:
        """Read this cloudlet's credentials and the revocation list again, because they may have changed."""

    async def run(self) -> None:
        """Keep the tunnels as intended until it is cancelled. Tunnels stay when it ends."""


def members(desired: Desired) -> frozenset[str]:
    """Return the VTEPs of the other cloudlets that share a pool with this one."""
    vteps = {remote.vtep for endpoint in desired.endpoints for remote in endpoint.remotes}
    return frozenset(vteps - {desired.vtep})


def intent(desired: Desired) -> TunnelIntent:
    """Return the tunnels that a desired state needs: one per cloudlet, however many endpoints share however many pools,
    and one for each other end of protected BGP."""
    remotes = (remote for endpoint in desired.endpoints for remote in endpoint.remotes)
    peers = {TunnelPeer(remote.cloudlet, remote.vtep) for remote in remotes if remote.vtep != desired.vtep}
    peers |= {TunnelPeer(protected.name, protected.address) for protected in desired.protected}
    return TunnelIntent(desired.cloudlet, desired.vtep, tuple(sorted(peers)))
