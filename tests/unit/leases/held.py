"""Invariants while nothing is under way: of the leases promised to clients, the rows in the database, and the addresses
that agents believe to be free."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import select

from agents.leases.pair import Kind
from controller.db.blocks import BlockRow
from controller.db.delegations import DelegationRow
from controller.db.devices import ClientRow, DeviceRow
from controller.db.engine import Database
from controller.db.leases import LeaseRow
from controller.db.pairs import PairRow
from tests.unit.leases.site import Site
from tests.unit.leases.world import DAWN

Leases = dict[tuple[int, Kind], LeaseRow]


async def check(database: Database, sites: Sequence[Site]) -> None:
    async with database.read() as session:
        clients = select(ClientRow).join(DeviceRow, DeviceRow.name == ClientRow.device).where(~DeviceRow.implicit)
        registered = {row.mac: (row.device, row.kind) for row in await session.scalars(clients)}
        for site in sites:
            for machine in site.machines:
                machine.registered = registered.get(machine.client.mac)
            pairs = list(await session.scalars(select(PairRow).where(PairRow.endpoint == site.lan)))
            live = LeaseRow.endpoint == site.lan, LeaseRow.expires_at > DAWN + timedelta(seconds=site.time)
            leases = _by_half(site, pairs, list(await session.scalars(select(LeaseRow).where(*live))))
            grants_stand(site, pairs)
            one_client_each(site)
            answers_are_known(site, leases)
            nothing_free_is_held(site, pairs, leases)
            mine = select(BlockRow.block).join(DelegationRow, DelegationRow.endpoint == BlockRow.endpoint)
            mine = mine.where(DelegationRow.incarnation == site.book.incarnation, DelegationRow.rest_seconds.is_(None))
            in_force = DelegationRow.incarnation == site.book.incarnation, DelegationRow.rest_seconds.is_(None)
            if await session.scalar(select(DelegationRow).where(*in_force)) is not None:
                owned = set(await session.scalars(mine.where(DelegationRow.epoch == BlockRow.epoch)))
                assert set(site.book.room.held) <= owned, f"{site.lan}: blocks that are not the agent's"


def _by_half(site: Site, pairs: Sequence[PairRow], leases: Sequence[LeaseRow]) -> Leases:
    """Return the leases by pair and half; check that each has its own address and the device of its pair."""
    of, found = {pair.id: pair for pair in pairs}, Leases()
    for lease in leases:
        half = of[lease.pair].number, lease.kind
        assert half not in found and lease.address == str(site.endpoint.plan.address(*half))
        assert lease.device == of[lease.pair].device, f"{lease.address} is leased to {lease.device}"
        found[half] = lease
    return found


def one_client_each(site: Site) -> None:
    double = {half: who for half, who in site.holders().items() if len(who) > 1}
    assert not double, f"{site.lan}: two clients were promised one address: {double}"


def grants_stand(site: Site, pairs: Sequence[PairRow]) -> None:
    """Check that an address granted to a device stays with it."""
    owners = {pair.number: pair.device for pair in pairs}
    for (number, _), (device, until) in site.granted.items():
        assert until <= site.time or owners.get(number) == device, f"{site.lan}: pair {number} is not {device}'s"


def answers_are_known(site: Site, leases: Leases) -> None:
    """Check that the database has every lease that the agent has answered and believes to be accounted for."""
    if site.book.changed:
        return
    for half, mac in site.told().items():
        there = leases[half].mac if half in leases else None
        assert there == mac, f"{site.lan}: {half} was leased to {mac}, and the database has {there}"


def nothing_free_is_held(site: Site, pairs: Sequence[PairRow], leases: Leases) -> None:
    """Check that no address is in use that the agent may give to a new client."""
    free = set(site.book.room._free)
    for what, numbers in (
        ("promised", {number for number, _ in site.holders()}),
        ("leased in the database", {number for number, _ in leases}),
        ("somebody's in the database", {pair.number for pair in pairs}),
    ):
        assert not free & numbers, f"{site.lan}: {free & numbers}, which the agent may give out, are {what}"
