"""The interruptions of a change: gathers the inhabitants of endpoints for `core.interruptions`."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.changes.outcomes import Interruption
from controller.core.clock import now
from controller.core.intent import Intent
from controller.core.interruptions import Inhabitants, inhabited, interruptions
from controller.db import usage, vms

BATCH = 500
"""Names in one statement, as a database limits the number of parameters."""


async def interrupted_by(session: AsyncSession, old: Intent, new: Intent) -> tuple[Interruption, ...]:
    """Return the interruptions of an edit that is not in the database yet."""
    found = interruptions(old, new, await _inhabitants(session, sorted(inhabited(old, new))))
    return tuple(map(Interruption.of, found))


async def _inhabitants(session: AsyncSession, endpoints: list[str]) -> Inhabitants:
    leases: dict[str, int] = {}
    running: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(endpoints), BATCH):
        some = endpoints[start : start + BATCH]
        leases |= await usage.leased(session, now(), some)
        for row in await vms.at(session, some):
            if row.condition not in vms.IDLE:
                running[row.endpoint] = (*running.get(row.endpoint, ()), row.name)
    return Inhabitants(leases, running)
