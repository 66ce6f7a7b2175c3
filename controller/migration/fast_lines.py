"""Fast lines, over which weft-transfer would cost a move time and steps aside."""

from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.policy.model import Migration
from controller.db import bandwidths, platforms

FAST_FOR = timedelta(days=7)
"""Time after which a thin move finds out anew whether a line is fast."""


async def steps_aside(
    session: AsyncSession, policy: Migration, driver: str, between: tuple[str, str], at: datetime
) -> bool:
    """Return whether a move between these cloudlets goes without a thin line: the latest thin move found the line fast,
    not long ago, and nothing is to be kept for a way back. The agents of both ends have to know such moves."""
    if policy.keep_seconds or not await bandwidths.fast(session, *between, at - FAST_FOR):
        return False
    told = [await platforms.of(session, name, driver) for name in between]
    return all(platform is not None and platform.direct for platform in told)
