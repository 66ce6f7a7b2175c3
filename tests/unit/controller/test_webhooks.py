"""Events reach a receiver over HTTPS: all, in order, signed; whatever the receiver, the controller or a leader does."""

import asyncio
import base64
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from standardwebhooks import WebhookVerificationError
from starlette.responses import RedirectResponse, Response, StreamingResponse

from controller.core import webhooks as decisions
from controller.core.clock import now
from controller.core.unavailable import Unavailable
from controller.db import events
from controller.db import webhooks as table
from controller.db.audit import AuditRow
from controller.runtime.maintenance import prune
from controller.webhooks import dispatcher, post, sender
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.webhook_receiver import Message, Receiver, receiving, taken

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode()
OTHER = "whsec_" + base64.b64encode(b"another secret of these bytes...").decode()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "PAUSE", 0.005)
    monkeypatch.setattr(decisions, "FIRST", 0.002)
    monkeypatch.setattr(decisions, "LONGEST", 0.01)


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    """The controller's settings for webhooks."""
    (tmp_path / "key").write_text("a-secret-of-at-least-32-bytes-of-text")
    (tmp_path / "key").chmod(0o600)
    return {"webhook_key_file": tmp_path / "key"}


@pytest.fixture
async def receiver(tmp_path: Path) -> AsyncIterator[Receiver]:
    async with receiving(tmp_path) as found:
        yield found


@pytest.fixture
async def controller(start: Start, options: dict[str, Any]) -> AsyncIterator[Controller]:
    async with start(**options) as running:
        yield running


async def add(controller: Controller, receiver: Receiver, name: str = "r", **more: Any) -> Any:
    body = {"name": name, "url": f"{receiver.url}/in", "root": receiver.root, "secret": SECRET, "type": "told"}
    return await controller.post("/webhooks", body | more)


async def tell(controller: Controller, *words: str, type: str = "told", **more: Any) -> list[int]:
    """Record events, and return their ids."""
    async with controller.region.database.write() as session:
        before = await events.latest(session)
        for word in words:
            await events.add(session, type, "c1", word, **more)
    controller.region.runtime.wakeup.ring()
    async with controller.region.database.read() as session:
        return [row.id for row in await events.after(session, before, 1000)]


async def state(controller: Controller, name: str = "r") -> Any:
    return await controller.get(f"/webhooks/{name}")


async def reached(receiver: Receiver, numbers: list[int]) -> None:
    await eventually(lambda: receiver.numbers == numbers, lambda: f"{receiver.numbers}, not {numbers}")


async def test_events_come_in_order_and_signed(controller: Controller, receiver: Receiver) -> None:
    await tell(controller, "before it was registered")
    assert "secret" in await add(controller, receiver)
    numbers = await tell(controller, *map(str, range(120)), number=7)
    await reached(receiver, numbers)
    for message, number in zip(receiver.heard, numbers, strict=True):
        assert message.check(SECRET)["data"]["id"] == number
    event = receiver.heard[0].event
    assert event["specversion"] == "1.0" and event["type"] == "weft.told" and event["source"] == "/weft/as65000"
    assert event["subject"] == "c1" and event["data"]["data"] == {"number": 7} and event["data"]["text"] == "0"
    assert receiver.heard[0].headers["webhook-id"] == event["id"]
    assert len({message.headers["webhook-id"] for message in receiver.heard}) == 120
    assert sorted(receiver.heard, key=lambda one: one.event["sequence"]) == receiver.heard
    await eventually(lambda: state_is(controller, position=numbers[-1], backlog=0, state="active"))


async def state_is(controller: Controller, **wanted: Any) -> bool:
    found = await state(controller)
    return {key: found[key] for key in wanted} == wanted


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


async def test_filters_are_those_of_the_event_list(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver, type="move-*", about="web")
    await tell(controller, "another type", vm="web")
    await tell(controller, "about another", type="move-done", vm="db")
    numbers = await tell(controller, "this one", type="move-done", vm="web")
    listed = await controller.get("/events", type="move-*", about="web")
    assert [item["id"] for item in listed["items"]] == numbers
    await reached(receiver, numbers)


