"""Agents learn which images belong to them and where to fetch them, and report what they have."""

from typing import Any

import pytest

from controller.db import stored_images
from controller.wire.images import ImageReport, ImageState
from lab.patience import eventually
from tests.unit.controller.conftest import Controller
from tests.unit.controller.policies import HEAD, done, pool
from tests.unit.controller.test_follow_device import add, neighbour

DIGEST, OTHER = "a" * 64, "b" * 64
IMAGES = f"images:\n  camera: {{digest: 'sha256:{DIGEST}', registry: r.example/camera, vcps: [blue]}}\n"
POLICY = f"{HEAD}vcps:\n{pool('blue', 1, 2)}{IMAGES}"


def report(cloudlet: str, *states: ImageState, port: int | None = 7790) -> ImageReport:
    return ImageReport(cloudlet=cloudlet, images=list(states), port=port)


def camera(condition: Any = "there", digest: str = DIGEST, **more: Any) -> ImageState:
    return ImageState(name="camera", digest=digest, condition=condition, **more)


async def town(controller: Controller) -> dict[str, Any]:
    agents = {f"c{n}": await controller.agent(f"c{n}", n) for n in (1, 2, 3)}
    for agent in agents.values():
        await controller.follow(agent)
    return agents


async def texts(controller: Controller, kind: str) -> list[str]:
    """Wait for events of a kind, and return their texts."""
    found: list[str] = []

    async def there() -> bool:
        found[:] = [event["text"] for event in (await controller.get("/events", type=kind))["items"]]
        return bool(found)

    await eventually(there)
    return found


@pytest.mark.slow
async def test_agents_are_told_their_images_and_told_again_when_these_change(controller: Controller) -> None:
    agents = await town(controller)
    await agents["c1"].wants()
    await done(controller, "apply", POLICY)
    assert (await agents["c1"].wants("camera")).images[0].digest == DIGEST
    await agents["c2"].wants("camera")
    await agents["c3"].wants()
    await done(controller, "apply", POLICY.replace(", vcps: [blue]", ""))
    await agents["c3"].wants("camera")
    await done(controller, "apply", f"{HEAD}vcps:\n{pool('blue', 1, 2)}")
    await agents["c1"].wants()


@pytest.mark.slow
async def test_sources_are_cloudlets_that_have_the_image_and_then_the_registry(controller: Controller) -> None:
    agents = await town(controller)
    c1 = agents["c1"]
    path = "/api/v1/agent/images/camera/sources"
    assert (await c1.http.get(path, headers=c1.headers)).status_code == 404
    limit = "migration:\n  bandwidth: [{mbps: 8, from: c2, to: c1}, {mbps: 50}]\n"
    await done(controller, "apply", POLICY + limit)

    async def sources() -> list[dict[str, Any]]:
        answer = await c1.http.get(path, headers=c1.headers)
        assert answer.status_code == 200 and answer.json()["digest"] == DIGEST
        found: list[dict[str, Any]] = answer.json()["sources"]
        return found

    registry = {"cloudlet": None, "address": None, "registry": "r.example/camera", "bandwidth": 50_000_000}
    assert await sources() == [registry]
    for name, state in (("c1", camera()), ("c2", camera(total=9)), ("c3", camera(digest=OTHER))):
        assert (await agents[name].stores(report(name, state))).status_code == 204
    [first, last] = await sources()
    assert first == {"cloudlet": "c2", "address": "192.0.2.2:7790", "registry": None, "bandwidth": 8_000_000}
    assert last == registry
    await agents["c3"].stores(report("c3", camera()))
    await add(controller, neighbour(2.0, neighbour="c3"), neighbour(90.0))
    assert [one["cloudlet"] for one in await sources()] == ["c3", "c2", None]
    await agents["c3"].stores(report("c3", camera("coming")))
    await agents["c2"].stores(report("c2", camera(), port=None))
    assert await sources() == [registry]


@pytest.mark.slow
async def test_users_see_where_an_image_is_and_why_it_is_not(controller: Controller) -> None:
    agents = await town(controller)
    await done(controller, "apply", POLICY)
    assert (await controller.get("/images/camera/stores"))["items"] == []
    await agents["c1"].stores(report("c1", camera()))
    assert (await controller.get("/images/camera/places"))["items"] == [], "no driver has looked at it yet"
    await agents["c2"].stores(report("c2", camera("coming", done=5, total=10, detail="from c1")))
    found = (await controller.get("/images/camera/stores"))["items"]
    assert [(one["cloudlet"], one["condition"], one["done"], one["total"]) for one in found] == [
        ("c1", "there", 0, None),
        ("c2", "coming", 5, 10),
    ]
    [listed] = (await controller.get("/images"))["items"]
    assert (listed["name"], listed["cloudlets"], listed["missing"]) == ("camera", 1, 1)
    await agents["c2"].stores(report("c2", camera("failed", detail="no\x1bspace\u202e")))
    await agents["c2"].stores(report("c2", camera("failed", detail="still none")))
    assert await texts(controller, "image-failed") == ["c2: image camera has not come, and is tried again: nospace"]
    await agents["c2"].stores(report("c2", camera()))
    assert await texts(controller, "image-there") == ["c2: image camera has come"], "and c1's was there before"
    await agents["c2"].stores(report("c2"))
    assert [one["cloudlet"] for one in (await controller.get("/images/camera/stores"))["items"]] == ["c1"]


@pytest.mark.slow
async def test_an_agent_reports_its_own_images_alone(controller: Controller) -> None:
    agents = await town(controller)
    assert (await agents["c1"].stores(report("c2", camera()))).status_code == 403


@pytest.mark.slow
async def test_images_of_cloudlets_that_are_gone_go(controller: Controller) -> None:
    async with controller.region.database.write() as session:
        await stored_images.tell(session, report("gone", camera()))
        await stored_images.tell(session, report("c1", camera()))
    async with controller.region.database.write() as session:
        await stored_images.forget(session, ["gone"])
    assert [one["cloudlet"] for one in (await controller.get("/images/camera/stores"))["items"]] == ["c1"]
