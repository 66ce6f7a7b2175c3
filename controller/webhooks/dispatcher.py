"""The leader's work for webhooks: one sender for each receiver, so that a slow receiver does not delay the others."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass

from controller.core.clock import now
from controller.core.unavailable import Unavailable
from controller.db import events
from controller.db import webhooks as table
from controller.db.webhooks import WebhookRow
from controller.runtime.runtime import Runtime
from controller.webhooks.sender import Sender
from controller.webhooks.vault import Locked, Vault

log = logging.getLogger(__name__)

PAUSE = 0.2
"""Least seconds between two looks at the tables; further wake-ups in that time are one."""

LOOK = 5.0
"""Seconds after which the next look happens without a wake-up."""

COUNT = 15.0
"""Seconds between two counts of backlogs."""


@dataclass(frozen=True)
class Running:
    """A sender at work for one revision of its receiver."""

    revision: int
    sender: Sender
    task: "asyncio.Task[None]"


class Dispatcher:
    """`source` is the region's name in messages."""

    def __init__(self, runtime: Runtime, vault: Vault, source: str) -> None:
        self._runtime, self._vault, self._source = runtime, vault, source
        self._running: dict[str, Running] = {}
        self._latest = 0
        self._counted = float("-inf")

    async def run(self) -> None:
        """Send events to all receivers until cancelled. Only the leader does this."""
        self._counted = float("-inf")
        with self._runtime.wakeup.listen() as rung:
            try:
                while True:
                    rung.clear()
                    try:
                        await self._look()
                    except Unavailable as away:
                        log.info("webhooks: %s", away)
                    except Exception:  # the next look may succeed
                        log.exception("webhooks")
                    await asyncio.sleep(PAUSE)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK):
                            await rung.wait()
            finally:
                await self._end(*self._running)
                self._runtime.metrics.webhook_backlog.clear()

    async def _look(self) -> None:
        """Have a sender work for each active receiver, and tell all of new events."""
        async with self._runtime.database.read() as session:
            rows = {row.name: row for row in await table.load(session)}
            latest = await events.latest(session)
            if time.monotonic() - self._counted >= COUNT:
                backlogs = {name: await table.backlog(session, row) for name, row in rows.items()}
                self._show(backlogs)
        wanted = {name: row for name, row in rows.items() if row.state == "active"}
        await self._end(*(name for name, one in self._running.items() if not _at(one, wanted.get(name))))
        for name in wanted.keys() - self._running.keys():
            await self._begin(wanted[name])
        if latest != self._latest:
            self._latest = latest
            for one in self._running.values():
                one.sender.news.set()

    def _show(self, backlogs: dict[str, int]) -> None:
        gauge = self._runtime.metrics.webhook_backlog
        gauge.clear()
        for name, backlog in backlogs.items():
            gauge.labels(name).set(backlog)
        self._counted = time.monotonic()

    async def _begin(self, row: WebhookRow) -> None:
        try:
            secrets = self._vault.open(row.name, row.sealed)
        except Locked as locked:
            if row.error != str(locked):
                log.error("webhook %s: %s", row.name, locked)
                state = {"failing_since": row.failing_since or now(), "error": str(locked)}
                async with self._runtime.database.write() as session:
                    await table.save(session, row.name, row.revision, row.position, **state)
            return
        sender = Sender(row, secrets, self._source, self._runtime)
        task = asyncio.create_task(sender.run(), name=f"webhook {row.name}")
        self._running[row.name] = Running(row.revision, sender, task)

    async def _end(self, *names: str) -> None:
        """Cancel these senders, and wait until they have written down how far they are."""
        ended = [self._running.pop(name) for name in names]
        for one in ended:
            one.task.cancel()
        for one, result in zip(
            ended, await asyncio.gather(*(e.task for e in ended), return_exceptions=True), strict=True
        ):
            if isinstance(result, Exception):
                log.error("the sender of %s failed", one.task.get_name(), exc_info=result)


def _at(one: Running, row: WebhookRow | None) -> bool:
    """Return whether a sender works for this state of its receiver."""
    return row is not None and one.revision == row.revision and not one.task.done()
