"""Agents' accounts of their leases, taken into the tables: a few statements for a whole batch.

If the agent gave a pair to a device that the database knows and that has no pair here, the pair becomes that device's;
an unknown client becomes a device. Where this is not possible (the device has another pair here, or the client is a VM
and has an MD's address, because the agent could not ask), the pair goes to a device without a name: addresses stay as
they are leased, and the next lease gets the right pair."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.addresses import AddressPlan, Kind, PlanError
from controller.core.blocks import SIZE
from controller.core.event_budget import of_endpoint
from controller.core.refusals import invalid
from controller.db import blocks, devices, events, leases, pairs
from controller.db.devices import ClientRow
from controller.db.pairs import PairRow
from controller.wire.delegations import Entry

Identity = tuple[str | None, str | None]
"""MAC and client id."""

Latest = Mapping[tuple[int, Kind], Entry]
"""Entries by their subject: a pair's number, and which half of it."""

Who = Mapping[Identity, tuple[ClientRow, bool]]
"""Clients that the database knows, and whether their devices are implicit."""


async def take_in(
    session: AsyncSession,
    endpoint: str,
    plan: AddressPlan,
    epoch: int,
    entries: Sequence[Entry],
    who: Who,
    at: datetime,
) -> tuple[int, list[Identity]]:
    """Write the entries; `who` has those of their clients that are known. Returns how many leases are new, and the
    clients of which the agent knows something else than the database."""
    latest = {(entry.number, entry.kind): entry for entry in entries}
    if not latest:
        return 0, []
    for number, _ in latest:
        try:
            plan.pair(number)
        except PlanError as error:
            raise invalid("entries", str(error)) from error
    there = await pairs.numbered(session, endpoint, {number for number, _ in latest})
    latest = {key: entry for key, entry in latest.items() if entry.sure or _agrees(there.get(key[0]), entry, who)}
    await _part_strangers(session, there, latest, who)
    held = await leases.live(session, [pair.id for pair in there.values()], at)
    await _pair(session, endpoint, epoch, there, latest, who)
    fresh = await _lease(session, endpoint, plan, there, latest, held, at)
    misnamed = []
    for (number, kind), entry in latest.items():
        if (found := who.get(identity(entry))) and number in there:
            client, implicit = found
            unnamed = not implicit and entry.device != client.device
            if unnamed or (client.device, client.kind) != (there[number].device, kind):
                misnamed.append(identity(entry))
    return fresh, misnamed


async def _part_strangers(
    session: AsyncSession,
    there: dict[int, PairRow],
    latest: Latest,
    who: Who,
) -> None:
    """Take pairs away from their devices if the agent has leased them to other clients: the database is an older
    copy."""
    doubtful = {}
    for (number, kind), entry in latest.items():
        pair, found = there.get(number), who.get(identity(entry))
        if (
            pair is not None
            and pair.device is not None
            and entry.left
            and (found is None or found[0].device != pair.device)
        ):
            doubtful[number, kind] = entry
    if not doubtful:
        return
    clients = await devices.clients(session, [there[number].device or "" for number, _ in doubtful])
    wrong = set()
    for (number, kind), entry in doubtful.items():
        of = clients.get((there[number].device or "", kind))
        if of is not None and (of.client_id or of.mac) not in identity(entry):
            wrong.add(number)
    gone = [there.pop(number) for number in wrong]
    await pairs.take(session, [pair.id for pair in gone])
    await pairs.tidy(session, [pair.device for pair in gone if pair.device])
    session.expunge_all()


