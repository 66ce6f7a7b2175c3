"""Receivers of webhooks, as operators register and change them. Any replica does this; the leader's senders see the
change by the row's revision."""

import secrets as random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.clock import now
from controller.core.cloud_events import cloud_event
from controller.core.refusals import conflict, invalid, missing
from controller.core.webhook_secrets import Secret, fresh, in_force, replaced
from controller.core.webhook_secrets import objection as unfit
from controller.core.webhooks import Outcome, objection, origin
from controller.db import events, webhook_deliveries
from controller.db import webhooks as table
from controller.db.webhooks import WebhookRow
from controller.runtime.runtime import Runtime
from controller.webhooks.post import Post, trust
from controller.webhooks.signature import headers
from controller.webhooks.vault import Locked, Vault

MOST = 32
"""Receivers of a region."""


class Webhooks:
    """The registered receivers. `plain`: their URLs may be http:// on other machines too. Every call raises Refused."""

    def __init__(self, runtime: Runtime, vault: Vault, source: str, *, plain: bool) -> None:
        self._database, self._wakeup = runtime.database, runtime.wakeup
        self._vault, self._source, self._plain = vault, source, plain

    async def add(
        self, name: str, url: str, root: str | None, secret: str | None, which: Mapping[str, str | None]
    ) -> tuple[WebhookRow, str | None]:
        """Register a receiver of the events from now on, and return it, and its secret if that was made here."""
        self._check(url, root, secret)
        made = None if secret else fresh()
        sealed = self._vault.close(name, [Secret(secret or made or "")])
        try:
            async with self._database.write() as session:
                if await table.get(session, name) is not None:
                    raise conflict(f"there is a webhook {name} already", "name")
                if (await session.scalar(select(func.count()).select_from(WebhookRow)) or 0) >= MOST:
                    raise conflict(f"there are {MOST} webhooks already")
                position = await events.latest(session)
                row = WebhookRow(name=name, url=url, root=root, sealed=sealed, position=position, **which)
                session.add(row)
                await session.flush()
                await events.add(
                    session, "webhook-added", name, f"webhook {name} was added: events go to {origin(url)}"
                )
        except IntegrityError:
            raise conflict(f"there is a webhook {name} already", "name") from None
        self._wakeup.ring()
        return row, made

    async def change(self, name: str, values: Mapping[str, Any], *, paused: bool | None) -> WebhookRow:
        """Change columns of a receiver; pause it, or let it go on where it was."""
        if "url" in values or "root" in values:
            self._check(values.get("url"), values.get("root"), None)
        async with self._database.write() as session:
            row = await self._row(session, name)
            for key, value in values.items():
                setattr(row, key, value)
            if paused:
                row.state, row.paused_because = "paused", "an operator has paused it"
            elif paused is not None:
                row.state, row.paused_because, row.missed = "active", "", 0
            self._revise(row)
            what = {True: "paused", False: "resumed", None: "changed"}[paused]
            await events.add(session, f"webhook-{what}", name, f"webhook {name} was {what}")
        self._wakeup.ring()
        return row

    async def replace_secret(self, name: str, secret: str | None, overlap: timedelta) -> tuple[WebhookRow, str | None]:
        """Sign with another secret from now on, and for the time of `overlap` with the present one as well. Return the
        receiver, and the secret if it was made here."""
        self._check(None, None, secret)
        made = None if secret else fresh()
        async with self._database.write() as session:
            row = await self._row(session, name)
            try:
                known = self._vault.open(name, row.sealed)
            except Locked:
                known = []
            at = now()
            row.sealed = self._vault.close(name, replaced(known, secret or made or "", at, at + overlap))
            self._revise(row)
            await events.add(session, "webhook-changed", name, f"webhook {name} has a new secret")
        self._wakeup.ring()
        return row, made

    async def remove(self, name: str) -> None:
        """Remove a receiver. It gets no event any more."""
        async with self._database.write() as session:
            row = await self._row(session, name)
            await webhook_deliveries.forget(session, name)
            await session.delete(row)
            await events.add(session, "webhook-removed", name, f"webhook {name} was removed")
        self._wakeup.ring()

    async def replay(self, name: str, *, after: int | None, since: datetime | None) -> WebhookRow:
        """Send the events after an id, or since a time, next, whether or not the receiver has taken them."""
        async with self._database.write() as session:
            row = await self._row(session, name)
            latest = await events.latest(session)
            if after is None:
                after = await table.position_at(session, since or now())
            elif after > latest:
                raise invalid("after", f"the latest event has the id {latest}")
            row.position, row.missed = after, 0
            self._revise(row)
            await events.add(session, "webhook-replayed", name, f"webhook {name} begins again after event {after}")
        self._wakeup.ring()
        return row

    async def test(self, name: str) -> Outcome:
        """Send an event of the type `webhook-test` now, from this replica and once, and return the outcome."""
        async with self._database.read() as session:
            row = await self._row(session, name, lock=False)
        at, id_ = now(), f"test-{random.token_hex(8)}"
        try:
            secrets = in_force(self._vault.open(name, row.sealed), at)
        except Locked as locked:
            raise conflict(f"webhook {name}: {locked}; weft webhook set {name} --new-secret makes another") from None
        event = {"id": 0, "at": at, "type": "webhook-test", "subject": name, "text": f"a test of webhook {name}"}
        body = cloud_event(self._source, id_, None, {**event, "data": {}, "source": None})
        post = Post(row.url, row.root)
        try:
            return await post.send(body, headers(secrets, id_, body, at))
        finally:
            await post.close()

    def _check(self, url: str | None, root: str | None, secret: str | None) -> None:
        if url is not None and (why := objection(url, plain=self._plain)):
            raise invalid("url", why)
        if secret is not None and (why := unfit(secret)):
            raise invalid("secret", why)
        if root is not None:
            try:
                trust(root)
            except ValueError as error:
                raise invalid("root", str(error)) from None

    async def _row(self, session: AsyncSession, name: str, *, lock: bool = True) -> WebhookRow:
        row = await table.get(session, name, lock=lock)
        if row is None:
            raise missing("webhook", name, [row.name for row in await table.load(session)])
        return row

    def _revise(self, row: WebhookRow) -> None:
        row.revision += 1
        row.begin_anew()
