"""What the guard has dropped. Pure, but for the question."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.fence.nft import objects
from agents.ipsec.guard import FAMILY, TABLE

_COUNTED = ("came_from", "meant_for")  # sets whose elements count


@dataclass(frozen=True)
class Drops:
    """Packets of VXLAN in the clear since the machine was booted: in all, and by the address that they came from, or
    were to go to."""

    packets_in: int = 0
    packets_out: int = 0
    came_from: Mapping[str, int] = field(default_factory=dict)
    meant_for: Mapping[str, int] = field(default_factory=dict)


async def drops() -> Drops:
    """Asks the kernel. Raises NftError, also where there is no guard."""
    return parse(await objects(FAMILY, TABLE))


def parse(found: Iterable[Mapping[str, Any]]) -> Drops:
    """From what nft says of the guard's table (libnftables-json(5))."""
    counters: dict[str, int] = {}
    sets: dict[str, dict[str, int]] = {}
    for each in found:
        if counter := each.get("counter"):
            counters[counter["name"]] = counter["packets"]
        elif (addresses := each.get("set")) and addresses["name"] in _COUNTED:
            elements = [one["elem"] for one in addresses.get("elem", ())]
            sets[addresses["name"]] = {one["val"]: one["counter"]["packets"] for one in elements}
    return Drops(counters.get("in", 0), counters.get("out", 0), sets.get("came_from", {}), sets.get("meant_for", {}))
