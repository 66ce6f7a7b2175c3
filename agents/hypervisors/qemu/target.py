"""Where a destination waits, in this driver's URIs: `tcp:HOST:PORT` for memory, `nbd://HOST:PORT/disk` for the disk."""

import re
from dataclasses import dataclass
from typing import Any

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.command_line import DISK
from controller.wire.moves import Target

_TCP = re.compile(r"tcp:(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]+)):(?P<port>\d{1,5})")
_NBD = re.compile(rf"nbd://(?P<place>.+)/{DISK}")


@dataclass(frozen=True)
class Place:
    """An address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def inet(self, multipath: bool) -> dict[str, Any]:
        """As QMP's `InetSocketAddress`. Multipath is MPTCP (RFC 8684)."""
        return {"host": self.host, "port": str(self.port), **({"mptcp": True} if multipath else {})}


def target(memory: list[Place], disk: Place | None) -> Target:
    return Target(memory=[f"tcp:{place}" for place in memory], disk=f"nbd://{disk}/{DISK}" if disk else None)


def memory(target: Target) -> list[Place]:
    """Raises HypervisorError on what this driver does not say."""
    return [_place(uri) for uri in target.memory]


def disk(target: Target) -> Place:
    """Raises HypervisorError if there is none."""
    match = _NBD.fullmatch(target.disk or "")
    if match is None:
        raise HypervisorError(f"{target.disk!r} is no place for a disk")
    return _place(f"tcp:{match['place']}")


def _place(uri: str) -> Place:
    match = _TCP.fullmatch(uri)
    if match is None:
        raise HypervisorError(f"{uri!r} is no place to send memory to")
    return Place(match["six"] or match["host"], int(match["port"]))
