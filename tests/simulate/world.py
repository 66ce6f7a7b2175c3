"""A controller over a database that is filled in bulk, as if all cloudlets had enrolled one after the other."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import func, insert, select, text

from controller.core.addresses import AddressPlan
from controller.core.blocks import SIZE
from controller.core.clock import now
from controller.core.intent import Intent
from controller.db import generations, intents
from controller.db.base import Base
from controller.db.blocks import BlockRow
from controller.db.delegations import DelegationRow
from controller.db.devices import ClientRow, DeviceRow
from controller.db.engine import Database
from controller.db.generations import GenerationRow
from controller.db.leases import LeaseRow
from controller.db.pairs import PairRow
from controller.db.schema import upgrade
from controller.region import Region
from controller.server.app import create_app
from controller.settings import Settings
from tests.postgres import Cluster
from tests.simulate.towns import DEVICES, incarnation, mac_of, name, prefix

ADMIN = "an-admin-token"
BATCH = 500
"""Cloudlets whose devices are written in one transaction."""


@dataclass(frozen=True)
class World:
    """A running controller with this many cloudlets: `http` calls its API in this process, `region` is its inner
    state."""

    database: str
    cloudlets: int
    http: httpx.AsyncClient
    region: Region


@contextmanager
def postgresql() -> Iterator[str]:
    """Yield the URL of an empty PostgreSQL database on the disk, removed when the block ends."""
    with Cluster(durable=True) as cluster:
        cluster.create("simulated")
        yield cluster.url("simulated")


async def fill(url: str, old: Intent, new: Intent, numbers: range) -> None:
    """Write what `new` adds to `old`, and the devices of these cloudlets, each with a pair and a lease."""
    database = Database(url)
    await upgrade(database)
    async with database.write() as session:
        latest = await generations.current(session)
        number, fabric = (latest.number, latest.fabric) if latest else (0, "")
        session.add(GenerationRow(number=number + 1, cause="simulated", fabric=fabric))
        await intents.save(session, old, new.but(generation=number + 1))
        beyond = await session.scalar(select(func.max(PairRow.id))) or 0
    for first in range(numbers.start, numbers.stop, BATCH):
        rows = _rows(range(first, min(first + BATCH, numbers.stop)), beyond - numbers.start * DEVICES)
        async with database.write() as session:
            for table, some in rows.items():
                await session.execute(insert(table), some)
    async with database.write() as session:
        if "postgresql" in url:  # its sequence does not know the ids that were assigned here
            await session.execute(
                text("SELECT setval(pg_get_serial_sequence('pairs', 'id'), (SELECT max(id) FROM pairs))")
            )
        await session.execute(text("ANALYZE"))
    await database.close()


def _rows(numbers: range, beyond: int) -> dict[type[Base], list[dict[str, Any]]]:
    tables = (DeviceRow, ClientRow, DelegationRow, BlockRow, PairRow, LeaseRow)
    found: dict[type[Base], list[dict[str, Any]]] = {table: [] for table in tables}
    at = now()
    until = at + timedelta(days=1)
    for number in numbers:
        lan, plan = f"{name(number)}-lan", AddressPlan.of(prefix(number))
        theirs = {"endpoint": lan, "epoch": 1}
        found[DelegationRow].append(
            theirs | {"incarnation": incarnation(number), "turn": 1, "applied": 1, "longest": 3600, "made_at": at}
        )
        found[BlockRow] += [theirs | {"block": block} for block in range(-(-DEVICES // SIZE))]
        for pair in range(DEVICES):
            row = number * DEVICES + pair + 1
            device, mac = f"d{row:07}", mac_of(row)
            found[DeviceRow].append({"name": device, "implicit": True, "created_at": at, "revision": 1})
            found[ClientRow].append({"device": device, "kind": "md", "mac": mac})
            where = {"id": row + beyond, "number": pair, "block": pair // SIZE, "epoch": 1, "used_at": at}
            whose = {"endpoint": lan, "device": device}
            found[PairRow].append(whose | where)
            lease = whose | {"pair": row + beyond, "kind": "md", "mac": mac, "revision": 1}
            address = str(IPv4Address(int(plan.network.network_address) + 2 * pair + 2))
            found[LeaseRow].append(lease | {"address": address, "granted_at": at, "expires_at": until})
    return found


@asynccontextmanager
async def controller(database: str, url: str, cloudlets: int, folder: Path) -> AsyncIterator[tuple[World, float]]:
    """Start a controller on the database; yield it and the time of its start in ms."""
    token = folder / "admin"
    token.write_text(ADMIN)
    app = create_app(Settings(database_url=url, admin_token_file=token, agent_timeout=5.0))
    started = time.perf_counter()
    async with app.router.lifespan_context(app):
        took = (time.perf_counter() - started) * 1000
        transport = httpx.ASGITransport(app)
        headers = {"Authorization": f"Bearer {ADMIN}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://c", headers=headers, timeout=60) as http:
            yield World(database, cloudlets, http, app.state.region), took
