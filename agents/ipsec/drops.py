"""The packets that the guard has dropped. Pure, except for `drops`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents.answer import Unreadable, read
from agents.ipsec.guard import FAMILY, TABLE
from agents.nft import NftError, objects

_COUNTED = ("came_from", "meant_for")  # sets whose elements count


class _Packets(TypedDict):
    """The count of one element, in nft's form."""

    packets: int


class _Counted(TypedDict):
    """An address and its count, in nft's form."""

    val: str
    counter: _Packets


class _Element(TypedDict):
    """An element of a set, in nft's form."""

    elem: _Counted


_ELEMENTS = TypeAdapter(list[_Element])


@dataclass(frozen=True)
class Drops:
    """VXLAN packets dropped since the machine was booted because they were not encrypted: in all, and by the address
    that they came from, or were to go to."""

    packets_in: int = 0
    packets_out: int = 0
    came_from: Mapping[str, int] = field(default_factory=dict)
    meant_for: Mapping[str, int] = field(default_factory=dict)


async def drops() -> Drops:
    """Return the kernel's counts. Raises NftError, also where there is no guard."""
    try:
        return parse(await objects(FAMILY, TABLE))
    except Unreadable as error:
        raise NftError(f"nft's answer to 'list table {FAMILY} {TABLE}' {error}") from None


def parse(found: Iterable[Mapping[str, Any]]) -> Drops:
    """Return the counts in nft's list of the guard's table (libnftables-json(5)). Raises Unreadable."""
    counters: dict[str, int] = {}
    sets: dict[str, dict[str, int]] = {}
    for each in found:
        if counter := each.get("counter"):
            counters[counter["name"]] = counter["packets"]
        elif (addresses := each.get("set")) and addresses["name"] in _COUNTED:
            elements = [one["elem"] for one in read(_ELEMENTS, addresses.get("elem", []))]
            sets[addresses["name"]] = {one["val"]: one["counter"]["packets"] for one in elements}
    return Drops(counters.get("in", 0), counters.get("out", 0), sets.get("came_from", {}), sets.get("meant_for", {}))
