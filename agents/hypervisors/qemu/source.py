"""The source's side of a move: disk, memory, switchover, and the way back."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from time import monotonic
from typing import Any

from agents.hypervisors.hypervisor import Fenced, HypervisorError
from agents.hypervisors.qemu import mirror, paths, target, transfer
from agents.hypervisors.qemu.condition import POSTCOPY
from agents.hypervisors.qemu.convergence import Convergence, Sample
from agents.hypervisors.qemu.monitor import Monitor, MonitorAway, Session
from agents.hypervisors.qemu.record import Move
from controller.wire.moves import Figures

_POLL = 0.05
_SAY = 0.5  # seconds between two figures
_FAST = 0.004
_PATIENCE = 30.0  # seconds that a switchover may take
_ROUNDS = 3  # after which post-copy finishes the transfer, if it may


class Source:
    """The source of one move of one machine. `several`: several paths lead from here."""

    def __init__(self, monitor: Monitor, move: Move, options: Mapping[str, str], several: bool) -> None:
        if move.target is None:
            raise HypervisorError(f"move {move.name} has no target")
        self._monitor, self._move, self._options = monitor, move, options
        self._places = target.memory(move.target)
        self._disk = move.target.disk is not None
        self._multipath = several and len(self._places) > 1

    async def disk(self) -> AsyncIterator[Figures]:
        """Copy the disk. Ends when the copy follows the guest's writes."""
        assert self._move.target is not None
        place, began = target.disk(self._move.target), monotonic()
        if self._multipath:
            await paths.allow()
        bandwidth = self._move.tuning.bandwidth
        async with self._monitor.session() as session:
            await mirror.begin(session, place, self._multipath, bandwidth // 8 if bandwidth else None)
        while True:
            async with self._monitor.session() as session:
                found = await mirror.job(session)
            if found is None:
                raise HypervisorError("the disk's copy is not there any more")
            seconds = monotonic() - began
            done, total = found["offset"], found["len"]
            rate = done * 8 / seconds if seconds > 0 else 0.0
            yield Figures(seconds=seconds, done=done, total=total, wire=done, bandwidth=rate, paths=self._count)
            if found["ready"]:
                return
            await asyncio.sleep(_POLL)

    @property
    def _count(self) -> int:
        return len(self._places) if self._multipath else 1

    async def memory(self) -> AsyncIterator[Figures]:
        """Copy the memory. Ends when the rest fits into the pause."""
        tuning, began, said = self._move.tuning, monotonic(), 0.0
        converging = Convergence(tuning.downtime_ms / 1000)
        if self._multipath:
            await paths.allow()
        async with self._monitor.session() as session:
            if (await status(session))[0] not in (*transfer.UNDER_WAY, *POSTCOPY):
                if await _run_state(session) == "postmigrate":
                    return  # all of it has been copied already
                await self._begin(session)
        while True:
            async with self._monitor.session() as session:
                state, info = await status(session)
                if state in transfer.FAILED:
                    raise HypervisorError(f"memory cannot be transferred: {info.get('error-desc', state)}")
                ram, now = info.get("ram", {}), monotonic()
                if state == "active" and ram:
                    number = ram["dirty-sync-count"]
                    converging.add(Sample(now, number, ram["remaining"], ram["transferred"]))
                hybrid = tuning.post_copy and ram.get("dirty-sync-count", 0) > _ROUNDS
                ended = state not in ("setup", "active", "cancelling", "wait-unplug")
                ready = ended or hybrid or converging.ready
                if ready and not ended and self._disk:
                    await mirror.follow(session)
            if ready or now - said >= _SAY:
                said = now
                yield transfer.figures(info, now - began, converging.bandwidth, self._count)
            if ready:
                return
            await asyncio.sleep(_POLL)

    async def _begin(self, session: Session) -> None:
        tuning = self._move.tuning
        await _ended(session, _PATIENCE)  # the transfer before this one
        await session.execute("migrate-set-capabilities", transfer.capabilities(tuning, self._options, source=True))
        await session.execute("migrate-set-parameters", transfer.parameters(tuning, self._options))
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
        before = transfer.figures(info, 0.0, 0.0, self._count).wire or 0
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
        wire = max((told.wire or 0) - before, 0)  # the bytes before were reported for the memory
        return told.model_copy(update={"paused_ms": paused * 1000, "wire": wire})

    async def back(self) -> None:
        """End the transfer and the copy, and let the guest run on. Raises Fenced if its memory is already handed
        over."""
        async with self._monitor.session() as session:
            state, _ = await status(session)
            if state in POSTCOPY:
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
