"""A protected tunnel between two VTEPs: what is wanted, and what is. Pure, and silent about what protects it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agents.ipsec.traffic import Traffic
from controller.wire.desired import Desired


@dataclass(frozen=True, slots=True, order=True)
class TunnelPeer:
    """The other end: a cloudlet, or the host of a route server, which has to prove its name; and its VTEP."""

    cloudlet: str
    vtep: str


@dataclass(frozen=True, slots=True)
class TunnelIntent:
    """This end, and all others that it shares a pool with or has protected BGP with: there is a tunnel to each of those
    and to nobody else."""

    cloudlet: str
    vtep: str
    peers: tuple[TunnelPeer, ...]


@dataclass(frozen=True, slots=True)
class TunnelState:
    """A tunnel as it is. `since`: when it came or went; the keys of its traffic were made at `keyed` and are made
    anew at `rekey` (monotonic seconds all). `coming`: it is not there, and is being made. `ike` and `esp` are what was
    negotiated, empty while there is nothing; `why`: a reason for which it is not there, where one is known."""

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
    """Something that protects what goes between VTEPs."""

    @property
    def states(self) -> Mapping[str, TunnelState]:
        """By the peer's VTEP, one for each that is intended."""

    @property
    def problem(self) -> str | None:
        """A sentence while it cannot work at all."""

    def intend(self, intent: TunnelIntent) -> None:
        """Sets which tunnels there should be; takes effect soon."""

    def look(self) -> None:
        """What this cloudlet proves its name with, or whom it does not believe any more, may have changed."""

    async def run(self) -> None:
        """Keeps them so, until it is cancelled. Tunnels stay when it ends."""


def members(desired: Desired) -> frozenset[str]:
    """VTEPs of the other cloudlets that a desired state shares a pool with."""
    vteps = {remote.vtep for endpoint in desired.endpoints for remote in endpoint.remotes}
    return frozenset(vteps - {desired.vtep})


def intent(desired: Desired) -> TunnelIntent:
    """The tunnels that a desired state asks for: one per cloudlet, however many endpoints share however many pools, and
    one for each other end of protected BGP."""
    remotes = (remote for endpoint in desired.endpoints for remote in endpoint.remotes)
    peers = {TunnelPeer(remote.cloudlet, remote.vtep) for remote in remotes if remote.vtep != desired.vtep}
    peers |= {TunnelPeer(protected.name, protected.address) for protected in desired.protected}
    return TunnelIntent(desired.cloudlet, desired.vtep, tuple(sorted(peers)))
