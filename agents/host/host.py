"""The regular check of the host's rules and settings."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from agents.host.chains import dropping, finding, passes
from agents.host.settings import BRIDGED, findings, paths
from agents.nft import NftError, chains, objects
from controller.wire.findings import Finding

log = logging.getLogger(__name__)

INTERVAL = 30.0
"""Seconds between two checks."""


class Host:
    """The watch for others' rules and settings that harm these LANs. `changed` is called when the findings change."""

    def __init__(self, changed: Callable[[], None], proc: Path = Path("/proc/sys")) -> None:
        self._changed, self._proc = changed, proc
        self._bridges: tuple[str, ...] = ()
        self._news = asyncio.Event()
        self.findings: list[Finding] = []

    def intend(self, bridges: tuple[str, ...]) -> None:
        """Set the bridges of the LANs, from now on."""
        if bridges != self._bridges:
            self._bridges = bridges
            self._news.set()

    def wake(self) -> None:
        """Check at once: another program has changed rules."""
        self._news.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL):
                    await self._news.wait()
            self._news.clear()
            try:
                found = await self.look()
            except (NftError, OSError) as error:
                log.debug("the host's rules cannot be read: %s", error)
                continue
            if found != self.findings:
                for one in found:
                    if one not in self.findings:
                        log.warning("%s", one.text)
                self.findings = found
                self._changed()

    async def look(self) -> list[Finding]:
        """Return the findings of this moment; none without LANs. Raises NftError."""
        bridges = self._bridges
        if not bridges:
            return []
        values = {}
        for path in paths(bridges):
            with suppress(OSError):
                values[path] = (self._proc / path).read_text().strip()
        found = findings(values, bridges)
        for chain in dropping(await chains()):
            if not passes(chain, await objects(chain.family, chain.table), bridges):
                found.append(finding(chain, values.get(BRIDGED) == "1"))
        return found[:100]
