"""Finds out whether the device has joined: by packets on the wire, or else by the guest's list of sockets."""

import asyncio
from collections.abc import Awaitable, Callable

from agents.hypervisors.hypervisor import HypervisorError
from agents.multipath.guest import Guest
from agents.multipath.segment import Address
from agents.multipath.sockets import bound, joined, plain
from agents.multipath.watches import Several
from controller.wire.moves import Figures

_LOOK = 0.5  # seconds between questions to the guest
_SETTLE = 5.0  # seconds that other connections have to join after the first one
_ANNOUNCE = (5.0, 15.0)  # seconds after which an address without a join is announced again
_IDLE = 3  # looks in a row without a connection that could join, after which nothing is waited for


class NotJoined(HypervisorError):  # noqa: N818 - an answer
    """Raised when the device has not joined the new address in time. The text says what was seen instead."""


class Join:
    """The join of a new address by the connections to an old one. The VM has one of each in either family; the IPv4
    ones come first. Without a `watch` only the guest is asked."""

    def __init__(self, guest: Guest, watch: Several | None, old: tuple[Address, ...], new: tuple[Address, ...]) -> None:
        self._guest, self._watch, self._old, self._new = guest, watch, old, new
        self._trouble = ""

    async def seen(
        self, seconds: float, prepare: Callable[[], Awaitable[None]], announce: Callable[[], Awaitable[None]]
    ) -> Figures:
        """Wait for the first connection to join, then a little for the others. Return without paths if no connection
        could join. `prepare` makes sure that the new address is there: an earlier attempt may have failed. `announce`
        announces the address again, since a device that could not connect after the first announcement does not try
        again. Raises NotJoined."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        looks = [asyncio.ensure_future(self._watched(self._watch))] if self._watch is not None else []
        if self._watch is None or not self._watch.joined:
            looks.append(asyncio.ensure_future(self._told(prepare, announce)))
        try:
            done, _ = await asyncio.wait(looks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise NotJoined(await self._why(seconds))
            paths = max(task.result() for task in done)
            if paths:
                paths = max(paths, await self._settled())
        finally:
            for task in looks:
                task.cancel()
            await asyncio.gather(*looks, return_exceptions=True)
        return Figures(seconds=loop.time() - began, paths=paths or None)

    async def _watched(self, watch: Several) -> int:
        await watch.wait()
        return 1

    async def _told(self, prepare: Callable[[], Awaitable[None]], announce: Callable[[], Awaitable[None]]) -> int:
        """Return how many connections have joined, as the guest says; 0 if none could join at several looks in a
        row."""
        loop = asyncio.get_running_loop()
        prepared, idle, due = False, 0, [loop.time() + seconds for seconds in _ANNOUNCE]
        while True:
            try:
                if not prepared:
                    await prepare()
                    prepared = True
                found = await self._guest.sockets()
                self._trouble = ""
            except HypervisorError as error:
                self._trouble, idle = str(error), 0
            else:
                if count := len(joined(found, self._new)):
                    return count
                idle = 0 if bound(found, self._old, self._new) else idle + 1
                if idle == _IDLE:
                    return 0
                if due and loop.time() >= due[0]:
                    due.pop(0)
                    await self._again(announce)
            await asyncio.sleep(_LOOK)

    async def _again(self, announce: Callable[[], Awaitable[None]]) -> None:
        if self._watch is not None and self._watch.begun:
            return  # a handshake is under way
        try:
            await announce()
        except HypervisorError as error:
            self._trouble = str(error)

    async def _settled(self) -> int:
        """Wait until every connection has joined, or the time is over. Return how many have joined."""
        count = 1
        try:
            async with asyncio.timeout(_SETTLE):
                while True:
                    found = await self._guest.sockets()
                    count = max(count, len(joined(found, self._new)))
                    if not bound(found, self._old, self._new):
                        return count
                    await asyncio.sleep(_LOOK)
        except (TimeoutError, HypervisorError):
            return count

    async def _why(self, seconds: float) -> str:
        """Return a text for users: what was seen instead of a join."""
        begun = self._watch.begun if self._watch is not None else 0
        wire = f"{begun} began to, and did not finish" if begun else "nobody asked to"
        parts = [f"{self._new[0]} was not joined in {seconds:g} s: {wire if self._watch else 'the LAN is not watched'}"]
        if self._trouble:
            return "; ".join([*parts, self._trouble])
        try:
            async with asyncio.timeout(_SETTLE):
                found = await self._guest.sockets()
        except (HypervisorError, TimeoutError):
            return parts[0]
        left, others = len(bound(found, self._old, self._new)), plain(found, self._old)
        return "; ".join([*parts, f"{self._old[0]} has {left} connections of Multipath TCP and {others} others"])
