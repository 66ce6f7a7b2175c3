"""The timer of changes on trial: it rolls back each change that is not confirmed in time."""

import asyncio
import logging
from contextlib import suppress

from controller.changes.flow import LATE, Changes
from controller.core.clock import now
from controller.core.refusals import Refused
from controller.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

RETRY = 1.0
"""Seconds between two attempts to roll back, when an attempt fails."""

LOOK = 60.0
"""Seconds between two looks at the wall clock, which an operator may set."""


async def keep_time(changes: Changes, wakeup: Wakeup) -> None:
    """Roll back trials whose time is over, until cancelled. `wakeup` rings when a trial begins or ends."""
    with wakeup.listen() as wake:
        while True:
            wake.clear()
            trial = changes.trial
            left = LOOK if trial is None else trial.seconds(now())
            if left > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, LOOK)):
                        await wake.wait()
                continue
            assert trial is not None
            try:
                sent = await changes.retract(trial.generation, LATE)
                log.warning("change %s was rolled back by %s: %s", trial.generation, sent.generation, LATE)
            except Refused as refused:  # it was confirmed or rolled back in the meantime
                log.info("%s", refused.message)
                await asyncio.sleep(RETRY)
            except Exception:  # it stays on trial, and the next attempt may succeed
                log.exception("change %s cannot be rolled back yet", trial.generation)
                await asyncio.sleep(RETRY)