async def test_a_failure_is_tried_again_and_holds_the_order(controller: Controller, receiver: Receiver) -> None:
    answers = iter([500, 301, 404, 429, 200, 503, 204])
    receiver.answer = lambda _: Response(status_code=next(answers), headers={"Location": "https://127.0.0.1:1/"})
    await add(controller, receiver)
    one, two = await tell(controller, "a", "b")
    await reached(receiver, [one] * 5 + [two] * 2)
    assert len({message.headers["webhook-id"] for message in receiver.heard}) == 2
    await eventually(lambda: state_is(controller, state="active", attempts=0, error="", failing_since=None))
    found = (await controller.get("/webhooks/r/deliveries"))["items"]
    assert [(one["attempt"], one["status"]) for one in found][::-1] == [
        (1, 500), (2, 301), (3, 404), (4, 429), (5, 200), (1, 503), (2, 204),
    ]  # fmt: skip
    assert found[0]["reason"] == "" and "redirects are not followed" in found[5]["reason"]
    page = await controller.get("/webhooks/r/deliveries", limit=3)
    rest = await controller.get("/webhooks/r/deliveries", limit=3, cursor=page["next"])
    assert page["items"] + rest["items"] == found[:6]
    metrics = controller.region.runtime.metrics.text().decode()
    assert 'weft_webhooks_sent_total{webhook="r"} 2.0' in metrics
    assert 'weft_webhooks_failed_total{webhook="r"} 5.0' in metrics


async def test_the_receiver_says_when_to_try_again(controller: Controller, receiver: Receiver) -> None:
    receiver.answer = lambda _: Response(status_code=503, headers={"Retry-After": "7200"})
    await add(controller, receiver)
    await tell(controller, "a")
    await eventually(lambda: state_is(controller, state="failing", attempts=1, backlog=1))
    found = await state(controller)
    assert found["retry_at"] > (now() + timedelta(seconds=7000)).isoformat()
    receiver.answer = taken
    await controller.http.patch("/api/v1/webhooks/r", json={"paused": False})
    await eventually(lambda: state_is(controller, state="active", backlog=0))


