"""What a controller does over and over: time that is over, records that are old, agents that were seen."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from controller.db import certificates, decisions, events, generations, idempotency, profiles, revisions
from controller.db.engine import Database

log = logging.getLogger(__name__)

SWEEP = 5.0
"""Seconds between two sweeps."""

PRUNE = 60
"""Every so many sweeps old events and answers are forgotten."""

CLONES = 12
"""Every so many sweeps copied machines are looked for."""


@dataclass(frozen=True)
class Chore:
    """Work that is due every so many sweeps."""

    work: Callable[[], Awaitable[object]]
    every: int = 1


async def sweep(chores: Sequence[Chore]) -> None:
    """Do what is due, in order, until cancelled. A chore that fails ends its sweep."""
    turn = 0
    while True:
        await asyncio.sleep(SWEEP)
        turn += 1
        try:
            for chore in chores:
                if turn % chore.every == 0:
                    await chore.work()
        except Exception:  # whatever is wrong with the database now, the next sweep may find it well
            log.exception("sweep")


async def prune(database: Database) -> None:
    """Forget what is too old, of all records that are kept for some time."""
    async with database.write() as session:
        await events.prune(session)
        await generations.prune(session)
        await revisions.prune(session)
        await idempotency.prune(session)
        await decisions.prune(session)
        await profiles.prune(session)
        await certificates.prune(session)
