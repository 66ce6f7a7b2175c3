"""The regular question to the guests of this cloudlet's machines whether they answer."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from agents.guests.silence import Silence
from agents.hypervisors.hypervisor import Answering, Hypervisor, HypervisorError
from controller.wire.findings import Finding

log = logging.getLogger(__name__)

INTERVAL = 30.0
"""Seconds from one round of questions to the next."""

_PATIENCE = 10.0  # seconds for one answer, connecting to the guest included
_AT_ONCE = 4  # guests that are asked at the same time


class Machines(Protocol):
    """The machines of this cloudlet."""

    def running(self) -> Iterable[tuple[str, Hypervisor]]:
        """Return the machines that run, as far as is known, each with its driver."""

    def at_rest(self, name: str) -> bool:
        """Return whether no work is being done on a machine."""


class Guests:
    """The guests of one cloudlet. `changed` is called when a guest falls silent or answers again."""

    def __init__(self, machines: Machines, changed: Callable[[], None]) -> None:
        self._machines, self._changed = machines, changed
        self._silence = Silence()

    def findings(self) -> list[Finding]:
        """Return a finding for each guest that is silent now."""
        return self._silence.findings()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            await self.ask()

    async def ask(self) -> None:
        """Ask each guest once. Leave out machines that are being started, stopped or moved: other code talks to
        them."""
        running = dict(self._machines.running())
        changed = self._silence.keep(set(running))
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str, driver: Answering) -> bool:
            async with turn:
                answered = await self._answers(name, driver)
                # Work that began meanwhile may have kept the guest from answering.
                return self._machines.at_rest(name) and self._silence.note(name, answered)

        asked = [
            one(name, driver)
            for name, driver in running.items()
            if isinstance(driver, Answering) and self._machines.at_rest(name)
        ]
        if any([*await asyncio.gather(*asked), changed]):
            self._changed()

    async def _answers(self, name: str, driver: Answering) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE):
                return await driver.answers(name)
        except (HypervisorError, TimeoutError) as error:
            log.debug("%s: the guest does not answer: %s", name, error or "too slow")
            return False
