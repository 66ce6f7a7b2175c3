"""Agents report each cloudlet's platform in advance, and the controller compares the platforms before it admits a
move."""

from typing import Any

from controller.db import stored_images
from controller.migration import machine_reports
from controller.wire.images import ImageReport, ImageState
from controller.wire.machines import Machine
from controller.wire.moves import MoveReport, Order, Orders, Target
from controller.wire.platforms import Platform
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.moving_town import town
from tests.unit.controller.test_follow_device import Starts, add, bandwidth, neighbour, ready

FILES = {"debian/kernel": "a" * 64, "debian/disk.qcow2": "b" * 64}
HERE = Platform(version="QEMU 10.0.2", board="pc-q35-10.0", accelerator="tcg", cpu="max,-la57", files=FILES)
OTHER = HERE.model_copy(update={"files": FILES | {"debian/kernel": "c" * 64}})


async def tell(controller: Controller, cloudlet: str, driver: str, platform: Platform | None) -> None:
    """Record a report on a driver as its agent sends it; without a platform the driver has none any more."""
    told = {driver: platform} if platform is not None else {}
    async with controller.region.database.write() as session:
        await machine_reports.heard(
            session, controller.region.intent, MoveReport(cloudlet=cloudlet, unlisted=[driver], platforms=told)
        )


async def test_a_prediction_says_what_would_be_refused(controller: Controller) -> None:
    deciding = await ready(controller, starts := Starts())
    await add(controller, neighbour(20.0), bandwidth(1000))
    driver = (await controller.get("/vms/web"))["driver"]
    asked = {"vm": "web", "endpoint": "c2-lan"}
    assert (await controller.get("/moves/prediction", **asked))["course"] == "move"
    await tell(controller, "c1", driver, HERE)
    assert (await controller.get("/moves/prediction", **asked))["course"] == "move"  # c2's platform is unknown
    await tell(controller, "c2", driver, OTHER)
    found = await controller.get("/moves/prediction", **asked)
    (reason,) = found["reasons"]
    assert found["course"] == "stay"
    assert "file debian/kernel: c1 sha256 aaaaaaaaaaaa, c2 sha256 cccccccccccc" in reason
    row = await deciding.seen("m1", "c2-lan")
    assert row is not None and row.course == "stay" and row.reasons == [reason] and starts.begun == []
    await tell(controller, "c2", driver, HERE)
    assert (await controller.get("/moves/prediction", **asked))["course"] == "move"


async def test_an_image_that_is_on_its_way_is_the_reason_until_it_is_there(controller: Controller) -> None:
    await ready(controller, Starts())
    await add(controller, neighbour(20.0), bandwidth(1000))
    driver = (await controller.get("/vms/web"))["driver"]
    await tell(controller, "c1", driver, HERE)
    await tell(controller, "c2", driver, HERE.model_copy(update={"files": {}}))

    async def reasons(condition: Any = None, course: str = "stay", **more: Any) -> list[str]:
        state = ImageState(name="debian", digest="d" * 64, condition=condition or "there", **more)
        async with controller.region.database.write() as session:
            await stored_images.tell(session, ImageReport(cloudlet="c2", images=[state] if condition else []))
        found = await controller.get("/moves/prediction", vm="web", endpoint="c2-lan")
        assert found["course"] == course
        return list(found["reasons"])

    assert "file debian/kernel" in (await reasons())[0]
    assert await reasons("waiting") == ["image debian is on its way to c2"]
    assert await reasons("coming", done=25 << 20, total=100 << 20) == [
        "image debian is on its way to c2, 25% of 100 MiB"
    ]
    for condition in ("failed", "refused"):
        assert await reasons(condition, detail="quota") == ["image debian cannot be fetched to c2: quota"]
    assert "file debian/kernel" in (await reasons("there"))[0], "another one than c1's"
    await tell(controller, "c2", driver, HERE)
    await reasons("refused", course="move", detail="an operator has put another one in place, which is c1's")


async def test_a_move_to_another_platform_is_refused_when_it_is_asked_for(controller: Controller) -> None:
    async with town(controller) as there:
        await tell(controller, "c1", "simulated", HERE)
        await tell(controller, "c2", "simulated", OTHER)
        asked = {"vm": "v1", "endpoint": "c2-lan"}
        answer = await controller.http.post("/api/v1/moves", json=asked)
        problem(answer, 409, "endpoint", "v1 would not be the same at c2: file debian/kernel")
        await tell(controller, "c2", "simulated", HERE)
        assert (await there.over(await there.start()))["state"] == "done"


async def test_an_older_agent_is_told_nothing_that_it_does_not_know(controller: Controller) -> None:
    """An older agent refuses unknown fields, even with the value null."""
    async with town(controller) as there:
        answered = dict[str, Any]()
        there.movers["c1"].deaf |= {"memory"}

        def waits(order: Order) -> dict[str, Any] | None:
            if order.act == "prepare":
                there.there["c2", "v1"] = "waiting"
                answered["target"] = {"memory": ["tcp:192.0.2.2:4444"], "platform": HERE.model_dump()}
            return answered if order.act == "prepare" else None

        there.movers["c2"].broken = waits
        await there.start()
        moves = controller.region.migration.moves

        async def target() -> Target:
            while not (orders := (await moves.orders("c1")).orders) or orders[0].act != "memory":
                pass
            assert orders[0].target is not None
            return orders[0].target

        assert (await target()).platform is None
        await tell(controller, "c1", "simulated", HERE)
        assert (await target()).platform == HERE


def test_what_has_no_value_is_left_out() -> None:
    machine = Machine(name="v", driver="d", image="i", memory=1 << 28, macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b"))
    order = Order(move="m", number=1, act="memory", machine=machine, endpoint="e", target=Target(memory=["x"]))
    said = Orders(cloudlet="c1", orders=[order])
    text = said.model_dump_json(exclude_none=True)
    assert "platform" not in text and Orders.model_validate_json(text) == said
