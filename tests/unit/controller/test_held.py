"""Routes that are held back from PEs: their display in the API, and their release."""

from tests.unit.controller.conftest import Start, problem
from tests.unit.controller.fake_routeserver import fake_route_server

ROUTE = {
    "peer": "c1",
    "family": "l2vpn-vpls",
    "nlri": "65000:2:2:1",
    "announcer": "c2",
    "endpoint": "c2-lan",
    "verdict": "poison",
    "why": "NOTIFICATION received: 3/10 UPDATE error",
    "until": "2026-01-01T01:00:00Z",
}


async def test_what_is_held_back_is_shown_and_released(start: Start) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two, start(one, two) as controller:
        await controller.cloudlet("c1", 1)
        one.held["routes"] = [ROUTE]
        found = await controller.get("/routes/held", peer="c1")
        assert [(s["route_server"], s["routes"]) for s in found["route_servers"]] == [("rs1", [ROUTE]), ("rs2", [])]
        asked = {"peer": "c1", "nlri": ROUTE["nlri"]}
        done = await controller.post("/routes/release", asked, status=200)
        assert [(s["route_server"], s["routes"]) for s in done["route_servers"]] == [("rs1", 1), ("rs2", 0)]
        assert one.log[-1] == 'release {"nlri": "65000:2:2:1"}'
        one.held["routes"] = []
        await controller.refused(404, "/routes/release", {"peer": "c1"}, None, "Nothing is held back from c1")
        await controller.refused(422, "/routes/release", {"peer": "nobody"}, "peer", "no cloudlet")


async def test_pages_go_from_route_server_to_route_server(start: Start) -> None:
    async with fake_route_server("rs1") as one, fake_route_server("rs2") as two, start(one, two) as controller:
        await controller.cloudlet("c1", 1)
        for server in (one, two):
            server.held["routes"] = [ROUTE | {"nlri": f"{server.name} {n}"} for n in range(3)]
            server.held["sources"] = [{"peer": "c1", "announcer": "c2", "until": None}]
        seen, sources, cursor = list[str](), list[int](), None
        while cursor or not seen:
            page = await controller.get("/routes/held", limit=2, **({"cursor": cursor} if cursor else {}))
            seen += [route["nlri"] for server in page["route_servers"] for route in server["routes"]]
            sources += [len(server["sources"]) for server in page["route_servers"]]
            assert all("next" not in server for server in page["route_servers"])
            cursor = page["next"]
        assert seen == [f"{server.name} {n}" for server in (one, two) for n in range(3)]
        assert sources == [1, 0, 1, 0]
        problem(await controller.http.get("/api/v1/routes/held?cursor=x"), 422, "cursor")
        one.down = two.down = True
        problem(await controller.http.get("/api/v1/routes/held"), 502)


async def test_the_doctor_names_what_is_held_back(start: Start) -> None:
    async with fake_route_server("rs1") as one, start(one) as controller:
        await controller.cloudlet("c1", 1)
        one.held["sources"] = [{"peer": "c1", "announcer": "c2", "until": "2026-01-01T01:00:00Z"}]
        found = {d["text"]: d["remedy"] for d in (await controller.get("/doctor"))["differences"]}
        [remedy] = [remedy for text, remedy in found.items() if "rs1 sends c1 no route of c2" in text]
        assert "weft route release" in remedy
