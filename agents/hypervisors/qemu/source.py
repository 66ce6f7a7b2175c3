"""The source's side of a move: disk, memory, switchover, and the way back."""

import asyncio
import logging
from collections.abc import AsyncIterator
from time import monotonic
from typing import Any

from agents.hypervisors import paths, target
from agents.hypervisors.hypervisor import Fenced, HypervisorError, Site
from agents.hypervisors.qemu import mirror, thin_line, transfer
from agents.hypervisors.qemu.condition import POSTCOPY
from agents.hypervisors.qemu.convergence import Convergence, Sample
from agents.hypervisors.qemu.monitor import MonitorAway, Session
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move
from agents.hypervisors.weft_transfer import Status, at_once, figures
from controller.wire.moves import Figures

log = logging.getLogger(__name__)

_POLL = 0.05
_SAY = 0.5  # seconds between two figures
_FAST = 0.004
_PATIENCE = 30.0  # seconds that a switchover may take
_ROUNDS = 3  # after which post-copy finishes the transfer, if it may


class Source:
    """The source of one move of one machine. `several`: several paths lead from here."""

    def __init__(self, vm: Vm, move: Move, site: Site, several: bool) -> None:
        if move.target is None:
            raise HypervisorError(f"move {move.name} has no target")
        self._vm, self._monitor, self._move, self._site = vm, vm.monitor, move, site
        self._thin = transfer.thin(move.tuning, site.options)
        self._places = target.memory(move.target)
        self._disk = move.target.disk is not None
        self._multipath = several and len(self._places) > 1

    async def disk(self) -> AsyncIterator[Figures]:
        """Copy the disk. Ends when the copy follows the guest's writes."""
        began = monotonic()
        if self._multipath:
            await paths.allow()
        await self._copy_disk()
        while True:
            thin = await self._vm.disk_transfer.status() if self._thin else None
            async with self._monitor.session() as session:
                found = await mirror.job(session)
            if found is None:
                raise HypervisorError("the disk's copy is not there any more")
            seconds, done = monotonic() - began, found["offset"]
            told: dict[str, Any] = {"wire": done} if thin is None else figures(thin)
            rate = told["wire"] * 8 / seconds if seconds > 0 else 0.0
            yield Figures(seconds=seconds, done=done, total=found["len"], bandwidth=rate, paths=self._count, **told)
            if found["ready"]:
                return
            await asyncio.sleep(_POLL)

    async def _copy_disk(self) -> None:
        """Start the disk's copy, unless there is one. Raises HypervisorError."""
        assert self._move.target is not None
        place, bandwidth = target.disk(self._move.target), self._move.tuning.bandwidth
        server = {"type": "inet", **place.inet(self._multipath)}
        if self._thin:
            async with self._monitor.session() as asking:
                if await mirror.job(asking) is not None:
                    return
            kept = self._vm.known()
            await self._vm.disk_transfer.end()
            session = thin_line.disk(self._site, kept, self._move, place, self._multipath)
            # The memory follows soon: its ends connect meanwhile.
            await at_once(self._vm.disk_transfer.send(session), self._connect())
            server, bandwidth = {"type": "unix", "path": self._vm.disk_socket}, None  # it knows the limit
        async with self._monitor.session() as asking:
            await mirror.begin(asking, server, bandwidth // 8 if bandwidth else None)

    @property
    def _count(self) -> int:
        return len(self._places) if self._multipath else 1

    async def memory(self) -> AsyncIterator[Figures]:
        """Copy the memory. Ends when the rest fits into the pause."""
        tuning, began, said = self._move.tuning, monotonic(), 0.0
        converging = Convergence(tuning.downtime_ms / 1000)
        if self._multipath:
            await paths.allow()
        if self._thin:
            await self._connect()
        async with self._monitor.session() as session:
            if (await status(session))[0] not in (*transfer.UNDER_WAY, *POSTCOPY):
                if await _run_state(session) == "postmigrate":
                    return  # all of it has been copied already
                await self._begin(session)
        while True:
            thin = await self._vm.transfer.status() if self._thin else None
            async with self._monitor.session() as session:
                state, info = await status(session)
                if state in transfer.FAILED:
                    raise HypervisorError(f"memory cannot be transferred: {await self._reason(info, state)}")
                ram, now = info.get("ram", {}), monotonic()
                if state == "active" and ram:
                    converging.add(_sample(now, ram, thin))
                hybrid = tuning.post_copy and ram.get("dirty-sync-count", 0) > _ROUNDS
                ended = state not in ("setup", "active", "cancelling", "wait-unplug")
                ready = ended or hybrid or converging.ready
                if ready and not ended and self._disk:
                    await mirror.follow(session)
            if ready or now - said >= _SAY:
                said = now
                found = transfer.figures(info, now - began, converging.bandwidth, self._count)
                yield found if thin is None else found.model_copy(update=figures(thin))
            if ready:
                return
            await asyncio.sleep(_POLL)

    async def _connect(self) -> None:
        """Connect weft-transfer to the destination's, unless QEMU needs it no more. Raises HypervisorError."""
        async with self._monitor.session() as session:
            if await _run_state(session) == "postmigrate":
                return
            if not self._vm.transfer.runs():
                if (await status(session))[0] in transfer.UNDER_WAY:  # its weft-transfer has ended
                    await session.execute("migrate_cancel")
                await _ended(session, _PATIENCE)
        kept, place = self._vm.known(), self._places[0]
        await self._vm.transfer.send(thin_line.session(self._site, kept, self._move, place, self._multipath))

    async def _reason(self, info: dict[str, Any], state: str) -> str:
        said = str(info.get("error-desc", state))
        return f"{said}; {await self._vm.transfer.complaint()}" if self._thin else said

    async def _begin(self, session: Session) -> None:
        tuning, options = self._move.tuning, self._site.options
        await _ended(session, _PATIENCE)  # the transfer before this one
        await session.execute("migrate-set-capabilities", transfer.capabilities(tuning, options, source=True))
        await session.execute("migrate-set-parameters", transfer.parameters(tuning, options))
        if self._thin:
            address = {"transport": "socket", "type": "unix", "path": self._vm.socket}
        else:
            address = {"transport": "socket", "type": "inet", **self._places[0].inet(self._multipath)}
        await session.execute("migrate", {"channels": [{"channel-type": "main", "addr": address}]})

    async def switchover(self) -> Figures:
        """Stop the guest and hand its state over to the destination. If this raises, the guest is as before, or
        stopped."""
        async with self._monitor.session() as session:
            began = monotonic()
            try:
                async with asyncio.timeout(_PATIENCE):
                    return await self._hand_over(session, began)
            except (TimeoutError, MonitorAway) as error:
                await session.yank()
                raise HypervisorError(f"the switchover was not done in {monotonic() - began:.0f} s") from error

    async def _hand_over(self, session: Session, began: float) -> Figures:
        state, info = await status(session)
        if await _run_state(session) == "postmigrate" or state in POSTCOPY:  # done, and its call was cut off
            told = transfer.figures(info, 0.0, 0.0, self._count)
            return told.model_copy(update={"paused_ms": info.get("downtime"), "wire": None})
        if state not in transfer.UNDER_WAY:
            raise Fenced(f"its memory is not on the way: {info.get('error-desc', state)}")
        before = await self._wire(info)
        if self._disk and state == "active":
            await mirror.there(session)  # checked while the guest still runs
        if self._move.tuning.post_copy and state == "active":
            await session.execute("migrate-start-postcopy")
        await session.execute("stop")
        state, _ = await _reach(session, "pre-switchover", "device", "completed", *POSTCOPY)
        if state == "pre-switchover":
            if self._disk:
                await mirror.finish(session)
            await session.execute("migrate-continue", {"state": "pre-switchover"})
        _, info = await _reach(session, "completed", *POSTCOPY)
        paused = monotonic() - began
        rate = info.get("ram", {}).get("mbps", 0.0) * 1e6 / 8
        told = transfer.figures(info, paused, rate, self._count)
        wire = max(await self._wire(info) - before, 0)  # the bytes before were reported for the memory
        return told.model_copy(update={"paused_ms": paused * 1000, "wire": wire})

    async def _wire(self, info: dict[str, Any]) -> int:
        """Return the bytes that have gone over the line; 0 if weft-transfer does not say, as a switchover that is done
        does not fail for a figure."""
        if not self._thin:
            return int(info.get("ram", {}).get("transferred", 0))
        try:
            found = await self._vm.transfer.status()
        except HypervisorError as error:
            log.warning("%s", error)
            return 0
        return found["wire"] if found is not None else 0

    async def back(self) -> None:
        """End the transfer and the copy, and let the guest run on. Both ends keep their copies if they are to. Raises
        Fenced if the guest's memory is already handed over."""
        async with self._monitor.session() as session:
            state, _ = await status(session)
            if state in POSTCOPY or (self._move.irrevocable and state in ("failed", "completed")):
                raise Fenced("its memory is at the destination already")
            try:
                if state in transfer.UNDER_WAY:
                    await session.execute("migrate_cancel")
                await _ended(session, 5)
                async with asyncio.timeout(5):
                    await mirror.cancel(session)
            except (TimeoutError, MonitorAway):
                await session.yank()  # it hangs on a path that is gone
                await _ended(session, _PATIENCE)
                await mirror.cancel(session)
            if await _run_state(session) in ("paused", "postmigrate"):
                await session.execute("cont")
        await self._vm.finish()


def _sample(now: float, ram: dict[str, Any], thin: Status | None) -> Sample:
    """Return a measurement from QEMU's figures, or over a thin line from those of weft-transfer as well."""
    number, left = ram["dirty-sync-count"], ram["remaining"]
    if thin is None:
        return Sample(now, number, left, ram["transferred"])
    return Sample(now, number, thin_line.left(left, thin), thin["wire"], thin["bandwidth"])


async def status(session: Session) -> tuple[str, dict[str, Any]]:
    """Return the status of the present transfer, or of the last one; "none" if there was none."""
    info: dict[str, Any] = await session.execute("query-migrate")
    return info.get("status", "none"), info


async def _ended(session: Session, seconds: float) -> None:
    """Wait until the transfer has ended. Raises TimeoutError. A failed transfer may still hold its connections."""
    async with asyncio.timeout(seconds):
        while True:
            connections = [one for one in await session.execute("query-yank") if one["type"] == "migration"]
            if not connections and (await status(session))[0] not in transfer.UNDER_WAY:
                return
            await asyncio.sleep(_FAST)


async def _run_state(session: Session) -> str:
    return str((await session.execute("query-status"))["status"])


async def _reach(session: Session, *wanted: str) -> tuple[str, dict[str, Any]]:
    while True:
        state, info = await status(session)
        if state in wanted:
            return state, info
        if state in (*transfer.FAILED, "none"):
            raise HypervisorError(f"its state could not be handed over: {info.get('error-desc', state)}")
        await asyncio.sleep(_FAST)
