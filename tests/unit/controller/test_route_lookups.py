"""Searches in the route tables, and the numbers of routes: passed on from the route servers."""

from typing import Any

from tests.unit.controller.conftest import Start, problem
from tests.unit.controller.fake_routeserver import fake_route_server
from tests.unit.controller.test_tokens import holder

MATCH: dict[str, Any] = {"peer": "c1", "nlri": "x", "pools": ["blue"], "longest_in": ["blue"], "length": 32}


async def test_routes_to_an_address_and_the_lans_around_it(start: Start) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two, start(one, two) as controller:
        await controller.cloudlet("c1", 1)
        await controller.post("/vcps", {"name": "blue"})
        await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        one.answers["lookup"] = {"routes": [MATCH], "truncated": False, "vpls_routes": 7}
        lan = (await controller.get("/endpoints/c1-lan"))["prefix"]
        address = lan.rpartition(".")[0] + ".5"
        found = await controller.get("/routes/lookup", address=address)
        assert one.asked == {"address": address}
        assert [(s["route_server"], s["routes"]) for s in found["route_servers"]] == [("rs1", [MATCH]), ("rs2", [])]
        assert found["lans"] == [{"endpoint": "c1-lan", "cloudlet": "c1", "prefix": lan, "vcps": ["blue"]}]
        assert (await controller.get("/routes/lookup", prefix=lan))["lans"] == found["lans"]
        wider = await controller.get("/routes/lookup", prefix="10.0.0.0/8", route_server="rs1")
        assert wider["lans"] == [] and [s["route_server"] for s in wider["route_servers"]] == ["rs1"]
        assert (await controller.get("/routes/lookup", mac="02:00:00:00:00:01"))["lans"] == []
        assert (await controller.get("/routes/lookup", address="2001:db8::1"))["lans"] == []
        two.down = True
        assert (await controller.get("/routes/lookup", address=address))["unreachable"] == ["rs2"]
        for query in ("", "address=x", "prefix=10.0.0.1/8", "mac=x", "address=10.0.0.1&mac=02:00:00:00:00:01"):
            problem(await controller.http.get(f"/api/v1/routes/lookup?{query}"), 422)
        problem(await controller.http.get("/api/v1/routes/lookup?address=fe80::1%25eth0"), 422, "address")


async def test_a_lan_has_ipv6_too(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        await controller.cloudlet("c1", 1)
        body = {"name": "six", "cloudlet": "c1", "prefix": "10.77.0.0/24", "prefix6": "2001:db8:77::/64"}
        await controller.post("/endpoints", body)
        (found,) = (await controller.get("/routes/lookup", address="2001:db8:77::5"))["lans"]
        assert (found["endpoint"], found["prefix"]) == ("six", "2001:db8:77::/64")


async def test_all_paths_of_a_route(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        one.answers["paths"] = {"paths": [MATCH], "withdrawn": [], "truncated": False}
        (found,) = (await controller.get("/routes/paths", nlri="65000:1:1:1"))["route_servers"]
        assert found["paths"] == [MATCH] and one.asked == {"nlri": "65000:1:1:1"}
        problem(await controller.http.get("/api/v1/routes/paths"), 422, "nlri")


async def test_counts_are_given_in_pages(start: Start) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two, start(one, two) as controller:
        await controller.cloudlet("c1", 1)
        for server in (one, two):
            server.counts = [{"peer": f"c{n}", "routes": {"in": {"l2vpn-vpls": n}}} for n in range(3)]
        page = await controller.get("/routes/counts", limit=4)
        seen = page["items"]
        page = await controller.get("/routes/counts", limit=4, cursor=page["next"])
        assert page["next"] is None
        assert [(i["route_server"], i["peer"]) for i in seen + page["items"]] == [
            (server, f"c{n}") for server in ("rs1", "rs2") for n in range(3)
        ]
        await controller.get("/routes/counts", peer="c1")
        assert two.asked == {"peer": "c1", "limit": "997"}
        problem(await controller.http.get("/api/v1/routes/counts?peer=nobody"), 422, "peer")


async def test_tenants_see_none_of_it(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        tenant = await holder(controller, "acme", "tenant", tenant="acme")
        for query in ("lookup?address=10.0.0.1", "paths?nlri=x", "counts", "held"):
            problem(await tenant.get(f"/api/v1/routes/{query}"), 403)
