"""Whom a change would cut off: a device whose VM is at another LAN than it is itself, when the two LANs share no pool
any more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controller.core.intent import Intent
from controller.core.tables import changed


@dataclass(frozen=True, order=True)
class Apart:
    """A device whose MD has a lease at one endpoint and whose VM has one at another."""

    device: str
    md: str
    vm: str


@dataclass(frozen=True, order=True)
class Disconnect:
    """A device that a change would cut off from its VM, and the pool that connects them as long as it is not made."""

    device: str
    md: str
    vm: str
    vcp: str


def losing(old: Intent, new: Intent) -> Mapping[str, frozenset[str]]:
    """Endpoint → the endpoints that it shares a pool with before, and with none after. In proportion to the pools that
    lose members."""
    lost: dict[str, set[str]] = {}
    for name in changed(old.vcps, new.vcps):
        pool, after = old.vcps.get(name), new.vcps.get(name)
        if pool is None:
            continue
        for leaver in pool.members - (after.members if after else frozenset()):
            gone = {other for other in pool.members if other != leaver and not new.share(leaver, other)}
            if gone:
                lost.setdefault(leaver, set()).update(gone)
                for other in gone:
                    lost.setdefault(other, set()).add(leaver)
    return {name: frozenset(others) for name, others in lost.items()}


def disconnects(old: Intent, new: Intent, devices: Iterable[Apart]) -> list[Disconnect]:
    """Those of the devices that lose their VM."""
    lost = losing(old, new)
    none: frozenset[str] = frozenset()
    return sorted(
        Disconnect(d.device, d.md, d.vm, min(old.pools_of.get(d.md, none) & old.pools_of.get(d.vm, none)))
        for d in devices
        if d.vm in lost.get(d.md, none)
    )
