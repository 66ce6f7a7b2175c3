"""A receiver's record: its filters, changes, replay, tests and removal."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from controller.core.clock import now
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.webhook_receiver import Receiver, receiving
from tests.unit.controller.webhook_region import SECRET, add, reached, tell
from tests.unit.controller.webhook_region import controller as controller
from tests.unit.controller.webhook_region import hasty as hasty
from tests.unit.controller.webhook_region import options as options
from tests.unit.controller.webhook_region import receiver as receiver


async def test_filters_are_those_of_the_event_list(controller: Controller, receiver: Receiver) -> None:
    await add(controller, receiver, type="move-*", about="web")
    await tell(controller, "another type", vm="web")
    await tell(controller, "about another", type="move-done", vm="db")
    numbers = await tell(controller, "this one", type="move-done", vm="web")
    listed = await controller.get("/events", type="move-*", about="web")
    assert [item["id"] for item in listed["items"]] == numbers
    await reached(receiver, numbers)


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