async def _pair(
    session: AsyncSession,
    endpoint: str,
    epoch: int,
    there: dict[int, PairRow],
    latest: Latest,
    who: Who,
) -> None:
    """Add rows for the pairs that have none, and for their devices."""
    missing = sorted({number for (number, _), entry in latest.items() if number not in there and entry.left})
    if not missing:
        return
    wanted = {number: _first(latest, number) for number in missing}
    known = {found[0].device for entry in wanted.values() if (found := who.get(identity(entry)))}
    known |= {entry.device for entry in wanted.values() if entry.device}
    paired = set(await pairs.of_devices(session, endpoint, known))
    existing = await devices.named(session, known | {_name(entry) for entry in wanted.values()})
    made: list[str] = []
    clients: list[dict[str, Any]] = []
    owner: dict[int, str] = {}
    told: set[str | None] = set()
    for number, entry in wanted.items():
        found = who.get(identity(entry))
        name = found[0].device if found and found[0].kind == entry.kind else None if found else entry.device
        if name is None or name in paired or name not in existing:
            name = _name(entry)
            unknown = found is None and entry.kind == "md" and name not in existing
            if unknown and told.isdisjoint(set(identity(entry)) - {None}):
                told |= set(identity(entry))
                clients.append({"device": name, "kind": "md", "mac": entry.mac, "client_id": entry.client_id})
            else:
                name = devices.nameless()
            made.append(name)
            existing.add(name)
        paired.add(name)
        owner[number] = name
    await devices.add_all(session, made, clients)
    owners = await blocks.owners(session, endpoint, {number // SIZE for number in missing})
    lost = {number // SIZE for number in missing} - owners.keys()
    await blocks.add(session, endpoint, lost, blocks.OWN)
    rows = [
        {
            "endpoint": endpoint,
            "device": owner[number],
            "number": number,
            "block": number // SIZE,
            "epoch": owners.get(number // SIZE, blocks.OWN),
            "lent": epoch,
        }
        for number in missing
    ]
    await pairs.add_all(session, rows)
    there |= await pairs.numbered(session, endpoint, missing)


async def _lease(
    session: AsyncSession,
    endpoint: str,
    plan: AddressPlan,
    there: dict[int, PairRow],
    latest: Latest,
    held: Mapping[int, Mapping[str, datetime]],
    at: datetime,
) -> int:
    rows, happened = [], []
    over: dict[tuple[int, str], tuple[str, str, str, dict[str, Any]]] = {}
    fresh = 0
    for (number, kind), entry in sorted(latest.items()):
        pair = there.get(number)
        if pair is None:
            continue
        address, was = str(plan.pair(number)[kind == "vm"]), kind in held.get(pair.id, {})
        if pair.device is None:
            if entry.left:  # leased before the agent knew of the static host
                text = f"{address} at {endpoint} is in a static host's pair, and the agent has leased it"
                happened.append(("lease-clash", endpoint, text, {"address": address, "mac": entry.mac}))
            continue
        data = {"endpoint": endpoint, "address": address, "kind": kind, "mac": entry.mac}
        if entry.left:
            row = {"pair": pair.id, "device": pair.device, "client_id": entry.client_id, "hostname": entry.hostname}
            times = {"granted_at": at, "expires_at": at + timedelta(seconds=entry.left), "revision": 1}
            rows.append(data | row | times)
            if not was:
                fresh += 1
                text = f"{address} at {endpoint} granted: {kind} of {pair.device}"
                happened.append(("lease-granted", pair.device, text, data))
        elif was:
            text = f"{address} at {endpoint} released: {kind} of {pair.device}"
            over[pair.id, kind] = ("lease-released", pair.device, text, data)
    await leases.keep(session, rows, at)
    happened += [over[half] for half in sorted(await leases.end(session, over.keys(), at))]
    await events.add_all(session, happened, caused_by=of_endpoint(endpoint))
    return fresh


def _agrees(pair: PairRow | None, entry: Entry, who: Who) -> bool:
    """Return whether an entry that the agent is not sure of can be true: the pair is free, or it is this device's."""
    found = who.get(identity(entry))
    return pair is None or (found is not None and found[0].device == pair.device)


def identity(entry: Entry) -> Identity:
    """Return how the client of an entry is known."""
    return entry.mac, entry.client_id


def _first(latest: Latest, number: int) -> Entry:
    """Return the entry that tells whose a pair is: that of its MD, if it is leased."""
    md = latest.get((number, "md"))
    return md if md is not None and md.left else latest.get((number, "vm")) or latest[number, "md"]


def _name(entry: Entry) -> str:
    """Return the name of a device that nobody registered."""
    return "dev-" + re.sub("[^0-9a-f]", "", entry.mac or entry.client_id or "")[:40]
