"""The intent in its tables: read as a whole at the start, written as the difference between two intents."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from controller.core.changed_names import ChangedNames
from controller.core.clock import now
from controller.core.handovers import in_order
from controller.core.intent import AnnouncePermit, Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.persistent_map import PersistentMap, changed
from controller.db import announce_permits, families, generations
from controller.db.base import Base
from controller.db.cloudlets import CloudletRow
from controller.db.endpoints import EndpointRow, lock
from controller.db.leases import LeaseRow
from controller.db.members import MemberRow
from controller.db.pairs import PairRow
from controller.db.static_hosts import StaticHostRow
from controller.db.vcps import VcpRow
from controller.wire.flavours import Flavour


async def load(session: AsyncSession) -> Intent:
    """Return the intent at the latest generation."""
    return Intent(
        generation=await generations.number(session),
        cloudlets=await _cloudlets(session, None),
        endpoints=await _endpoints(session, None),
        vcps=await _vcps(session, None),
        families=await families.load(session),
        permits=await announce_permits.load(session),
    )


async def take_over(session: AsyncSession, old: Intent, touched: ChangedNames) -> Intent:
    """Return the intent at the latest generation, which differs from `old` in the names `touched`. The work is in
    proportion to these."""
    cloudlets, endpoints = await _cloudlets(session, touched.cloudlets), await _endpoints(session, touched.endpoints)
    vcps, there = await _vcps(session, touched.vcps), await _permits(session, touched.permits)
    return old.but(
        generation=await generations.number(session),
        cloudlets=PersistentMap.of(old.cloudlets).updated(cloudlets, touched.cloudlets - cloudlets.keys()),
        endpoints=PersistentMap.of(old.endpoints).updated(endpoints, touched.endpoints - endpoints.keys()),
        vcps=PersistentMap.of(old.vcps).updated(vcps, touched.vcps - vcps.keys()),
        families=await families.load(session),
        permits=PersistentMap.of(old.permits).updated(there, touched.permits - there.keys()),
    )


Names = frozenset[str] | None
"""The wanted names; None for all."""


async def _cloudlets(session: AsyncSession, names: Names) -> dict[str, Cloudlet]:
    rows = await _rows(session, _columns(CloudletRow, Cloudlet), CloudletRow.name, names)
    return {c.name: Cloudlet(**c._asdict() | {"pe": Flavour(c.pe), "state": CloudletState(c.state)}) for c in rows}


async def _endpoints(session: AsyncSession, names: Names) -> dict[str, Endpoint]:
    rows = await _rows(session, _columns(EndpointRow, Endpoint), EndpointRow.name, names)
    return {e.name: Endpoint(**e._asdict() | {"ports": tuple(e.ports)}) for e in rows}


async def _vcps(session: AsyncSession, names: Names) -> dict[str, Vcp]:
    members: dict[str, set[str]] = {}
    for member in await _rows(session, [MemberRow.vcp, MemberRow.endpoint], MemberRow.vcp, names):
        members.setdefault(member.vcp, set()).add(member.endpoint)
    columns = [getattr(VcpRow, field.name) for field in fields(Vcp) if field.name != "members"]
    rows = await _rows(session, columns, VcpRow.name, names)
    more = [{"flavour": Flavour(v.flavour), "members": frozenset(members.get(v.name, ()))} for v in rows]
    return {v.name: Vcp(**v._asdict() | own) for v, own in zip(rows, more, strict=True)}


async def _permits(session: AsyncSession, names: frozenset[str]) -> dict[str, AnnouncePermit]:
    found: dict[str, AnnouncePermit] = {}
    for some in _some(names):
        found |= await announce_permits.some(session, some)
    return found


async def _rows(
    session: AsyncSession, columns: list[Any], name: InstrumentedAttribute[str], names: Names
) -> list[Row[Any]]:
    query = select(*columns)
    if names is None:
        return list(await session.execute(query))
    return [row for some in _some(names) for row in await session.execute(query.where(name.in_(some)))]


def _columns(table: type[Base], of: type[Cloudlet] | type[Endpoint]) -> list[Any]:
    """Return the columns that are fields of a thing, and no others: to read very many whole rows takes seconds."""
    return [getattr(table, field.name) for field in fields(of)]


async def save(session: AsyncSession, old: Intent, new: Intent) -> None:
    """Write the difference: removed things first, and referring rows before those they refer to. The work is in
    proportion to the difference."""
    await _remove(session, old, new)
    await _save_cloudlets(session, old, new)
    await _save_endpoints(session, old, new)
    made = [new.endpoints[name] for name in changed(old.endpoints, new.endpoints) if name not in old.endpoints]
    await _insert(session, EndpointRow, [{**vars(endpoint), "ports": list(endpoint.ports)} for endpoint in made])
    for name in changed(old.vcps, new.vcps):
        if name in new.vcps:
            await _save_vcp(session, old.vcps.get(name), new.vcps[name], new.generation)
    await families.save(session, old.families, new.families)
    await announce_permits.save(session, old.permits, new.permits)


async def _save_endpoints(session: AsyncSession, old: Intent, new: Intent) -> None:
    """Write the endpoints that are altered, and consents. One statement writes all that differ in the same way."""
    alike: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for name in sorted(changed(old.endpoints, new.endpoints)):
        before, after = old.endpoints.get(name), new.endpoints.get(name)
        if before and after and (values := _differing(before, after)):
            alike.setdefault(repr(values), (values, []))[1].append(name)
    if swapped := [name for values, names in alike.values() if values.get("vni") is not None for name in names]:
        # The endpoints of a cloudlet may exchange VNIs, and the database lets only one have each.
        for some in _some(swapped):
            await session.execute(update(EndpointRow).where(EndpointRow.name.in_(some)).values(vni=None))
    for values, names in alike.values():
        if values.keys() & {"consented_by", "tenant"}:
            # A consent is one tenant's: that of the former one says nothing of the present one's.
            values["consent_at"] = now() if "tenant" not in values or values.get("consented_by") else None
        for some in _some(names):
            change = update(EndpointRow).where(EndpointRow.name.in_(some))
            await session.execute(change.values(**values, revision=EndpointRow.revision + 1))


def _differing(before: Endpoint, after: Endpoint) -> dict[str, Any]:
    """Return the columns of an endpoint whose values differ."""
    values = {field.name: getattr(after, field.name) for field in fields(Endpoint)}
    values = {name: value for name, value in values.items() if value != getattr(before, name)}
    return values | {"ports": list(after.ports)} if "ports" in values else values


async def _save_cloudlets(session: AsyncSession, old: Intent, new: Intent) -> None:
    versions: dict[int, list[str]] = {}
    made: list[dict[str, Any]] = []
    for name in in_order(changed(old.cloudlets, new.cloudlets), partial(_vtep, old), partial(_vtep, new)):
        before, cloudlet = old.cloudlets.get(name), new.cloudlets.get(name)
        if cloudlet is None or before == cloudlet:
            continue
        if before is not None and before == replace(cloudlet, version=before.version):
            versions.setdefault(cloudlet.version, []).append(name)
            continue
        columns = {
            "pe": cloudlet.pe.value,
            "vtep": cloudlet.vtep,
            "state": cloudlet.state.value,
            "credential": cloudlet.credential,
            "revoked": cloudlet.revoked,
            "version": cloudlet.version,
            "labels": dict(cloudlet.labels),
            "latitude": cloudlet.latitude,
            "longitude": cloudlet.longitude,
            "key": cloudlet.key,
            "unmanaged": cloudlet.unmanaged,
            "asn": cloudlet.asn,
            "ttl_security": cloudlet.ttl_security,
        }
        if before is None:
            made.append({"name": name, **columns})
        else:
            change = update(CloudletRow).where(CloudletRow.name == name)
            await session.execute(change.values(**columns, revision=CloudletRow.revision + 1))
    await _insert(session, CloudletRow, made)
    for version, names in versions.items():
        for some in _some(names):
            await session.execute(update(CloudletRow).where(CloudletRow.name.in_(some)).values(version=version))


def _vtep(intent: Intent, cloudlet: str) -> str | None:
    found = intent.cloudlets.get(cloudlet)
    return found.vtep if found is not None else None


async def _remove(session: AsyncSession, old: Intent, new: Intent) -> None:
    pools = changed(old.vcps, new.vcps)
    for name in pools:
        before, after = old.vcps.get(name), new.vcps.get(name)
        left = (before.members if before else frozenset()) - (after.members if after else frozenset())
        for some in _some(left):
            await session.execute(delete(MemberRow).where(MemberRow.vcp == name, MemberRow.endpoint.in_(some)))
    for some in _some(name for name in pools if name not in new.vcps):
        await session.execute(delete(VcpRow).where(VcpRow.name.in_(some)))
    for some in _some(sorted(name for name in changed(old.endpoints, new.endpoints) if name not in new.endpoints)):
        await lock(session, *some)  # in the order that grants use
        await session.execute(delete(LeaseRow).where(LeaseRow.endpoint.in_(some)))
        await session.execute(delete(StaticHostRow).where(StaticHostRow.endpoint.in_(some)))
        await session.execute(delete(PairRow).where(PairRow.endpoint.in_(some)))
        await session.execute(delete(EndpointRow).where(EndpointRow.name.in_(some)))
    for some in _some(name for name in changed(old.cloudlets, new.cloudlets) if name not in new.cloudlets):
        await session.execute(delete(CloudletRow).where(CloudletRow.name.in_(some)))


async def _insert(session: AsyncSession, table: type[Base], rows: list[dict[str, Any]]) -> None:
    if rows:
        await session.execute(insert(table), rows)


def _some(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield names by the thousand: a statement takes 32,767 parameters in PostgreSQL, fewer in old SQLite."""
    left = iter(names)
    while some := list(islice(left, 1000)):
        yield some


async def _save_vcp(session: AsyncSession, before: Vcp | None, vcp: Vcp, generation: int) -> None:
    columns = {
        "flavour": vcp.flavour.value,
        "description": vcp.description,
        "managed_by_policy": vcp.managed_by_policy,
        "family": vcp.family,
    }
    if before is None:
        await session.execute(insert(VcpRow).values(name=vcp.name, **columns))
    elif before != vcp:
        change = update(VcpRow).where(VcpRow.name == vcp.name)
        await session.execute(change.values(**columns, revision=VcpRow.revision + 1))
    joined = vcp.members - (before.members if before else frozenset())
    rows = [{"vcp": vcp.name, "endpoint": endpoint, "generation": generation} for endpoint in sorted(joined)]
    await _insert(session, MemberRow, rows)