async def test_a_redirect_leads_nowhere(controller: Controller, receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with receiving(tmp_path / "other") as other:
        receiver.answer = lambda _: RedirectResponse(f"{other.url}/in", 307)
        await add(controller, receiver)
        await tell(controller, "a")
        await eventually(lambda: len(receiver.heard) > 2)
        assert not other.heard


async def test_nothing_is_lost_or_skipped_when_the_controller_restarts(
    start: Start, options: dict[str, Any], receiver: Receiver
) -> None:
    async with start(**options) as controller:
        await add(controller, receiver)
        first = await tell(controller, "a", "b")
        await reached(receiver, first)
        receiver.answer = lambda _: Response(status_code=500)
        second = await tell(controller, "c", "d")
        await eventually(lambda: state_is(controller, state="failing", backlog=2))
    receiver.answer = taken
    receiver.heard.clear()
    async with start(**options) as controller:
        third = await tell(controller, "e")
        await reached(receiver, second + third)


async def test_a_crash_repeats_what_was_not_written_down(
    start: Start, options: dict[str, Any], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(**options) as controller:
        await add(controller, receiver)
        monkeypatch.setattr(sender.Sender, "_save", lambda self: asyncio.sleep(0))
        numbers = await tell(controller, "a", "b")
        await reached(receiver, numbers)
        monkeypatch.setattr(sender.Sender, "_save", None)  # nothing is written at the end either
    monkeypatch.undo()
    async with start(**options):
        await reached(receiver, numbers * 2)
    assert len({message.headers["webhook-id"] for message in receiver.heard}) == 2


async def test_only_the_leader_sends(start: Start, options: dict[str, Any], receiver: Receiver) -> None:
    async with start(**options) as controller:
        leadership = controller.region.replication.leadership
        leadership.resign()
        await add(controller, receiver)
        (number,) = await tell(controller, "a")
        await controller.post("/webhooks/r/test", status=200)
        assert [message.event["type"] for message in receiver.heard] == ["weft.webhook-test"]
        receiver.heard.clear()
        leadership.promise(float("inf"))
        await reached(receiver, [number])


async def test_a_slow_receiver_holds_up_no_other(controller: Controller, receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    async with receiving(tmp_path / "slow") as slow:
        slow.holds.clear()
        await add(controller, slow, "slow")
        await add(controller, receiver)
        numbers = await tell(controller, "a", "b", "c")
        await reached(receiver, numbers)
        assert len(slow.heard) == 1
        slow.holds.set()
        await reached(slow, numbers)


async def test_a_receiver_without_an_answer_is_given_up(
    controller: Controller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post, "PATIENCE", 0.1)
    receiver.holds.clear()
    await add(controller, receiver)
    await tell(controller, "a")
    await eventually(lambda: state_is(controller, state="failing"))
    assert "no answer within" in (await state(controller))["error"]


async def test_a_huge_answer_is_not_read(controller: Controller, receiver: Receiver) -> None:
    ended = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * 65_536
        await ended.wait()

    receiver.answer = lambda _: StreamingResponse(endless())
    await add(controller, receiver)
    numbers = await tell(controller, "a", "b")
    await eventually(lambda: state_is(controller, position=numbers[-1]), seconds=post.PATIENCE / 2)
    ended.set()
    assert receiver.numbers == numbers


async def test_a_certificate_of_another_authority_is_refused(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver, root=None)
    await tell(controller, "a")
    await eventually(lambda: state_is(controller, state="failing"))
    assert "certificate" in (await state(controller))["error"].lower() and not receiver.heard


async def test_a_receiver_that_fails_for_long_is_paused_and_says_so_once(
    controller: Controller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "ENDURED", timedelta(0))
    receiver.answer = lambda _: Response(status_code=500)
    await add(controller, receiver, type=None)  # it would get the event about its own pause, too
    await eventually(lambda: state_is(controller, state="paused"))
    heard = len(receiver.heard)
    (said,) = (await controller.get("/events", type="webhook-*", about="r", limit=9))["items"][1:]
    assert said["type"] == "webhook-paused" and "--resume" in said["text"]
    differences = (await controller.get("/doctor"))["differences"]
    assert [one["kind"] for one in differences if one["where"] == "webhooks"] == ["webhook-paused"]
    await tell(controller, "while it is paused")
    assert len(receiver.heard) == heard
    receiver.answer = taken
    receiver.heard.clear()
    await controller.http.patch("/api/v1/webhooks/r", json={"paused": False})
    await eventually(lambda: state_is(controller, state="active", backlog=0))
    assert [message.event["type"] for message in receiver.heard] == [
        "weft.webhook-added", "weft.webhook-paused", "weft.told", "weft.webhook-resumed",
    ]  # fmt: skip


async def test_a_receiver_that_is_gone_is_paused_at_once(controller: Controller, receiver: Receiver) -> None:
    receiver.answer = lambda _: Response(status_code=410)
    await add(controller, receiver)
    await tell(controller, "a")
    await eventually(lambda: state_is(controller, state="paused"))
    assert "wants no more events" in (await state(controller))["paused_because"] and len(receiver.heard) == 1


async def test_failures_cause_no_events(controller: Controller, receiver: Receiver) -> None:
    receiver.answer = lambda _: Response(status_code=500)
    await add(controller, receiver, type=None)
    await eventually(lambda: len(receiver.heard) > 30)
    kept = (await controller.get("/events"))["items"]
    assert [one["type"] for one in kept].count("webhook-added") == 1
    assert not [one for one in kept if one["type"].startswith("webhook-") and one["type"] != "webhook-added"]


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


async def test_replay_sends_again_and_leaves_out(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver)
    numbers = await tell(controller, "a", "b", "c")
    await reached(receiver, numbers)
    await controller.post("/webhooks/r/replay", {"after": numbers[0]}, 200)
    await reached(receiver, numbers + numbers[1:])
    receiver.heard.clear()
    await controller.post("/webhooks/r/replay", {"since": (now() - timedelta(hours=1)).isoformat()}, 200)
    await reached(receiver, numbers)
    receiver.heard.clear()
    receiver.answer = lambda message: Response(status_code=400 if message.event["data"]["text"] == "d" else 200)
    poison, next_ = await tell(controller, "d", "e")
    await eventually(lambda: receiver.numbers[:2] == [poison] * 2)
    await controller.post("/webhooks/r/replay", {"after": poison}, 200)
    await eventually(lambda: receiver.numbers[-1] == next_)
    too_late = {"after": next_ + 1000}
    await controller.refused(422, "/webhooks/r/replay", too_late, "after", "the latest event has the id")
    for body in ({}, {"after": 1, "since": now().isoformat()}):
        await controller.refused(422, "/webhooks/r/replay", body, None, "one of after and since")


async def test_a_removed_receiver_hears_nothing(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver)
    await reached(receiver, await tell(controller, "a"))
    await controller.delete("/webhooks/r", 204)
    receiver.heard.clear()
    await add(controller, receiver, "other")
    await reached(receiver, await tell(controller, "b"))
    problem(await controller.http.get("/api/v1/webhooks/r"), 404, reason="there is no webhook 'r'")
    assert (await controller.get("/webhooks/other/deliveries"))["items"]


async def test_deleted_events_are_counted(
    controller: Controller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(controller, receiver)
    await controller.http.patch("/api/v1/webhooks/r", json={"paused": True})
    await tell(controller, "a", "b", "c")
    await tell(controller, "not for it", type="other")
    monkeypatch.setattr(events, "KEPT", 2)
    for _ in range(2):
        await prune(controller.region.database)
        await tell(controller, "d")
    assert (await state(controller))["missed"] >= 3
    said = [one for one in (await controller.get("/events", limit=1000))["items"] if one["type"] == "webhook-missed"]
    assert len(said) <= 1


async def test_a_failure_is_over_when_its_event_is_deleted(
    start: Start, options: dict[str, Any], receiver: Receiver
) -> None:
    receiver.answer = lambda _: Response(status_code=500)
    async with start(**options) as controller:
        await add(controller, receiver)
        await tell(controller, "a")
        await eventually(lambda: state_is(controller, state="failing"))
        async with controller.region.database.write() as session:
            await session.execute(text("DELETE FROM events WHERE type = 'told'"))
    async with start(**options) as controller:
        await eventually(lambda: state_is(controller, state="active", attempts=0, error="", failing_since=None))


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


async def test_a_test_says_what_the_receiver_answers(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver)
    found = await controller.post("/webhooks/r/test", status=200)
    assert found["delivered"] and found["status"] == 204 and found["reason"] == ""
    assert receiver.heard[0].check(SECRET)["type"] == "weft.webhook-test"
    receiver.answer = lambda _: Response(status_code=401)
    found = await controller.post("/webhooks/r/test", status=200)
    assert not found["delivered"] and found["reason"] == "the receiver answered 401"


async def test_a_change_is_in_force_at_once(controller: Controller, receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with receiving(tmp_path / "other") as other:
        await add(controller, receiver)
        body = {"url": f"{other.url}/in", "root": other.root, "type": None}
        changed = await controller.http.patch("/api/v1/webhooks/r", json=body)
        assert changed.json()["type"] is None and changed.json()["url"] == body["url"]
        (number,) = await tell(controller, "a", type="anything")
        await eventually(lambda: number in other.numbers)
        assert not receiver.heard


@pytest.mark.parametrize(
    ("values", "field", "reason"),
    [
        ({"url": "http://hooks.example.net/in"}, "url", "WEFT_WEBHOOK_HTTP=true"),
        ({"url": "https://user:word@hooks.example.net/"}, "url", "no credentials"),
        ({"url": "https://169.254.169.254/latest"}, "url", "link-local"),
        ({"url": "ftp://hooks.example.net/"}, "url", "https://"),
        ({"secret": "abc"}, "secret", "begins with whsec_"),
        ({"secret": "whsec_YWJj"}, "secret", "24 to 64 bytes"),
        ({"root": "not PEM"}, "root", "not a certificate"),
        ({"root": "-----BEGIN PRIVATE KEY-----"}, "root", "private key"),
        ({"name": "UPPER"}, "name", ""),
        ({"more": 1}, "more", ""),
    ],
)
async def test_what_is_wrong_is_refused(
    controller: Controller, values: dict[str, Any], field: str, reason: str
) -> None:
    body = {"name": "r", "url": "https://hooks.example.net/in"} | values
    answer = await controller.refused(422, "/webhooks", body, field, reason)
    if "secret" in values:
        assert values["secret"] not in answer.text
    assert (await controller.get("/webhooks"))["items"] == []


async def test_names_are_unique_and_receivers_few(
    controller: Controller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(controller, receiver)
    body = {"name": "r", "url": receiver.url}
    await controller.refused(409, "/webhooks", body, "name", "there is a webhook r already")
    monkeypatch.setattr("controller.webhooks.webhooks.MOST", 1)
    await controller.refused(409, "/webhooks", body | {"name": "s"}, None, "there are 1 webhooks already")
    shown = await controller.get("/webhooks")
    assert [item["name"] for item in shown["items"]] == ["r"] and "secret" not in shown["items"][0]


async def test_the_audit_log_has_each_change(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver)
    await controller.http.patch("/api/v1/webhooks/r", json={"type": "move-*"})
    await controller.delete("/webhooks/r", 204)
    entries = (await controller.get("/audit"))["items"]
    found = [(one["method"], one["path"]) for one in entries if "webhooks" in one["path"]]
    assert sorted(found) == [
        ("DELETE", "/api/v1/webhooks/r"), ("PATCH", "/api/v1/webhooks/r"), ("POST", "/api/v1/webhooks"),
    ]  # fmt: skip


async def test_a_database_that_is_away_delays_and_loses_nothing(
    controller: Controller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "RETRY", 0.005)
    monkeypatch.setattr(sender, "SAVED", 0.0)
    save, failures = table.save, iter(range(3))

    async def fails(*words: Any, **more: Any) -> bool:
        if next(failures, None) is not None:
            raise Unavailable("it is away")
        return await save(*words, **more)

    monkeypatch.setattr(table, "save", fails)
    await add(controller, receiver)
    numbers = await tell(controller, "a", "b")
    await eventually(lambda: state_is(controller, position=numbers[-1]))
    assert next(failures, None) is None and receiver.numbers == numbers
    assert len((await controller.get("/webhooks/r/deliveries"))["items"]) == 2
