"""Work that a controller repeats, such as removing old records."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from controller.db import (
    certificates,
    decisions,
    events,
    generations,
    idempotency,
    initiations,
    profiles,
    revisions,
    ui_sessions,
    webhook_deliveries,
    webhooks,
)
from controller.db.engine import Database

log = logging.getLogger(__name__)

SWEEP = 5.0
"""Seconds between two sweeps."""

PRUNE = 60
"""Number of sweeps from one removal of old events and answers to the next."""

CLONES = 12
"""Number of sweeps from one search for copied machines to the next."""


@dataclass(frozen=True)
class Chore:
    """Work that is due once in every `every` sweeps."""

    work: Callable[[], Awaitable[object]]
    every: int = 1


async def sweep(chores: Sequence[Chore]) -> None:
    """Run the chores that are due, in order, until cancelled. A chore that fails ends its sweep."""
    turn = 0
    while True:
        await asyncio.sleep(SWEEP)
        turn += 1
        try:
            for chore in chores:
                if turn % chore.every == 0:
                    await chore.work()
        except Exception:  # the next sweep may succeed
            log.exception("sweep")


async def prune(database: Database) -> None:
    """Delete old rows of all records that are kept for a limited time."""
    async with database.write() as session:
        await events.prune(session, webhooks.lose)
        await webhook_deliveries.prune(session)
        await generations.prune(session)
        await revisions.prune(session)
        await idempotency.prune(session)
        await decisions.prune(session)
        await profiles.prune(session)
        await initiations.prune(session)
        await certificates.prune(session)
        await ui_sessions.prune(session)
