"""The places where a destination waits, in the URIs of our own drivers: `tcp:HOST:PORT` for memory,
`nbd://HOST:PORT/disk` for the disk. A host is an IP address in text form (RFC 4291, section 2.2): a name would depend
on a resolver that others control."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from agents.answer import shown
from agents.hypervisors.hypervisor import HypervisorError
from controller.wire.moves import Target

DISK = "disk"
"""The name of the disk that a destination offers."""

_TCP = re.compile(r"tcp:(?:\[(?P<six>[0-9a-fA-F:.]{2,45})\]|(?P<four>[0-9.]{7,15})):(?P<port>[1-9][0-9]{0,4})")
_NBD = re.compile(rf"nbd://(?P<place>[^/]+)/{DISK}")


@dataclass(frozen=True)
class HostPort:
    """An address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def inet(self, multipath: bool) -> dict[str, Any]:
        """Return QMP's `InetSocketAddress`. Multipath is MPTCP (RFC 8684)."""
        return {"host": self.host, "port": str(self.port), **({"mptcp": True} if multipath else {})}


def target(memory: list[HostPort], disk: HostPort | None) -> Target:
    return Target(memory=[f"tcp:{place}" for place in memory], disk=f"nbd://{disk}/{DISK}" if disk else None)


def memory(target: Target) -> list[HostPort]:
    """Return the places for memory. Raises HypervisorError on a URI that is not this driver's."""
    return [_place(uri) for uri in target.memory]


def disk(target: Target) -> HostPort:
    """Return the place for the disk. Raises HypervisorError if there is none."""
    match = _NBD.fullmatch(target.disk or "")
    if match is None:
        raise HypervisorError(f"{shown(target.disk)} is not a place for a disk")
    return _place(f"tcp:{match['place']}")


def _place(uri: str) -> HostPort:
    match = _TCP.fullmatch(uri)
    try:
        if match is None or not 0 < (port := int(match["port"])) < 1 << 16:
            raise ValueError("no such URI")
        host = str(IPv4Address(match["four"])) if match["four"] else str(IPv6Address(match["six"]))
    except ValueError:
        raise HypervisorError(f"{shown(uri)} is not a place to send memory to") from None
    return HostPort(host, port)
