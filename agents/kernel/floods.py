"""The flood entries of tunnels. The result is complete although the kernel's dumps may not be.

The kernel writes a forwarding database in pieces, and finds its place again by the number of entries that it has
written. If entries before that place are deleted meanwhile, the kernel skips as many entries that still exist, and sets
no flag. MACs of others come and go at any time. So a flood entry that a dump lacks may still exist, and a LAN whose
tunnels were taken for gone would lose its routes.

Therefore an earlier entry counts as gone only if several dumps in a row lack it, and no check shows them incomplete.
The check asks for a tunnel's first flood entry by itself: if the dumps lack it, they may also lack the tunnel's others.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agents.kernel.snapshot import Flood

ONE_PIECE = 32
"""The entries of a dump that the kernel writes at once on any page size, so that it skips none."""

AGAIN, PAUSE = 4, 0.02
"""The number of further dumps, and the seconds before each of them: a burst of deletions ends in that time."""

Entry = tuple[int, Flood]
"""The tunnel's interface index and a flood entry of it."""

Dump = Callable[[], Awaitable[tuple[set[Entry], int]]]
"""Reads the flood entries of the tunnels, and counts those of all devices, because a piece may end within a tunnel's
entries."""

First = Callable[[int], Awaitable[Flood | None]]
"""Reads the first flood entry of the tunnel with that interface index."""


class Floods:
    """The flood entries of the last reading."""

    def __init__(self) -> None:
        self._known: set[Entry] | None = None

    async def read(self, tunnels: set[int], dump: Dump, first: First) -> dict[int, set[Flood]]:
        """Return the flood entries of these tunnels, by interface index."""
        known = None if self._known is None else {entry for entry in self._known if entry[0] in tunnels}
        found, size = await dump()
        for _ in range(AGAIN):
            if size <= ONE_PIECE or (known is not None and known <= found):
                break
            await asyncio.sleep(PAUSE)
            before = found
            more, size = await dump()
            found = before | more
            if known is None and more == before:  # two dumps agree, and no earlier reading says otherwise
                break
        if size > ONE_PIECE:
            doubtful = tunnels if known is None else {index for index, _ in known - found}
            for index in doubtful:
                one = await first(index)
                if one is not None and (index, one) not in found:
                    found |= {(index, one)} | {entry for entry in known or () if entry[0] == index}
        self._known = found
        floods: dict[int, set[Flood]] = {}
        for index, flood in found:
            floods.setdefault(index, set()).add(flood)
        return floods
