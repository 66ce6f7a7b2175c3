"""Evacuations: all VMs of a cloudlet move away."""

import pytest

from controller.db import host_loads
from controller.wire.host_loads import HostLoad
from tests.unit.controller.conftest import Controller
from tests.unit.controller.fake_mover import running, settled
from tests.unit.controller.moving_town import is_at, town
from tests.unit.controller.neighbour_reports import measured, told

pytestmark = pytest.mark.slow


async def test_evacuation(controller: Controller) -> None:
    async with town(controller) as town_:
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert (answer["moves"], answer["stranded"]) == ([], ["v1"])  # no neighbour is measured
        for number, (name, median) in enumerate((("c2", 10.0), ("c3", 500.0)), 1):
            await told(town_.movers["c1"].agent, "c1", measured(number, name, median), run=f"r{number}")
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert [move["endpoint"] for move in answer["moves"]] == ["c2-lan"] and answer["stranded"] == []
        again = await controller.post("/cloudlets/c1/evacuation")
        assert again["moves"] == [] and again["moving"] in (["v1"], [])
        move = await town_.over(answer["moves"][0]["name"])
        assert (move["state"], move["asked_by"]) == ("done", "evacuation")
        assert running(town_.there, "v1") == ["c2"]


async def test_a_cloudlet_that_drains_is_evacuated_before(controller: Controller) -> None:
    """A cloudlet with running VMs refuses to drain; a forced evacuation names the obstacle for each VM."""
    async with town(controller) as town_:
        drain, first = "/cloudlets/c1/drain", "v1 is running at c1-lan, and cannot leave once c1 drains: evacuate c1"
        await controller.refused(409, drain, None, None, first)
        await controller.refused(409, f"{drain}?dry_run=true", None, None, first)
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert answer["why"] == {"v1": "c1 has no possible neighbour with a LAN"}
        await told(town_.movers["c1"].agent, "c1", measured(1, "c2"))
        await controller.post(drain, status=200, force="true")
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert (answer["moves"], answer["stranded"], list(answer["why"])) == ([], ["v1"], ["v1"])
        assert answer["why"]["v1"].startswith("c1-lan is in no pool, because c1 is draining: approve c1, ")
        move = await town_.over(await town_.start())
        assert (move["state"], move["reason"]) == ("undone", f"connect failed: {answer['why']['v1']}")
        await controller.post("/cloudlets/c1/approve", status=200)
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert (len(answer["moves"]), answer["why"]) == (1, {})
        await town_.over(answer["moves"][0]["name"])
        await settled(lambda: is_at(controller, "c2-lan"))
        await controller.post(drain, status=200)


async def test_nobody_leaves_to_a_host_without_memory(controller: Controller) -> None:
    async with town(controller) as town_:
        await told(town_.movers["c1"].agent, "c1", measured(1, "c2"))
        async with controller.region.database.write() as session:
            await host_loads.tell(session, "c2", HostLoad(processors=4, busy=0.0, memory_free=1 << 20))
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert answer["moves"] == []
        assert answer["why"] == {"v1": "c2 has 1.0 MiB of memory free, and v1 needs 256.0 MiB"}


async def test_who_cannot_leave_is_told_why(controller: Controller) -> None:
    async with town(controller, pool=()) as town_:
        await told(town_.movers["c1"].agent, "c1", measured(1, "c2"))
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert answer["why"] == {"v1": "c1-lan is in no pool, and a VM moves within a pool"}
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        await controller.post("/cloudlets/c2/drain", status=200)
        answer = await controller.post("/cloudlets/c1/evacuation")
        assert answer["why"] == {"v1": "c2-lan is not active: its cloudlet c2 is draining"}
