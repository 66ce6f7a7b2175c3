"""The agent's part in sightings: the rules, the packet log and the reporter together."""

import asyncio
import logging
import socket

from agents.backoff import Backoff
from agents.dhcp.lease_source import LeaseSource
from agents.nft import Nft, NftError
from agents.sightings.lans import LanPrefixes, lans, watches
from agents.sightings.message import Seen, decode
from agents.sightings.nflog import Nflog, NflogError, present
from agents.sightings.reporter import Away, Reporter
from agents.sightings.rules import GROUP, SNAP, TABLE, ruleset
from agents.sightings.witness import Witness
from controller.wire.desired import Desired

log = logging.getLogger(__name__)


class Sightings:
    """Watches the LANs of the desired state, and reports sightings."""

    def __init__(self, cloudlet: str, controller: Away, nft: Nft | None = None) -> None:
        self._nft = nft or Nft()
        self._reporter = Reporter(cloudlet, controller)
        self._lans: dict[str, LanPrefixes] = {}
        self._bridges: dict[int, str | None] = {}
        self._text, self._loaded = "", ""
        self._intended = asyncio.Event()
        self._said = ""

    def witness(self, leases: LeaseSource) -> LeaseSource:
        """Return the same leases, with each granted lease reported as a sighting."""
        return Witness(leases, lambda endpoint, address, mac: self._reporter.tell(endpoint, address, "lease", mac))

    def intend(self, desired: Desired) -> None:
        """Watch these LANs from now on. Call this now and then also without a change: it puts rules back that somebody
        else has removed from the kernel."""
        self._lans, self._bridges = lans(desired), {}
        self._text = ruleset(watches(desired))
        self._intended.set()

    async def run(self) -> None:
        """Work until cancelled. If the kernel cannot report packets, leases are still reported."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reporter.run())
            group.create_task(self._watch())
            group.create_task(self._keep())

    async def _keep(self) -> None:
        """Keep the rules in the kernel."""
        while True:
            await self._intended.wait()
            self._intended.clear()
            text = self._text
            try:
                if text != self._loaded or (self._lans and not present(TABLE)):
                    await self._nft.load(text)
                    self._loaded = text
            except (NftError, OSError) as error:
                self._complain(f"packets from elsewhere are not seen: {error}")

    async def _watch(self) -> None:
        backoff = Backoff(first=1.0, cap=60.0)
        while True:
            try:
                await self._hear()
            except NflogError as error:
                self._complain(str(error))
            await asyncio.sleep(backoff.delay())

    async def _hear(self) -> None:
        """Receive packets until it is cancelled."""
        door, loop = Nflog(GROUP, SNAP, self._heard), asyncio.get_running_loop()
        loop.add_reader(door.fileno(), door.read)
        try:
            await loop.create_future()
        finally:
            loop.remove_reader(door.fileno())
            door.close()

    def _heard(self, datagram: bytes) -> None:
        for seen in decode(datagram):
            lan = self._lan(seen)
            if lan is not None and lan.minds(seen.way, seen.address):
                self._reporter.tell(lan.endpoint, seen.address, "packet", seen.mac)

    def _lan(self, seen: Seen) -> LanPrefixes | None:
        if seen.bridge not in self._bridges:
            try:
                self._bridges[seen.bridge] = socket.if_indextoname(seen.bridge)
            except OSError:
                self._bridges[seen.bridge] = None
        return self._lans.get(self._bridges[seen.bridge] or "")

    def _complain(self, text: str) -> None:
        if text != self._said:
            log.warning("%s", text)
        self._said = text
