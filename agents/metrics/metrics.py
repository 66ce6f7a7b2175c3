"""Writes the agent's metrics into a file for node_exporter's textfile collector."""

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agents.metrics.tally import Tally
from agents.nft import Dropped, Nft, NftError
from controller.wire.reports import Report

log = logging.getLogger(__name__)

INTERVAL = 15.0
"""Seconds between two writes: as often as Prometheus usually scrapes."""


@dataclass(frozen=True)
class Seen:
    """The agent's state: whether it follows the controller, its last report, the leases by endpoint, which daemons
    beside it are as it needs them, and the endpoints by their bridges."""

    connected: bool
    report: Report | None
    leases: Mapping[str, int]
    helpers: Mapping[str, bool]
    endpoints: Mapping[str, str]


class Metrics:
    """Writes the file `path` until cancelled; None: none is wanted. `seen` returns the agent's present state, and
    `tables` are the tables of rules whose counters are refused frames."""

    def __init__(
        self,
        cloudlet: str,
        version: str,
        path: Path | None,
        nft: Nft,
        tables: tuple[str, ...],
        seen: Callable[[], Seen],
    ) -> None:
        self.tally = Tally()
        self._cloudlet, self._version, self._path = cloudlet, version, path
        self._nft, self._tables, self._seen = nft, tables, seen
        self._started = time.time()
        self._said = ""

    async def run(self) -> None:
        """Write the file again and again. A file that cannot be written is logged once, and tried again."""
        while self._path is not None:
            try:
                put(self._path, await self.text())
            except (NftError, OSError) as error:
                self._say(f"metrics are not written: {error}")
            else:
                self._say("")
            await asyncio.sleep(INTERVAL)

    async def text(self) -> str:
        """Return the metrics as they are now. Raises NftError."""
        from agents.metrics.exposition import Refused, State, render  # only agents that write metrics pay for it

        seen = self._seen()
        refused: Counter[tuple[str, str]] = Counter()
        for one in await self._nft.counters(*self._tables):
            refused[_place(seen.endpoints, one)] += one.packets
        return render(
            State(
                cloudlet=self._cloudlet,
                version=self._version,
                started=self._started,
                now=time.time(),
                connected=seen.connected,
                report=seen.report,
                tally=self.tally,
                leases=seen.leases,
                refused=[Refused(*place, packets) for place, packets in refused.items()],
                helpers=seen.helpers,
            )
        )

    def _say(self, text: str) -> None:
        if text and text != self._said:
            log.warning("%s", text)
        self._said = text


def _place(endpoints: Mapping[str, str], counter: Dropped) -> tuple[str, str]:
    """Return the endpoint and the reason of a counter. Counters of the host itself, and of bridges that are gone, have
    no endpoint, and keep their whole name."""
    endpoint = endpoints.get(counter.bridge)
    return (endpoint, counter.reason) if endpoint is not None else ("", f"{counter.bridge}.{counter.reason}")


def put(path: Path, text: str) -> None:
    """Replace the file, which everybody may read: node_exporter never sees half of it. It need not survive a crash of
    the host, so nothing waits for the disk. Raises OSError."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
        os.fchmod(file.fileno(), 0o644)  # whatever the umask is
        file.write(text)
    fresh.rename(path)
