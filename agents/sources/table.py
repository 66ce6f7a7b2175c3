"""The kernel's table of sources. It is loaded as a whole, and then changed element by element: one run of nft takes all
changes that have come meanwhile."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from agents.nft import Elements, Nft, NftError
from agents.sources.rules import TABLE, Change
from agents.storage.group_commit import GroupCommit

log = logging.getLogger(__name__)


class Table:
    """The table of one network namespace. A caller that loads it holds `turn` from when it reads what is to be in the
    table. Table calls `wake` when the kernel has refused elements, and the whole table has to be loaded again."""

    def __init__(self, nft: Nft, wake: Callable[[], None]) -> None:
        self.turn = asyncio.Lock()
        self._nft, self._wake = nft, wake
        self._pending: dict[Change, bool] = {}
        self._commit = GroupCommit(self._write)
        self._strange: int | None = None  # Nft.strange() when it was loaded; None: it was not

    @property
    def stale(self) -> bool:
        """Whether the table was never loaded, or somebody may have changed it since."""
        return self._strange is None or self._strange != self._nft.strange()

    def note(self, changes: Mapping[Change, bool]) -> None:
        """Note elements that are to be there, or not to be there, after the next `flush`."""
        self._pending.update(changes)

    def forget(self) -> None:
        """Forget the noted elements, because the text of the next `load` has them."""
        self._pending.clear()

    async def load(self, text: str) -> None:
        """Load the text. Raises NftError and OSError: then the table still has to be loaded."""
        self._strange = None
        self._strange = await self._nft.load(text)

    async def flush(self) -> None:
        """Return when the kernel has the noted elements, or has refused them."""
        if self._strange is None and not self.turn.locked():
            return  # the whole table is still to come
        if self._pending or not self._commit.idle:
            await self._commit.written()

    async def stop(self) -> None:
        """Finish the change that is being written. The kernel's table stays."""
        await self._commit.close()

    async def _write(self) -> None:
        async with self.turn:
            pending, self._pending = self._pending, {}
            if pending and self._strange is not None:
                await self._put(pending)

    async def _put(self, pending: Mapping[Change, bool]) -> None:
        try:
            await self._nft.elements(_elements(pending))
        except (NftError, OSError) as error:
            log.error("sources are not checked as they should be: %s", error)
            self._strange = None
            self._wake()


def _elements(pending: Mapping[Change, bool]) -> list[Elements]:
    sets: dict[str, tuple[list[str], list[str]]] = {}
    for (name, element), there in pending.items():
        sets.setdefault(name, ([], []))[there].append(element)
    return [Elements(TABLE, name, add=tuple(add), remove=tuple(gone)) for name, (gone, add) in sets.items()]
