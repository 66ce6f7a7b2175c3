"""The rows of the database that the doctor compares."""

from collections.abc import Callable
from functools import partial

from controller.core.destinations import within_reach
from controller.core.doctor import Receiver, Settled, Vm
from controller.core.intent import Intent
from controller.db import platforms, vms, webhooks
from controller.db import replicas as replicas_table
from controller.db.engine import Database
from controller.replication.replicas import Replicas
from controller.wire.platforms import Platform

Reports = dict[str, dict[str, Platform]]
"""The platforms of each driver's hosts, by driver and cloudlet."""


async def releases(database: Database, replicas: Replicas) -> dict[str, str]:
    """Return the releases of the replicas that are alive, this one included, by name."""
    own = {replicas.name: replicas.release}
    if replicas.alone:
        return own
    async with database.read() as session:
        return {one.name: one.release for one in await replicas_table.all_of_them(session) if one.alive} | own


async def unwell_vms(database: Database) -> list[Vm]:
    """Return the VMs that have ended by themselves, or are not in the condition that they should be in."""
    async with database.read() as session:
        rows = await vms.unwell(session)
    return [Vm(row.name, row.endpoint, row.condition, row.ended) for row in rows]


async def settled_cpus(
    database: Database, intent: Intent
) -> tuple[list[Settled], Callable[[str], frozenset[str]], Reports]:
    """Return the CPUs that VMs have settled for, a function that returns the cloudlets within an endpoint's reach, and
    the reports about platforms."""
    async with database.read() as session:
        found = await vms.settled(session)
        drivers = {driver for _, driver, _ in found}
        reports = {driver: await platforms.reports(session, intent.cloudlets, driver) for driver in sorted(drivers)}
    lans = intent.endpoints
    groups = [Settled(lans[key[0]].cloudlet, *key, tuple(names)) for key, names in found.items() if key[0] in lans]
    return groups, partial(within_reach, intent), reports


async def receivers(database: Database) -> list[Receiver]:
    """Return the receivers of webhooks, and since when each fails."""
    async with database.read() as session:
        rows = await webhooks.load(session)
    return [
        Receiver(row.name, row.failing_since, row.error, row.paused_because if row.state == "paused" else None)
        for row in rows
    ]
