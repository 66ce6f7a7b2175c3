"""The policy's drift in the summary of a replica that does not look for it."""

import pytest

from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.policies import ONE


async def drift(controller: Controller) -> dict[str, int] | None:
    found: dict[str, int] | None = (await controller.get("/summary"))["drift"]
    return found


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_the_others_show_the_leaders_drift(start: Start, route_server: FakeRouteServer) -> None:
    async with start(route_server, replica="a") as leader, start(route_server, replica="b") as other:
        assert leader.region.replication.leadership.leading and not other.region.replication.leadership.leading
        for number in (1, 2):
            await leader.cloudlet(f"c{number}", number)
        yaml = {"content-type": "application/yaml"}
        applied = await leader.http.post("/api/v1/policy/apply?filename=p.yaml", content=ONE, headers=yaml)
        assert applied.status_code == 200
        await leader.delete("/vcps/blue/members/c2-lan")

        async def agree() -> bool:
            shown = await drift(other)
            return shown is not None and shown == await drift(leader) and shown["steps"] > 0

        await eventually(agree)
