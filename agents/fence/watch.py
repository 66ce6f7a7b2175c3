"""Notices at once when another program removes rules of the agent, and knows for how long they were gone."""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

from agents.nft import Nft
from agents.nft.notifications import Transaction, heard
from controller.wire.findings import Finding

log = logging.getLogger(__name__)

OURS = "weft"
"""The prefix of the names of all tables of the agent."""

REMEMBERED = 3600.0
"""Seconds for which a gap is reported after it is closed."""

_LONGEST = 2**31 - 1  # most milliseconds that a report may have


class RuleWatch:
    """Calls `taken` when rules are to be loaded again, and `changed` when others have changed their own. The caller
    says by `restored()` that the agent's rules are in place. A gap begins when the kernel's notification is read, and
    ends with the pass that puts the last of the rules back."""

    def __init__(
        self,
        nft: Nft,
        taken: Callable[[], None],
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nft, self._taken, self._changed, self._clock = nft, taken, changed, clock
        self._came = asyncio.Event()
        self._pending: list[Transaction] = []
        self._lost = False
        self._arrived = self._latest = float("-inf")
        self._since: float | None = None
        self._closed: float | None = None
        self._length: int | None = None
        self._text = self._gone = ""

    async def run(self) -> None:
        """Watch until it is cancelled."""
        try:
            with heard(self._heard):
                while True:
                    await self._came.wait()
                    self._came.clear()
                    await self._look()
        except OSError as error:  # the next reconcile pass still finds them
            log.warning("changes of nftables by others are not heard of at once: %s", error)

    def _heard(self, transactions: list[Transaction] | None) -> None:
        if transactions is None:
            self._lost = True
        else:
            self._arrived = self._arrived if self._pending else self._clock()
            self._pending += transactions
        self._came.set()

    async def _look(self) -> None:
        at = self._arrived
        pending, self._pending = self._pending, []
        lost, self._lost = self._lost, False
        foreign = await self._nft.heard(pending)
        if lost or any(not name.startswith(OURS) for t in pending for name in t.touched):
            self._changed()
        removed = [t for t in foreign if any(table.startswith(OURS) for table in t.removed)]
        if removed:
            self._latest = self._clock()
        if removed and self._since is None:
            self._since, self._closed, self._length = at, None, None
            tables = ", ".join(sorted({n for t in removed for n in t.removed if n.startswith(OURS)}))
            when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._text = f"{removed[0].process or 'somebody'} took rules out of nftables ({tables}) at {when}"
            self._gone = "gone"
            log.error("%s: they are put back", self._text)
        if lost or foreign:
            self._taken()

    def restored(self, began: float) -> None:
        """Note that all rules are in the kernel, loaded by a pass that began at that time. A pass that began before the
        removal may have loaded its rules before it as well, so only the next one counts."""
        if self._since is None or began < self._latest:
            return
        self._closed = self._clock()
        self._length = min(round((self._closed - self._since) * 1000), _LONGEST)
        self._since = None
        self._gone = f"gone for {self._length} ms"
        log.warning("%s: they were %s", self._text, self._gone)

    def findings(self) -> list[Finding]:
        """Return the latest gap, while it is open and for a while after."""
        if not self._text or (self._closed is not None and self._clock() - self._closed > REMEMBERED):
            return []
        text = f"{self._text}; without them nothing fences the LANs. They were {self._gone}."
        return [
            Finding(
                kind="rules-gone",
                subject="nftables",
                expected="in place",
                found=self._gone,
                text=text[:500],
                milliseconds=self._length,
            )
        ]
