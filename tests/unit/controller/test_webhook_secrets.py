"""Only the controller speaks to a receiver, and only the receiver hears it: signatures, secrets, certificates."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from standardwebhooks import WebhookVerificationError

from controller.core.clock import now
from controller.db.audit import AuditRow
from controller.webhooks import sender
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.webhook_receiver import Message, Receiver
from tests.unit.controller.webhook_region import OTHER, SECRET, add, state, state_is, tell
from tests.unit.controller.webhook_region import controller as controller
from tests.unit.controller.webhook_region import hasty as hasty
from tests.unit.controller.webhook_region import options as options
from tests.unit.controller.webhook_region import receiver as receiver


async def test_tampering_and_old_messages_are_refused(
    controller: Controller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(controller, receiver)
    await tell(controller, "a")
    await eventually(lambda: receiver.heard)
    (message,) = receiver.heard
    message.check(SECRET)
    changed = Message(message.body.replace(b'"a"', b'"b"'), message.headers)
    moved = Message(message.body, message.headers | {"webhook-id": "1-2"})
    later = str(int(message.headers["webhook-timestamp"]) + 60)
    for forged in (changed, moved, Message(message.body, message.headers | {"webhook-timestamp": later})):
        with pytest.raises(WebhookVerificationError):
            forged.check(SECRET)
    with pytest.raises(WebhookVerificationError):
        message.check(OTHER)
    monkeypatch.setattr(sender, "now", lambda: now() - timedelta(minutes=6))
    await tell(controller, "an old one")
    await eventually(lambda: len(receiver.heard) == 2)
    with pytest.raises(WebhookVerificationError, match="too old"):
        receiver.heard[1].check(SECRET)


async def test_while_a_secret_is_replaced_both_sign(
    controller: Controller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await add(controller, receiver, secret=None)
    first = made["secret"]
    replaced = await controller.post("/webhooks/r/secret", {"overlap": 3600}, 200)
    second = replaced["secret"]
    assert first != second and "secret" not in await state(controller)
    await tell(controller, "a")
    await eventually(lambda: receiver.heard)
    receiver.heard[0].check(first)
    receiver.heard[0].check(second)
    monkeypatch.setattr(sender, "now", lambda: now() + timedelta(seconds=3601))
    await tell(controller, "b")
    await eventually(lambda: len(receiver.heard) == 2)
    assert len(receiver.heard[1].headers["webhook-signature"].split()) == 1
    given = await controller.post("/webhooks/r/secret", {"secret": OTHER, "overlap": 0}, 200)
    assert given["secret"] is None
    await tell(controller, "c")
    await eventually(lambda: len(receiver.heard) == 3)
    assert len(receiver.heard[2].headers["webhook-signature"].split()) == 1


async def test_a_secret_is_shown_once_and_kept_in_no_readable_form(controller: Controller, receiver: Receiver) -> None:
    body = {"name": "r", "url": receiver.url, "root": receiver.root}
    key = {"Idempotency-Key": "once"}
    first = await controller.http.post("/api/v1/webhooks", json=body, headers=key)
    again = await controller.http.post("/api/v1/webhooks", json=body, headers=key)
    made = first.json()["secret"]
    assert made.startswith("whsec_") and again.json() == first.json() | {"secret": None}
    await add(controller, receiver, "given")
    secrets = (made, SECRET, OTHER)
    await controller.post("/webhooks/given/secret", {"secret": OTHER}, 200)
    for path in ("/webhooks", "/webhooks/r", "/webhooks/given", "/events", "/audit", "/doctor"):
        answer = (await controller.http.get(f"/api/v1{path}")).text
        assert not [secret for secret in secrets if secret in answer or secret[6:] in answer], path
    async with controller.region.database.read() as session:
        for table in ("webhooks", "webhook_deliveries", "events", "idempotency"):
            rows = repr([tuple(row) for row in await session.execute(text(f"SELECT * FROM {table}"))])
            assert not [secret for secret in secrets if secret[6:] in rows], table
        told = "".join(row.details for row in await session.scalars(select(AuditRow)))
        assert not [secret for secret in secrets if secret[6:] in told] and "sealed" not in told


async def test_without_a_key_there_are_no_webhooks(start: Start, receiver: Receiver, options: dict[str, Any]) -> None:
    async with start(**options) as controller:
        await add(controller, receiver)
    async with start() as controller:
        body = {"name": "other", "url": receiver.url}
        await controller.refused(409, "/webhooks", body, None, "WEFT_WEBHOOK_KEY_FILE is not set")
        await eventually(lambda: state_is(controller, state="failing"))
        assert "WEFT_WEBHOOK_KEY_FILE is not set" in (await state(controller))["error"]
    options["webhook_key_file"].write_text("another-secret-of-at-least-32-bytes-too")
    async with start(**options) as controller:
        await tell(controller, "a")
        await eventually(lambda: state_is(controller, state="failing"))
        await controller.refused(409, "/webhooks/r/test", None, None, "has another content than before")
        await controller.post("/webhooks/r/secret", {"secret": OTHER}, 200)
        await eventually(lambda: receiver.heard)
        receiver.heard[0].check(OTHER)


async def test_a_certificate_of_another_authority_is_refused(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver, root=None)
    await tell(controller, "a")
    await eventually(lambda: state_is(controller, state="failing"))
    assert "certificate" in (await state(controller))["error"].lower() and not receiver.heard
