"""What a controller does over and over: time that is over, records that are old, agents that were seen."""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from controller.db import certificates, cloudlets, decisions, events, generations, idempotency, profiles, revisions

if TYPE_CHECKING:
    from controller.region import Region

log = logging.getLogger(__name__)

SWEEP = 5.0
"""Seconds between two looks for leases whose time is over."""

PRUNE = 60
"""Every so many sweeps old events and answers are forgotten."""

CLONES = 12
"""Every so many sweeps copied machines are looked for."""


async def notice(region: "Region") -> None:
    """What every replica knows of its own agents, it writes down."""
    while True:
        await asyncio.sleep(SWEEP)
        try:
            region.journal.tell_held(leading=region.leadership.leading)
            await _note_seen(region)
        except Exception:  # whatever is wrong with the database now, it may be well the next time
            log.exception("agents that were seen")


async def sweep(region: "Region") -> None:
    """The leader's rounds."""
    region.delegations.begin()
    turn = 0
    while True:
        await asyncio.sleep(SWEEP)
        turn += 1
        try:
            await region.leases.sweep()
            await region.delegations.rest()
            await region.statics.sweep()
            await region.stocks.take()
            await region.neighbours.sweep()
            await region.tunnels.sweep()
            if turn % CLONES == 0:
                await region.cloned_clients.tell()
            if turn % PRUNE == 0:
                await region.rounds.prune()
                await region.rounds.hold()
                async with region.database.write() as session:
                    await events.prune(session)
                    await generations.prune(session)
                    await revisions.prune(session)
                    await idempotency.prune(session)
                    await decisions.prune(session)
                    await profiles.prune(session)
                    await certificates.prune(session)
                region.certificates.remind(region.journal)
        except Exception:  # whatever is wrong with the database now, the next sweep may find it well
            log.exception("sweep")


async def _note_seen(region: "Region") -> None:
    if seen := region.agents.take_seen():
        async with region.database.write() as session:
            await cloudlets.note_seen(session, seen)


async def last_words(region: "Region") -> None:
    """What has been heard and is not yet written is written, as far as the database can be reached."""
    with suppress(Exception):
        await region.neighbours.flush()
        await region.tunnels.flush()
        region.journal.tell_held(leading=region.leadership.leading, all_=True)
        await region.journal.flush()
        await _note_seen(region)
