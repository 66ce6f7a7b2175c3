"""Presence: when the region changes, wakes the streams of the cloudlets that have other neighbours to probe now (Teka,
"Possible neighbour database"), and of all when the policy has other images.

This is outside of the path of a change: a change is sent to route servers and agents before this module looks at it,
and changes in quick succession are handled together. Each stream then computes the candidates of its own cloudlet."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from controller.agents.registry import Agents
from controller.core.intent import Intent
from controller.core.neighbours import concerned
from controller.runtime.wakeup import Wakeup

GATHER = 0.1
"""Seconds in which further changes are collected."""

LOOK = 5.0
"""Seconds after which the intent is checked although no wake-up came."""

AT_ONCE = 5
PAUSE = 0.01
"""Streams woken at once, and seconds until the next ones: a change of policy concerns every cloudlet, and another
change must not wait for all of them."""


async def announce(intent: Callable[[], Intent], agents: Agents, wakeup: Wakeup) -> None:
    """Wake the streams of concerned cloudlets after each change, until cancelled."""
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
            images = before.policy.images != told.policy.images
            for number, name in enumerate(sorted(told.cloudlets if images else concerned(before, told))):
                agents.announce(name)
                if number % AT_ONCE == AT_ONCE - 1:
                    await asyncio.sleep(PAUSE)
