"""The intent in its tables: read whole at start, written as the difference between two."""

from dataclasses import replace

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.intent import Cloudlet, Endpoint, Intent, State, Vcp
from controller.db import generations
from controller.db.cloudlets import CloudletRow
from controller.db.endpoints import EndpointRow
from controller.db.leases import LeaseRow
from controller.db.members import MemberRow
from controller.db.pairs import PairRow
from controller.db.vcps import VcpRow
from controller.wire.flavours import Flavour


async def load(session: AsyncSession) -> Intent:
    """The intent at the latest generation."""
    members: dict[str, set[str]] = {}
    for vcp, endpoint in await session.execute(select(MemberRow.vcp, MemberRow.endpoint)):
        members.setdefault(vcp, set()).add(endpoint)
    return Intent(
        generation=await generations.number(session),
        cloudlets={
            c.name: Cloudlet(c.name, Flavour(c.pe), c.vtep, State(c.state), c.credential, c.version)
            for c in await session.scalars(select(CloudletRow))
        },
        endpoints={
            e.name: Endpoint(
                e.name,
                e.cloudlet,
                e.site,
                e.index,
                e.prefix,
                e.gateway,
                tuple(e.ports),
                e.vni,
                e.mtu,
                e.lease_seconds,
                e.max_routes,
            )
            for e in await session.scalars(select(EndpointRow))
        },
        vcps={
            v.name: Vcp(
                v.name, Flavour(v.flavour), v.description, v.managed_by_policy, frozenset(members.get(v.name, ()))
            )
            for v in await session.scalars(select(VcpRow))
        },
    )


async def save(session: AsyncSession, old: Intent, new: Intent) -> None:
    """Writes what differs: what is gone first, referring rows before those they refer to."""
    await _remove(session, old, new)
    versions: dict[int, list[str]] = {}
    for name, cloudlet in new.cloudlets.items():
        before = old.cloudlets.get(name)
        if before is cloudlet or before == cloudlet:
            continue
        if before == replace(cloudlet, version=before.version if before else 0):
            versions.setdefault(cloudlet.version, []).append(name)
            continue
        columns = {
            "pe": cloudlet.pe.value,
            "vtep": cloudlet.vtep,
            "state": cloudlet.state.value,
            "credential": cloudlet.credential,
            "version": cloudlet.version,
        }
        if before is None:
            await session.execute(insert(CloudletRow).values(name=name, **columns))
        else:
            visible = int((before.state, before.credential) != (cloudlet.state, cloudlet.credential))
            change = update(CloudletRow).where(CloudletRow.name == name)
            await session.execute(change.values(**columns, revision=CloudletRow.revision + visible))
    for version, names in versions.items():
        await session.execute(update(CloudletRow).where(CloudletRow.name.in_(names)).values(version=version))
    for name in new.endpoints.keys() - old.endpoints.keys():
        endpoint = new.endpoints[name]
        await session.execute(insert(EndpointRow).values({**vars(endpoint), "ports": list(endpoint.ports)}))
    for name, vcp in new.vcps.items():
        if old.vcps.get(name) is not vcp:
            await _save_vcp(session, old.vcps.get(name), vcp, new.generation)


async def _remove(session: AsyncSession, old: Intent, new: Intent) -> None:
    for name, vcp in old.vcps.items():
        after = new.vcps.get(name)
        if after is not vcp and (gone := vcp.members - (after.members if after else frozenset())):
            await session.execute(delete(MemberRow).where(MemberRow.vcp == name, MemberRow.endpoint.in_(gone)))
    if vcps := old.vcps.keys() - new.vcps.keys():
        await session.execute(delete(VcpRow).where(VcpRow.name.in_(vcps)))
    if endpoints := old.endpoints.keys() - new.endpoints.keys():
        await session.execute(delete(LeaseRow).where(LeaseRow.endpoint.in_(endpoints)))
        await session.execute(delete(PairRow).where(PairRow.endpoint.in_(endpoints)))
        await session.execute(delete(EndpointRow).where(EndpointRow.name.in_(endpoints)))
    if cloudlets := old.cloudlets.keys() - new.cloudlets.keys():
        await session.execute(delete(CloudletRow).where(CloudletRow.name.in_(cloudlets)))


async def _save_vcp(session: AsyncSession, before: Vcp | None, vcp: Vcp, generation: int) -> None:
    columns = {
        "flavour": vcp.flavour.value,
        "description": vcp.description,
        "managed_by_policy": vcp.managed_by_policy,
    }
    if before is None:
        await session.execute(insert(VcpRow).values(name=vcp.name, **columns))
    elif before != vcp:
        change = update(VcpRow).where(VcpRow.name == vcp.name)
        await session.execute(change.values(**columns, revision=VcpRow.revision + 1))
    joined = vcp.members - (before.members if before else frozenset())
    if joined:
        rows = [{"vcp": vcp.name, "endpoint": endpoint, "generation": generation} for endpoint in sorted(joined)]
        await session.execute(insert(MemberRow), rows)
