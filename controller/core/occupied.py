"""Addresses that are in use in a region, VTEPs and LANs, found by overlap."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from socket import inet_aton

from controller.core.addresses import parse_prefix
from controller.core.persistent_map import PersistentMap

network = lru_cache(maxsize=1 << 16)(parse_prefix)
"""The network of a prefix in CIDR form."""

_BLOCK = 16
"""VTEPs are stored in blocks of a /16, each sorted."""


class Vteps:
    """The VTEPs and their owners."""

    def __init__(
        self, owners: PersistentMap[str, str] | None = None, blocks: PersistentMap[int, tuple[int, ...]] | None = None
    ) -> None:
        self._owners: PersistentMap[str, str] = PersistentMap() if owners is None else owners
        self._blocks: PersistentMap[int, tuple[int, ...]] = PersistentMap() if blocks is None else blocks

    def owner(self, vtep: str) -> str | None:
        """Return the cloudlet that has the address; None if none has."""
        return self._owners.get(vtep)

    def inside(self, lan: IPv4Network) -> str | None:
        """Return the lowest VTEP inside a LAN; None if there is none. The cost is proportional to the /16s that it
        covers."""
        first, last = int(lan.network_address), int(lan.broadcast_address)
        for number in range(first >> _BLOCK, (last >> _BLOCK) + 1):
            block = self._blocks.get(number, ())
            if (at := bisect_left(block, first)) < len(block) and block[at] <= last:
                return str(IPv4Address(block[at]))
        return None

    def but(self, gone: dict[str, str], more: dict[str, str]) -> "Vteps":
        """Return the VTEPs without the addresses `gone`, and with those of `more`; both are address → cloudlet."""
        blocks: dict[int, list[int]] = {}

        def block(address: int) -> list[int]:
            number = address >> _BLOCK
            return blocks.setdefault(number, list(self._blocks.get(number, ())))

        for vtep in gone:
            address = _number(vtep)
            block(address).remove(address)
        for vtep in more:
            address = _number(vtep)
            found = block(address)
            found.insert(bisect_right(found, address), address)
        left = {number: tuple(found) for number, found in blocks.items() if found}
        return Vteps(self._owners.updated(more, gone), self._blocks.updated(left, blocks.keys() - left.keys()))


class Lans:
    """The LANs and their owners. Several endpoints may have the same prefix."""

    def __init__(self, owners: PersistentMap[tuple[int, int], frozenset[str]] | None = None) -> None:
        self._owners: PersistentMap[tuple[int, int], frozenset[str]] = PersistentMap() if owners is None else owners

    def around(self, address: IPv4Address) -> Iterator[str]:
        """Yield the endpoints whose LAN contains an address."""
        for length in range(8, 30):
            base = int(address) >> (32 - length) << (32 - length)
            yield from sorted(self._owners.get((base, length), ()))

    def but(self, gone: dict[str, str], more: dict[str, str]) -> "Lans":
        """Return the LANs without those of the endpoints `gone`, and with those of `more`; both are endpoint →
        prefix."""
        owners: dict[tuple[int, int], frozenset[str]] = {}
        for name, prefix, there in [(*entry, False) for entry in gone.items()] + [(*e, True) for e in more.items()]:
            key = _key(prefix)
            had = owners.get(key, self._owners.get(key, frozenset()))
            owners[key] = had | {name} if there else had - {name}
        return Lans(
            self._owners.updated(
                {key: names for key, names in owners.items() if names},
                [key for key, names in owners.items() if not names],
            )
        )


def _key(prefix: str) -> tuple[int, int]:
    base, _, length = prefix.partition("/")
    return _number(base), int(length)


def _number(address: str) -> int:
    """Return the number of an address that was checked at input: several times as fast as checking it again."""
    return int.from_bytes(inet_aton(address), "big")
