"""Predictions: gathers the records of a VM, a link and past moves for `core.estimates`, and records the result of a
move for the next prediction."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.bandwidth_limits import most
from controller.core.estimates import Estimate, Facts, Profile, estimate, wire_ratio
from controller.core.follow_policy import Relation
from controller.core.intent import Intent
from controller.core.policy.model import Migration
from controller.core.profiles import Past
from controller.core.refusals import conflict, unknown
from controller.db import bandwidths, decisions, moves, neighbours, platforms, profiles
from controller.db.neighbours import NeighbourRow
from controller.db.profiles import ProfileRow
from controller.db.vms import VmRow
from controller.migration.fast_lines import steps_aside
from controller.wire.machines import Machine
from controller.wire.moves import Figures

TRANSFERS = ("disk", "memory", "switchover")
"""Acts that send state over the link."""

PAUSES = ("switchover", "activate")
"""Acts in which the VM is paused."""


def link(intent: Intent, vm: VmRow, endpoint: str) -> tuple[str, str]:
    """Return the cloudlets between which a move of the VM to an endpoint goes. Raises Refused if they are the same."""
    if endpoint not in intent.endpoints:
        raise unknown("endpoint", "endpoint", endpoint, intent.endpoints)
    source, destination = intent.endpoints[vm.endpoint].cloudlet, intent.endpoints[endpoint].cloudlet
    if source == destination:
        raise conflict(f"{vm.name} is at {source} already", "endpoint")
    return source, destination


async def predict(
    session: AsyncSession, vm: VmRow, between: tuple[str, str], policy: Migration, at: datetime
) -> tuple[Relation, Estimate]:
    """Return the relation between the two cloudlets in the neighbour database, and the estimate of a move of the VM."""
    there, back = between, (between[1], between[0])
    measured = await neighbours.between(session, *between)
    machine = vm.made_of
    platform = await platforms.of(session, between[0], machine.driver)
    facts = Facts(
        vm=vm.name,
        image=machine.image,
        memory=machine.memory,
        has_disk=machine.disk is not None,
        link=between,
        memory_used=vm.memory_used,
        dirty_rate=vm.dirty_rate,
        rtt_ms=_rtt(measured.values(), at),
        bandwidth=await bandwidths.of(session, *there),
        bandwidth_back=await bandwidths.of(session, *back),
        history=[_profile(row) for row in await profiles.history(session, vm.name, machine.image, between)],
        downtime_ms=policy.downtime_ms,
        most=most(policy.bandwidth, *there, at),
        kept=bool(policy.keep_seconds)
        and await _kept(session, vm.name, between, at - timedelta(seconds=policy.keep_seconds)),
        direct=await steps_aside(session, policy, machine.driver, between, at),
        most_rounds=platform.rounds if platform is not None else None,
    )
    return _relation(measured.get(there), at), estimate(facts)


async def _kept(session: AsyncSession, vm: str, between: tuple[str, str], since: datetime) -> bool:
    """Return whether both ends have copies that were kept since then: of the VM's way here, or made ahead of a move."""
    latest = await moves.latest_done(session, vm)
    if latest is not None and latest.ahead:
        return (latest.source, latest.destination) == between and (latest.ended_at or since) > since
    return await profiles.came_from(session, vm, between, since)


