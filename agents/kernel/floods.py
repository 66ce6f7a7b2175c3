"""The flood entries of tunnels, whole though the kernel's dumps are not.

The kernel writes a forwarding database out piece by piece, and goes on by the number of entries that it has written.
If entries ahead of that were deleted meanwhile, it passes over as many that are there all along, and no flag tells.
Others' MACs come and go as they like: a flood entry that a dump lacks is no news, and a LAN whose tunnels were taken
for gone would lose its routes.

So what was there before is gone only if several dumps in a row lack it, and none of them is found out: a tunnel's
first flood entry can be asked for by itself, and a dump without that one has passed over the others as well.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agents.kernel.snapshot import Flood

ONE_PIECE = 32
"""Entries of a dump that the kernel writes at once, whatever the page size, so that none is passed over."""

AGAIN, PAUSE = 4, 0.02
"""Further dumps, and seconds ahead of each, in which a burst of deletions goes by."""

Entry = tuple[int, Flood]
"""The tunnel's interface index, and whereto."""

Dump = Callable[[], Awaitable[tuple[set[Entry], int]]]
"""Reads the flood entries of the tunnels, and counts those of all devices: a piece may end amid a tunnel's."""

First = Callable[[int], Awaitable[Flood | None]]
"""Reads the first flood entry of the tunnel with that interface index."""


class Floods:
    """The flood entries as they were last read."""

    def __init__(self) -> None:
        self._known: set[Entry] | None = None

    async def read(self, tunnels: set[int], dump: Dump, first: First) -> dict[int, set[Flood]]:
        """The flood entries of these tunnels, by interface index."""
        known = None if self._known is None else {entry for entry in self._known if entry[0] in tunnels}
        found, size = await dump()
        for _ in range(AGAIN):
            if size <= ONE_PIECE or (known is not None and known <= found):
                break
            await asyncio.sleep(PAUSE)
            before = found
            more, size = await dump()
            found = before | more
            if known is None and more == before:  # two agree, and there is nothing to hold them against
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
