"""A container that leaves: rounds while it runs, the switchover, and the way back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from time import monotonic

from agents.hypervisors.container import silence, vnics
from agents.hypervisors.container.container import Container
from agents.hypervisors.container.platform import tracked
from agents.hypervisors.container.rounds import LAST, Rounds
from agents.hypervisors.container.session import session
from agents.hypervisors.hypervisor import Fenced, HypervisorError, Refused, Site
from agents.hypervisors.paths import allow, leaves
from agents.hypervisors.record import Move
from agents.hypervisors.target import memory as places
from controller.wire.moves import Figures, Target, Tuning
from controller.wire.platforms import Platform, differences

_SOCKETS = ["ss", "-HaM"]
_PATIENCE = 60.0  # seconds that the last round may take, while the container is frozen
_FAREWELL = 10.0  # seconds until both ends have written down what they have; the container runs


async def begin(
    container: Container, move: str, target: Target, tuning: Tuning, site: Site, here: Platform, peer: str | None
) -> None:
    """Let the container belong to this move. Raises Fenced if it belongs to another one, and Refused if it does not
    run, the platform there differs, or it has sockets that CRIU does not restore. Nothing has been frozen then."""
    kept = container.known()
    if await container.runtime.status() not in ("running", "paused"):
        raise Refused(f"{container.name}: its processes have ended")
    now = kept.move
    if now is not None and now.name != move and now.role != "arrived":
        raise Fenced(f"{container.name} belongs to move {now.name}")
    if now is not None and now.name == move and now.target == target:
        return
    leaves(places(target)[0], site.address)
    if target.platform is None:
        raise Refused(f"{container.name}: the destination of move {move} does not say what is there")
    if found := differences(kept.machine, kept.platform or here, target.platform):
        raise Refused(f"{container.name} would not be the same there: {'; '.join(found)}")
    if (await container.sandbox.run(*_SOCKETS)).strip():
        raise Refused(
            f"{container.name} has Multipath TCP sockets, which CRIU does not restore: start its programs without"
            " (GODEBUG=multipathtcp=0 for those in Go)"
        )
    kept.move = Move(name=move, role="outgoing", target=target, tuning=tuning, peer=peer)
    container.save(kept)


async def memory(container: Container, site: Site, several: bool) -> AsyncIterator[Figures]:
    """Send the container's files and memory while it runs."""
    kept = container.known()
    move = kept.move
    assert move is not None and move.target is not None
    where = places(move.target)
    multipath = several and len(where) > 1
    if multipath:
        await allow()
    await container.transfer.send(session(site, container, move, where[0], multipath))
    async for figures in Rounds(container).converge(move.tuning.downtime_ms / 1000, await tracked()):
        yield figures


async def switchover(container: Container) -> Figures:
    """Freeze the container, and hand over the rest. A second call returns the same figures."""
    kept = container.known()
    move = kept.move
    if move is None or move.role != "outgoing":
        raise Fenced(f"{container.name} is on its way by no move")
    if move.handed is not None:
        return move.handed
    rounds, status = Rounds(container), await container.runtime.status()
    if status not in ("running", "paused"):
        raise Refused(f"{container.name}: its processes have ended")
    if not container.transfer.runs():
        raise HypervisorError(f"{container.name}: its memory has not been sent")
    began, before = monotonic(), await container.transfer.status()
    try:
        if status == "running":
            await container.runtime.pause()
        await silence.mute(container.sandbox)
        await vnics.detach(container.folder)
        await rounds.dump(last=True)
        async with asyncio.timeout(_PATIENCE):
            await rounds.send(LAST, last=True)
    except (HypervisorError, TimeoutError) as error:
        if status == "running":
            await _run_on(container)
        if isinstance(error, TimeoutError):
            raise HypervisorError(f"{container.name}: its state was not there within {_PATIENCE:g} s") from None
        raise
    after = await container.transfer.status()
    seconds = monotonic() - began
    wire = after["wire"] - before["wire"] if after is not None and before is not None else None
    move.handed = Figures(seconds=seconds, paused_ms=seconds * 1000, wire=wire)
    container.save(kept)
    await rounds.end()
    return move.handed


async def back(container: Container) -> None:
    """End the departure. The container runs on if its processes are there. Both ends keep their copies if they are to,
    and no round is under way."""
    kept = container.known()
    if kept.move is not None and kept.move.tuning.keep is not None and kept.move.handed is None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await Rounds(container).end()
                await container.transfer.finish()
    await container.transfer.end()
    kept.move = None
    container.save(kept)
    await container.forget_memory()
    if await container.runtime.status() in ("running", "paused"):
        await _run_on(container)


async def _run_on(container: Container) -> None:
    await silence.end(container.sandbox)
    await vnics.connect(container.folder, container.known())
    if await container.runtime.status() == "paused":
        await container.runtime.resume()
