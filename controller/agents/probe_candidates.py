"""Presence: when the region changes, those who have others to probe now are told (Teka, "Possible neighbour database").

Away from the change path: a change is on its way to route servers and agents before anybody is looked for here, and a
storm of changes is looked at once. What a stream then sends is computed for that cloudlet alone."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from controller.agents.registry import Agents
from controller.core.intent import Intent
from controller.core.neighbours import concerned
from controller.runtime.wakeup import Wakeup

GATHER = 0.1
"""Seconds in which further changes join in."""

LOOK = 5.0
"""Seconds after which the intent is looked at though no bell rang."""

AT_ONCE = 5
PAUSE = 0.01
"""Streams woken at once, and seconds to the next ones: a change of policy concerns every cloudlet, and nobody who makes
another change meanwhile is to wait behind all of them."""


async def announce(intent: Callable[[], Intent], agents: Agents, wakeup: Wakeup) -> None:
    """Works until cancelled."""
    told = intent()
    with wakeup.listen() as wake:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await wake.wait()
            if intent() is told:
                wake.clear()
                continue
            await asyncio.sleep(GATHER)
            wake.clear()
            before, told = told, intent()
            for number, name in enumerate(sorted(concerned(before, told))):
                agents.announce(name)
                if number % AT_ONCE == AT_ONCE - 1:
                    await asyncio.sleep(PAUSE)