async def learn(
    session: AsyncSession,
    move: str,
    machine: Machine,
    between: tuple[str, str],
    when: tuple[datetime, datetime],
    figures: Mapping[str, Figures],
    direct: bool = False,
) -> None:
    """Record a move that was made, from its beginning to its end: the time of copying, or of the whole move if that was
    not measured, and the measurements of its acts. `direct`: it went without a thin line. To be called in the
    transaction that ends the move; a second call does nothing."""
    decided = await decisions.of_move(session, move)
    said: dict[str, Any] = decided.estimate if decided is not None else {}
    memory, disk = figures.get("memory", Figures()), figures.get("disk", Figures())
    parts = [figures[act] for act in TRANSFERS if act in figures]
    wire, took = sum(part.wire or 0 for part in parts), sum(part.seconds or 0 for part in parts)
    paused = [figures[act].paused_ms for act in PAUSES if act in figures]
    row = ProfileRow(
        move=move,
        vm=machine.name,
        image=machine.image,
        source=between[0],
        destination=between[1],
        memory=machine.memory,
        memory_used=memory.memory_used,
        dirty_rate=memory.dirty_rate,
        bandwidth=wire * 8 / _sending(memory, wire, took) if wire and took else None,
        rtt_before_ms=(said.get("inputs", {}).get("rtt_ms") or {}).get("value"),
        rtt_during_ms=await _during(session, between, when),
        predicted_seconds=said.get("seconds"),
        model_seconds=None if _guessed(said) else (said.get("forecast") or {}).get("seconds"),
        seconds=took or (when[1] - when[0]).total_seconds(),
        paused_ms=sum(one or 0 for one in paused) if any(one is not None for one in paused) else None,
        wire=wire or None,
        disk=disk.wire,
        ratio=_ratio(machine, figures, said.get("inputs", {})),
        kept=memory.pages is not None and memory.pages.kept,
        direct=direct,
        at=when[1],
    )
    if await profiles.add(session, row) and wire and took:
        fast = memory.pages.fast if memory.pages is not None else None
        await bandwidths.record(session, *between, wire, _sending(memory, wire, took), fast)


def _guessed(estimate: Mapping[str, Any]) -> bool:
    """Return whether an input of the estimate was a guess: then its error says nothing about the model."""
    return any(given.get("guessed") for given in estimate.get("inputs", {}).values())


def _sending(memory: Figures, wire: int, took: float) -> float:
    """Return the seconds for which the line was busy with these bytes, of the seconds that their transfer took. With
    kept copies most of a transfer may be waiting; weft-transfer, which tells about `pages`, measures the line."""
    if memory.pages is None or not memory.bandwidth:
        return took
    return min(wire * 8 / memory.bandwidth, took)


def _ratio(machine: Machine, figures: Mapping[str, Figures], inputs: Mapping[str, Any]) -> float | None:
    """Return the bytes on the wire for each byte of memory in use, by the memory that the next prediction starts
    from."""
    memory, last = figures.get("memory", Figures()), figures.get("switchover", Figures())
    if memory.wire is None:
        return None
    used = memory.memory_used or (inputs.get("memory") or {}).get("value") or machine.memory
    dirty = memory.dirty_rate if memory.dirty_rate is not None else (inputs.get("dirty_rate") or {}).get("value") or 0.0
    return wire_ratio(memory.wire + (last.wire or 0), used, dirty, memory.seconds or 0.0)


async def _during(session: AsyncSession, between: tuple[str, str], when: tuple[datetime, datetime]) -> float | None:
    """Return the round-trip time that was measured during a move; None if there was no measurement, as in most short
    moves."""
    rows = (await neighbours.between(session, *between)).values()
    measured = [row.median_ms for row in rows if when[0] <= row.at <= when[1] and row.median_ms is not None]
    return max(measured, default=None)


def as_json(found: Estimate) -> dict[str, Any]:
    """Return an estimate in the form that is kept and shown."""
    return asdict(found) | {"rtt_ms": found.rtt_ms}


def _relation(row: NeighbourRow | None, at: datetime) -> Relation:
    if row is None:
        return Relation.NOT
    if row.fresh_until <= at:
        return Relation.STALE
    return Relation.POSSIBLE if row.possible else Relation.NOT


def _rtt(rows: Any, at: datetime) -> float | None:
    """Return the longer of the fresh round-trip times that the two cloudlets have measured."""
    fresh = [row.median_ms for row in rows if row.fresh_until > at and row.median_ms is not None]
    return max(fresh, default=None)


def _profile(row: ProfileRow) -> Profile:
    measured = ("memory_used", "dirty_rate", "disk", "ratio", "rtt_before_ms", "rtt_during_ms", "kept", "direct")
    link = row.source, row.destination
    past = Past(row.image, link, row.seconds, row.model_seconds or 0.0, row.predicted_seconds)
    idle = max(row.seconds - row.wire * 8 / row.bandwidth, 0.0) if row.wire and row.bandwidth else None
    return Profile(past, row.vm, **{name: getattr(row, name) for name in measured}, idle=idle)
