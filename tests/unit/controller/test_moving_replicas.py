"""Moves with agents that are connected to another replica than the leader."""

import asyncio

import pytest

from lab.patience import eventually
from tests.unit.controller.conftest import Start
from tests.unit.controller.fake_agent import FakeAgent
from tests.unit.controller.fake_mover import Condition, Mover, running, settled
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.moving_town import VM, Town, runs
from tests.unit.controller.test_leases import mac


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_orders_reach_agents_wherever_they_are(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server, replica="a") as leader, start(route_server, replica="b") as other:
        assert leader.region.replication.leadership.leading and not other.region.replication.leadership.leading
        there: Condition = {}
        movers = {}
        for number, name in enumerate(("c1", "c2"), 1):
            credential = await leader.cloudlet(name, number)
            await eventually(lambda name=name: name in other.region.intent.cloudlets)  # type: ignore[misc]
            agent = FakeAgent(other.http, credential)
            await other.follow(agent)
            movers[name] = Mover(name, agent, there)
        await leader.post("/vcps", {"name": "blue"})
        for name in movers:
            await leader.post("/vcps/blue/members", {"endpoint": f"{name}-lan"})
        await leader.post("/devices", {"name": "m1", "mac": mac(1)})
        await leader.post("/vms", VM)
        vm = await leader.get("/vms/v1")
        await movers["c1"].agent.lease(endpoint="c1-lan", mac=vm["macs"][0], client_id=vm["client_id"])
        tasks = [asyncio.create_task(mover.run()) for mover in movers.values()]
        try:
            await leader.post("/vms/v1/start", status=200)
            await settled(lambda: runs(leader))
            town = Town(leader, movers, there)
            move = await town.over(await town.start())
            assert (move["state"], move["reason"]) == ("done", "")
            assert running(there, "v1") == ["c2"]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
