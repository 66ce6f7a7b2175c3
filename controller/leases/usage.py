"""Counts every LAN's pairs at regular intervals, and reports LANs that are filling."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import monotonic

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.blocks import Ranges
from controller.core.clock import now
from controller.core.event_budget import of_endpoint
from controller.core.intent import Intent
from controller.core.usage import DAYS, Forecast, Peak, Usage, filling, forecast
from controller.db import endpoints, events, static_hosts
from controller.db import usage as table
from controller.db.engine import Database

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=15)
"""Time between two counts: a peak that is shorter may be missed."""

BATCH = 100
"""Most LANs in one transaction."""

TURN = 0.5
"""Seconds that one turn may take, apart from its last transaction; the rest waits for the next turn."""


@dataclass(frozen=True)
class Stock:
    """One LAN: its present usage, its past peaks, and the forecast of its usage."""

    endpoint: str
    usage: Usage
    peaks: tuple[Peak, ...]
    forecast: Forecast


class Stocks:
    """Usage of the region's LANs; `intent` returns them as they are now."""

    def __init__(self, database: Database, intent: Callable[[], Intent]) -> None:
        self._database, self._intent = database, intent
        self._looked: datetime | None = None
        self._left: list[str] = []

    async def of(self, endpoints: Iterable[str]) -> list[Stock]:
        """Return the stock of these LANs, in their order; those that are gone are left out."""
        intent, at = self._intent(), now()
        names = [name for name in endpoints if name in intent.endpoints]
        async with self._database.read() as session:
            return await _stocks(session, intent, names, at)

    async def take(self) -> None:
        """Note the day's peaks, if it is time, and report LANs that begin to fill or no longer do. In a large region
        the next turn continues, so that other work does not wait for all of it."""
        at, began = now(), monotonic()
        if not self._left:
            if self._looked is not None and at - self._looked < EVERY:
                return
            self._looked, self._left = at, sorted(self._intent().endpoints)
            async with self._database.write() as session:
                await table.prune(session, at.date())
        while self._left:
            await self._database.transact(partial(self._take, names=self._left[:BATCH], at=at))
            del self._left[:BATCH]
            if monotonic() - began > TURN:
                return

    async def _take(self, session: AsyncSession, names: list[str], at: datetime) -> None:
        """Count some LANs in one transaction, so that other writers wait for no more than that."""
        names = await endpoints.there(session, names)
        leased = await table.leased(session, at, names)
        await table.note(session, at.date(), {name: leased.get(name, 0) for name in names})
        told = await table.told(session, at.date(), names)
        for stock in await _stocks(session, self._intent(), [n for n in names if n in leased or n in told], at):
            await _tell(session, stock, stock.endpoint in told, at)


async def _stocks(session: AsyncSession, intent: Intent, names: list[str], at: datetime) -> list[Stock]:
    leased, assigned = await table.leased(session, at, names), await table.assigned(session, names)
    static = await static_hosts.counts(session, names)
    peaks = await table.peaks(session, names, (at - timedelta(days=DAYS)).date())
    stocks = []
    for name in (name for name in names if name in intent.endpoints):
        ranges = Ranges.of(intent.endpoints[name], intent.policy.addresses)
        out = ranges.excluded + static.get(name, 0)
        usage = Usage(ranges.plan.capacity, out, assigned.get(name, 0), leased.get(name, 0))
        past = tuple(peaks.get(name, ()))
        stocks.append(Stock(name, usage, past, forecast(usage, past, at)))
    return stocks


async def _tell(session: AsyncSession, stock: Stock, told: bool, at: datetime) -> None:
    now_filling = filling(stock.usage, stock.forecast, at)
    if now_filling == told:
        return
    await table.tell(session, at.date(), stock.endpoint, now_filling)
    part = f"{stock.usage.leased} of {stock.usage.usable} pairs are leased"
    source = of_endpoint(stock.endpoint)
    if now_filling:
        text = f"the LAN of {stock.endpoint} is filling: {part}; {stock.forecast.reason}"
        log.warning("%s", text)
        await events.add(session, "lan-filling", stock.endpoint, text, caused_by=source)
    else:
        text = f"the LAN of {stock.endpoint} has room again: {part}"
        await events.add(session, "lan-eased", stock.endpoint, text, caused_by=source)
