"""Post-copy: the guest runs at the destination while the rest of its memory follows. There is no way back, so a path
that is cut is waited for (QEMU manual, "Postcopy", on its recovery): both ends pause, the destination listens again,
and the source connects again.

Without this code both would wait for TCP, which takes a quarter of an hour to notice, or never notices if no data is on
its way: the source has sent everything, or the destination's buffer is full. The destination's QEMU may answer nobody
meanwhile, as it waits for a page itself. Its commands therefore go out of band, on a monitor that was greeted before.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from agents.hypervisors import paths, target
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.condition import POSTCOPY
from agents.hypervisors.qemu.guard import CUT
from agents.hypervisors.qemu.monitor import CommandRefused, Garbled, MonitorAway, Session
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move
from agents.hypervisors.target import HostPort

log = logging.getLogger(__name__)

LIMIT = 600.0
"""Seconds for which a cut path is waited for, until somebody asks again."""

PAUSED, RECOVERING = "postcopy-paused", "postcopy-recover"
_LOOK = 1.0
_AGAIN = 5.0  # seconds until a failed look at the transfer is repeated
_ANSWER = 2.0  # seconds; a QEMU that waits for a page does not answer at all
_BLINDLY = 30.0  # seconds between two tries while the other end does not answer
_CLOSED = 9  # the port of `discard` (RFC 863): nobody listens there, and a reachable host says so


class _Patience:
    """The time without progress."""

    def __init__(self, name: str) -> None:
        self._name, self._since = name, monotonic()

    def well(self) -> None:
        self._since = monotonic()

    @property
    def over(self) -> bool:
        """Whether the limit is reached; writes that to the log."""
        if monotonic() - self._since <= LIMIT:
            return False
        log.error("%s: its memory has not gone on for %.0f s; it is not tried again by itself", self._name, LIMIT)
        return True


class _Reach:
    """The hosts of the other end, at each path's place. They are asked while no data shows whether a path is cut."""

    def __init__(self, places: Sequence[HostPort]) -> None:
        self._places = places
        self._answered: float | None = None

    async def lost(self) -> bool:
        """Return whether no host has answered for CUT seconds, after one did. Hosts behind a packet filter that drops
        the question never do."""
        if any(await asyncio.gather(*(_answers(place) for place in self._places))):
            self._answered = monotonic()
        return self._answered is not None and monotonic() - self._answered > CUT


async def follow(vm: Vm, move: Move, multipath: bool) -> None:
    """Work at this machine's end until all of the memory has followed, or its QEMU has ended. A look that fails, as on
    a busy host, is repeated: nobody else would notice a cut path."""
    work = give if move.role == "outgoing" else take
    while True:
        try:
            return await work(vm, move, multipath)
        except HypervisorError as error:
            if not vm.runs():
                return log.info("%s: its memory is not followed any more: %s", vm.name, error)
            log.warning("%s: the look at its post-copy failed, and is repeated: %s", vm.name, error)
        await asyncio.sleep(_AGAIN)


async def give(vm: Vm, move: Move, multipath: bool) -> None:
    """Work at the source until all of the memory has gone. Raises HypervisorError if QEMU or the kernel cannot be
    asked."""
    assert move.target is not None
    places, patience, tried = target.memory(move.target), _Patience(vm.name), -_BLINDLY
    address = {"transport": "socket", "type": "inet", **places[0].inet(multipath)}
    again = {"channels": [{"channel-type": "main", "addr": address}], "resume": True}
    reach = _Reach(places)
    async with vm.rescue.session() as rescue:
        while (state := await _status(vm)) in POSTCOPY and not patience.over:
            if state == "postcopy-active":
                patience.well()
                lost = await reach.lost()
                if await paths.silence(places) > CUT or (lost and await paths.unanswered(places) > CUT):
                    await _pause(rescue)
            elif state == RECOVERING:  # cut once more: it waits for an answer, and has nothing more to send
                if await paths.unanswered(places) > CUT:
                    await _pause(rescue)
            elif state == PAUSED and (monotonic() - tried >= _BLINDLY or await _answers(places[0])):
                tried = monotonic()
                with suppress(CommandRefused):  # the state has changed
                    await vm.monitor.execute("migrate", again)
            await asyncio.sleep(_LOOK)


async def take(vm: Vm, move: Move, multipath: bool) -> None:
    """Work at the destination until all of the memory is there, and note that. Raises HypervisorError like `give`."""
    assert move.target is not None
    places, patience, listened = target.memory(move.target), _Patience(vm.name), -_BLINDLY
    uri = {"uri": f"tcp:{places[0]}" + (",mptcp=on" if multipath else "")}
    async with vm.rescue.session() as rescue:
        while (state := await _status(vm)) in (*POSTCOPY, None) and not patience.over:
            heard = await paths.unheard(places) <= CUT
            if heard and state != PAUSED:
                patience.well()
                listened = -_BLINDLY
            elif state in ("postcopy-active", RECOVERING, None):
                await _pause(rescue)
            if state in (PAUSED, None) and not heard and monotonic() - listened >= _BLINDLY:
                with suppress(CommandRefused):  # it has not paused
                    await rescue.out_of_band("migrate-recover", uri)
                    listened = monotonic()
            await asyncio.sleep(_LOOK)
    if state not in (*POSTCOPY, None):
        vm.arrived(move.name)


async def _status(vm: Vm) -> str | None:
    """Return the status of the transfer; None if QEMU gives no answer, or none that can be read. Raises MonitorAway if
    there is no QEMU."""
    try:
        async with asyncio.timeout(_ANSWER):
            return str((await vm.monitor.execute("query-migrate")).get("status", "none"))
    except (TimeoutError, MonitorAway, Garbled):
        if not vm.runs():
            raise MonitorAway(f"{vm.name}: its QEMU has ended") from None
        return None


async def _pause(rescue: Session) -> None:
    """Give up the connections on a path that is gone."""
    with suppress(CommandRefused):  # it has paused already
        await rescue.out_of_band("migrate-pause")


async def _answers(place: HostPort) -> bool:
    """Return whether the place's host answers. A connection to the place itself would be taken for the source's."""
    try:
        async with asyncio.timeout(_ANSWER):
            _, writer = await asyncio.open_connection(place.host, _CLOSED)
            writer.close()
    except ConnectionRefusedError:
        return True
    except (OSError, TimeoutError):
        return False
    return True
