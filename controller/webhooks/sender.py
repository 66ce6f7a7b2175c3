"""Sends events to one receiver, in order: the next one when the one before was taken. An event that the receiver does
not take is tried again, with growing pauses, for a day; then the receiver is paused."""

import asyncio
import logging
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from controller.core.clock import now
from controller.core.cloud_events import cloud_event, identity
from controller.core.unavailable import Unavailable
from controller.core.webhook_secrets import Secret, in_force
from controller.core.webhooks import ENDURED, Outcome, origin, pause
from controller.db import events, webhook_deliveries, webhooks
from controller.db.events import EventRow
from controller.db.webhooks import WebhookRow
from controller.runtime.runtime import Runtime
from controller.webhooks.post import Post
from controller.webhooks.signature import headers

log = logging.getLogger(__name__)

BATCH = 50
"""Most events in memory."""

SAVED = 1.0
"""Seconds after which the position of a busy receiver is written down. After a crash, it gets the events of at most
that time again."""

SKIPPED = 1_000
"""Events that are not for the receiver, after which its position is written down."""

RETRY = 1.0
"""Seconds between two attempts to use the database while it is away."""

FIELDS = ("id", "at", "type", "subject", "text", "data", "source")
"""The columns of an event that a receiver gets: those that the API shows."""


class Outdated(Exception):  # noqa: N818 - it says what is
    """The receiver was changed, paused or removed: another sender goes on, or none."""


class Sender:
    """Work for the receiver in `row`, as long as that is at the same revision. `source`: the region's name."""

    def __init__(self, row: WebhookRow, secrets: Sequence[Secret], source: str, runtime: Runtime) -> None:
        self.news = asyncio.Event()
        """Set when there may be new events."""
        self._row, self._secrets, self._source = row, secrets, source
        self._database, self._metrics, self._wakeup = runtime.database, runtime.metrics, runtime.wakeup
        for counted in (self._metrics.webhooks_sent, self._metrics.webhooks_failed):
            counted.labels(row.name)  # begins with 0, so that alerts count a first failure
        self._position = self._saved = row.position
        self._attempts: list[dict[str, Any]] = []
        """Attempts that are not written down yet."""
        self._saved_at = time.monotonic()

    async def run(self) -> None:
        """Send events until cancelled, or until the receiver is another one, or paused."""
        post = Post(self._row.url, self._row.root)
        try:
            while True:
                try:
                    await self._turn(post)
                except Unavailable:
                    await asyncio.sleep(RETRY)
        except Outdated:
            return
        finally:
            await post.close()
            if self._attempts:
                with suppress(Unavailable, Outdated):
                    await self._save()

    async def _turn(self, post: Post) -> None:
        """Send the next events, or wait for some."""
        self.news.clear()
        async with self._database.read() as session:
            latest = await events.latest(session)  # read first: events in between are among the rows
            rows = await events.after(session, self._position, BATCH, self._row.which)
        for row in rows:
            await self._deliver(post, row)
        if len(rows) == BATCH:
            return
        self._position = max(self._position, latest)
        failed = self._row.failing_since is not None
        if failed:  # for a reason, or at an event, that is not there any more
            self._row.begin_anew()
        if self._attempts or failed or self._position - self._saved >= SKIPPED:
            await self._save()
        await self.news.wait()

    async def _deliver(self, post: Post, event: EventRow) -> None:
        """Send an event until the receiver has taken it."""
        row, id_ = self._row, identity(event.id, event.at)
        body = cloud_event(self._source, id_, event.id, {name: getattr(event, name) for name in FIELDS})
        while True:
            if row.retry_at is not None:
                await asyncio.sleep(max(0.0, (row.retry_at - now()).total_seconds()))
            at = now()
            outcome = await post.send(body, headers(in_force(self._secrets, at), id_, body, at))
            row.attempts += 1
            self._note(event, outcome)
            if outcome.delivered:
                break
            await self._failed(outcome)
        row.begin_anew()
        self._position = event.id
        if time.monotonic() - self._saved_at >= SAVED:
            await self._save()

    def _note(self, event: EventRow, outcome: Outcome) -> None:
        row = self._row
        (self._metrics.webhooks_sent if outcome.delivered else self._metrics.webhooks_failed).labels(row.name).inc()
        attempt = {"webhook": row.name, "event": event.id, "type": event.type, "at": now(), "attempt": row.attempts}
        attempt |= {"status": outcome.status, "milliseconds": outcome.milliseconds, "reason": outcome.reason}
        self._attempts.append(attempt)

    async def _failed(self, outcome: Outcome) -> None:
        """Write down when to try again, or pause the receiver. Raises Outdated, and Unavailable."""
        row = self._row
        row.failing_since, row.error = row.failing_since or now(), outcome.reason
        log.info("webhook %s at %s: attempt %d failed: %s", row.name, origin(row.url), row.attempts, outcome.reason)
        if outcome.gone:
            await self._pause(f"{outcome.reason}: it wants no more events")
        if now() - row.failing_since >= ENDURED:
            await self._pause(f"it has failed since {row.failing_since:%Y-%m-%dT%H:%M:%SZ}: {outcome.reason}"[:300])
        wait = pause(row.attempts, random.random(), outcome.retry_after)
        row.retry_at = min(now() + timedelta(seconds=wait), row.failing_since + ENDURED)
        await self._save()

    async def _save(self) -> None:
        """Write down the position and the attempts. Raises Outdated, and Unavailable."""
        await self._write(
            {name: getattr(self._row, name) for name in ("failing_since", "attempts", "retry_at", "error")}
        )

    async def _pause(self, why: str) -> None:
        """Pause the receiver, and say so in an event. Raises Outdated, or Unavailable."""
        row = self._row
        text = f"webhook {row.name} is paused: {why}; weft webhook set {row.name} --resume lets it go on"
        log.warning("%s", text)
        state = {"state": "paused", "paused_because": why, "revision": row.revision + 1}
        await self._write({**state, "failing_since": row.failing_since, "error": row.error}, "webhook-paused", text)
        self._wakeup.ring()
        raise Outdated

    async def _write(self, state: dict[str, Any], type: str = "", text: str = "") -> None:
        row, position = self._row, self._position
        async with self._database.write() as session:
            if not await webhooks.save(session, row.name, row.revision, position, **state):
                self._attempts = []
                raise Outdated
            await webhook_deliveries.add(session, self._attempts)
            if type:
                await events.add(session, type, row.name, text)
        self._attempts, self._saved, self._saved_at = [], position, time.monotonic()
