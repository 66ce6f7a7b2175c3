"""Events reach a receiver over HTTPS: all, in order; whatever the receiver, the controller or a leader does."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from starlette.responses import RedirectResponse, Response, StreamingResponse

from controller.core.clock import now
from controller.core.unavailable import Unavailable
from controller.db import events
from controller.db import webhooks as table
from controller.runtime.maintenance import prune
from controller.webhooks import post, sender
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.webhook_receiver import Receiver, receiving, taken
from tests.unit.controller.webhook_region import SECRET, add, reached, state, state_is, tell
from tests.unit.controller.webhook_region import controller as controller
from tests.unit.controller.webhook_region import hasty as hasty
from tests.unit.controller.webhook_region import options as options
from tests.unit.controller.webhook_region import receiver as receiver


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
